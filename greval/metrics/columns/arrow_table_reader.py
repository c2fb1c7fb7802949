"""Reads rankings and judgements from Parquet, CSV and JSON lines by Arrow, without a Python object for each cell.

Only regular files are read: no value is missing, ids are texts or whole numbers, and each number is one. Any other file
has to be read row by row, which also finds the row that is at fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from greval.errors import DataError
from greval.metrics.columns.chunked_array import Ints, NumberColumn
from greval.metrics.columns.column_readers import ColumnNames, read_texts
from greval.metrics.columns.grouping import GroupedDocuments, QuestionRuns
from greval.metrics.columns.json_line_template import QUOTE, parse_template
from greval.metrics.columns.text_column import TextChunk, TextColumn, compact_chunk

BLOCK_BYTES = 1 << 18
"""The bytes that are read at once. Arrow reads some blocks ahead, so that larger ones take more memory."""
LINE_BLOCK_BYTES = 1 << 19
"""The same for JSON lines, of whose many cells only some are read."""
BATCH_ROWS = 1 << 16


class RankedRows(NamedTuple):
    """The rows of a file, grouped by question, and the number of each row."""

    grouped: GroupedDocuments
    numbers: NumberColumn | None


class TableShape(NamedTuple):
    """The delimiter of a CSV file and the names of all its columns."""

    delimiter: str
    names: Sequence[str]


def read_regular_parquet(path: Path, columns: ColumnNames) -> RankedRows | None:
    """Read a Parquet file; None if it is not regular, or pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return None
    try:
        with parquet.ParquetFile(
            path, read_dictionary=[columns.question], pre_buffer=False, buffer_size=BLOCK_BYTES
        ) as file:
            return _collect_rows(file.iter_batches(BATCH_ROWS, columns=columns.used, use_threads=False), columns)
    except (pa.ArrowException, OSError, DataError):
        return None


def read_regular_csv(path: Path, columns: ColumnNames, shape: TableShape) -> RankedRows | None:
    """Read a CSV file with a header; None if it is not regular, or pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    kinds = _choose_types(pa, columns)
    try:
        with csv.open_csv(
            str(path),
            csv.ReadOptions(column_names=[*shape.names], skip_rows=1, block_size=BLOCK_BYTES, use_threads=False),
            csv.ParseOptions(delimiter=shape.delimiter),
            csv.ConvertOptions(include_columns=[*kinds], column_types=kinds, null_values=[]),
        ) as batches:
            return _collect_rows(batches, columns)
    except (pa.ArrowException, OSError, DataError):
        return None


def read_regular_json_lines(path: Path, columns: ColumnNames, first: bytes) -> RankedRows | None:
    """Read JSON lines, of which the first is given; None if they are not regular, or pyarrow is not installed.

    If the lines are alike except for their values, quotes separate their cells like those of a table. Other lines are
    parsed as JSON, which takes longer.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return None
    for read in (_read_alike_lines, _read_other_lines):
        try:
            found = read(path, columns, first)
        except (pa.ArrowException, OSError, DataError):
            continue
        if found and all(np.isfinite(part).all() for part in (found.numbers.parts if found.numbers else ())):
            return found  # Arrow takes Infinity for a number, which JSON does not have
    return None


def _choose_types(pa: Any, columns: ColumnNames) -> dict[str, Any]:  # noqa: ANN401 - pyarrow is untyped
    """Return the type of each column that is read: ids are texts, even if they look like numbers."""
    kinds = (pa.string(), pa.string(), pa.float64())
    return {name: kind for name, kind in zip(columns, kinds, strict=True) if name is not None}


def _collect_rows(batches: Iterable[Any], columns: ColumnNames) -> RankedRows | None:
    """Collect batches of Arrow; None if an id is empty, or a number is missing or NaN.

    The questions of a batch become runs of equal ones, and their texts are dropped. The rest is copied, as the buffers
    of Arrow are larger than what they hold, and are used again for the next batch.
    """
    runs, documents, numbers = QuestionRuns(), list[TextChunk](), list[npt.NDArray[Any]]()
    for batch in batches:
        texts = read_texts(batch.column(columns.document), "documents")
        if any((part.edges[1:] == part.edges[:-1]).any() for part in texts.parts):
            return None
        runs.add(*_find_runs(batch.column(columns.question)), len(batch))
        documents += map(compact_chunk, texts.parts)
        if columns.number is not None:
            values = _read_number_array(batch.column(columns.number))
            if values is None or np.isnan(values).any():
                return None
            numbers.append(values.copy())
    grouped = runs.group(TextColumn(documents))
    return None if "" in grouped.names else RankedRows(grouped, NumberColumn(numbers) if columns.number else None)


def _find_runs(questions: Any) -> tuple[list[str], Ints]:  # noqa: ANN401 - as above
    """Return the names of the runs of equal questions in an Arrow array, and their first rows."""
    import pyarrow as pa

    if pa.types.is_dictionary(questions.type) and not questions.null_count:
        codes = np.from_dlpack(questions.indices)
        starts = np.flatnonzero(np.concatenate([[len(codes) > 0], codes[1:] != codes[:-1]]))
        return read_texts(questions.dictionary, "questions").read(codes[starts].astype(np.intp)), starts
    texts = read_texts(questions, "questions")
    starts = texts.find_runs()[:-1]
    return texts.read(starts), starts


def _read_number_array(values: Any) -> npt.NDArray[Any] | None:  # noqa: ANN401 - as above
    """Return an Arrow array of numbers without copying it, or None if it has another type or lacks a value."""
    import pyarrow as pa

    if values.null_count or not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return None
    return np.from_dlpack(values)  # `to_numpy` imports pandas


def _read_alike_lines(path: Path, columns: ColumnNames, first: bytes) -> RankedRows | None:
    """Read JSON lines that differ in their values only, as a table whose delimiter is the quote."""
    import pyarrow as pa
    from pyarrow import csv

    template = parse_template(first)
    if template is None or not {*columns.used} <= template.cells.keys():
        return None
    names = [str(place) for place in range(template.size)]
    kinds = {str(place): pa.binary(len(text)) for place, text in template.constants.items()}
    kinds |= {str(place): pa.string() for place in (*template.numbers, *map(template.cells.__getitem__, columns.used))}
    with csv.open_csv(
        str(path),
        csv.ReadOptions(column_names=names, block_size=LINE_BLOCK_BYTES, use_threads=False),
        csv.ParseOptions(delimiter=QUOTE, quote_char=False),
        csv.ConvertOptions(include_columns=[*kinds], column_types=kinds, null_values=[]),
    ) as batches:
        return _collect_rows((template.convert_batch(batch, columns) for batch in batches), columns)


def _read_other_lines(path: Path, columns: ColumnNames, first: bytes) -> RankedRows | None:
    """Read JSON lines by a parser of JSON."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    values = json.loads(first)
    kinds = _choose_types(pa, columns)
    kinds |= {name: pa.int64() for name in columns[:2] if isinstance(values.get(name), int)}
    batches = arrow_json.open_json(
        str(path),
        arrow_json.ReadOptions(block_size=LINE_BLOCK_BYTES, use_threads=False),
        arrow_json.ParseOptions(explicit_schema=pa.schema([*kinds.items()]), unexpected_field_behavior="ignore"),
    )
    return _collect_rows(batches, columns)
