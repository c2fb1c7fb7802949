"""Readers of Parquet files, row by row or as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from greval.datasets.field_names import find_known_name, format_printable
from greval.datasets.json_files import LIST_UNIT, RawRow
from greval.datasets.tables import build_check, check_columns, finish_row
from greval.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from greval.datasets.column_map import ColumnMap
    from greval.datasets.tables import ColumnCheck

BATCH_ROWS = 256
UNREAD = ()
"""The value of a column of Parquet that is not loaded, as it can be neither a field nor a tag."""


def read_parquet(
    path: Path, check_needed: ColumnCheck | None = None, columns: ColumnMap | None = None
) -> Iterator[RawRow]:
    """Read a Parquet file.

    By default the rows are cases: `check_needed` looks for a question, and columns that are not fields of a case are
    not loaded. `columns` names the columns of some fields.

    Raises:
        DataError: If it is not a Parquet file, or lacks a column that is needed.
        MissingExtraError: If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    try:
        with parquet.ParquetFile(path) as table:
            names = table.schema_arrow.names
            check_columns(names, str(path), build_check(check_needed, columns))
            nested = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
            others = [] if check_needed else [name for name in names if find_known_name(name) is None]
            others = [name for name in others if not (columns and columns.list_fields([name]))]
            kinds = {name: table.schema_arrow.field(name).type for name in others}
            unread: dict[str, object] = {name: UNREAD for name in others if any(test(kinds[name]) for test in nested)}
            loaded = [name for name in names if name not in unread]
            maps = [name for name in loaded if pa.types.is_map(table.schema_arrow.field(name).type)]
            rows = (
                row for batch in table.iter_batches(BATCH_ROWS, columns=loaded) for row in _convert_batch(batch, maps)
            )
            for number, values in enumerate(rows, 1):
                yield _build_parquet_row(values, unread, number, columns)
    except pa.ArrowException as error:
        raise DataError(
            f"{path}: cannot be read as Parquet: {format_printable(str(error), 200)}; write the file anew"
        ) from error


def _convert_batch(batch: Any, maps: Sequence[str]) -> Iterator[dict[str, object] | str]:  # noqa: ANN401 - pyarrow is untyped
    """Yield the rows of a batch; if one cannot be converted to Python values, only that row is faulty."""
    try:
        rows: list[Any] = batch.to_pylist()
    except (ValueError, ArithmeticError) as error:
        if batch.num_rows == 1:
            yield f"holds a value that cannot be read: {format_printable(str(error), 200)}"
        else:
            yield from (row for n in range(batch.num_rows) for row in _convert_batch(batch.slice(n, 1), maps))
        return
    for row in rows:
        pairs = {name: dict(row[name]) for name in maps if row[name] is not None}
        yield {**row, **pairs} if pairs else row


def _build_parquet_row(
    values: Mapping[str, object] | str, unread: Mapping[str, object], number: int, columns: ColumnMap | None
) -> RawRow:
    if isinstance(values, str):
        return RawRow(number, faults={"": values}, unit=LIST_UNIT)
    return finish_row(RawRow(number, {**unread, **values}, unit=LIST_UNIT), columns)


Row = dict[str, Any]


def read_table(path: Path, *columns: str) -> list[Row]:
    """Read only the named columns of a Parquet file; a missing column is None in each row.

    Raises:
        DataError: If the file cannot be read as Parquet.
        MissingExtraError: If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    try:
        with parquet.ParquetFile(path) as table:
            there = {*table.schema_arrow.names}
            found = table.read(columns=[name for name in columns if name in there]).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {error}; write the index anew") from error
    return [dict.fromkeys(columns) | row for row in found]
