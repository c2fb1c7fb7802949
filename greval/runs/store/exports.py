"""Export of results as CSV and Parquet tables, written in batches of some thousand rows."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from pydantic_core import from_json

from greval.errors import MissingExtraError
from greval.runs.store.flat import TableLayout

BATCH_ROWS = 8192
CARRIAGE_RETURN = "\\r"
"""A carriage return as JSON escapes it."""


def write_csv(lines: Iterable[str], file: TextIO, layout: TableLayout | None = None) -> None:
    """Write results, given as JSON lines, as CSV with a header, in the columns of a run.

    Example:
        >>> import io
        >>> file = io.StringIO()
        >>> write_csv([], file)
        >>> file.getvalue()[:16]
        'sample_id,method'
    """
    plain = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    layout = layout or TableLayout()
    plain.writerow(layout.columns)
    for line in lines:
        writer = quoted if CARRIAGE_RETURN in line else plain  # an unquoted carriage return in a cell would end the row
        writer.writerows(_iterate_rows([line], layout))


def write_parquet(lines: Iterable[str], path: Path, layout: TableLayout | None = None) -> None:
    """Write results, given as JSON lines, as a Parquet file, in the columns of a run.

    Raises:
        MissingExtraError: If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    layout = layout or TableLayout()
    types = {**dict.fromkeys(layout.counts, pa.int64()), **dict.fromkeys(layout.numbers, pa.float64())}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in layout.columns])
    rows = _iterate_rows(lines, layout)
    with parquet.ParquetWriter(path, schema) as writer:
        while batch := [*islice(rows, BATCH_ROWS)]:
            columns = zip(*batch, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _iterate_rows(lines: Iterable[str], layout: TableLayout) -> Iterator[list[object]]:
    for line in lines:
        for row in layout.flatten(from_json(line)):
            yield [row.get(name) for name in layout.columns]
