"""Readers of Parquet files, row by row or as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from greval.datasets.field_names import format_printable
from greval.datasets.field_values import format_scalar
from greval.datasets.json_files import LIST_UNIT, RawRow
from greval.datasets.row_faults import MAX_ROW_BYTES, VALUE_BYTES, explain_many_bytes, refuse_large_content
from greval.datasets.tables import check_columns
from greval.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from greval.datasets.row_purpose import ColumnCheck

BATCH_ROWS = 256
UNREAD = ()
"""The value of a column of Parquet that is not loaded, as it can be neither a field nor a tag."""


def read_parquet(path: Path, check: ColumnCheck, is_needed: Callable[[str], bool] | None = None) -> Iterator[RawRow]:
    """Read a Parquet file.

    Lists, objects and bytes in columns that are not needed, by their names, are not loaded.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    try:
        with parquet.ParquetFile(path, read_dictionary=_list_text_columns(path)) as table:
            names = table.schema_arrow.names
            check_columns(names, str(path), check)
            nested = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
            unneeded = [name for name in names if is_needed and not is_needed(name)]
            kinds = {name: table.schema_arrow.field(name).type for name in unneeded}
            unread: dict[str, object] = {name: UNREAD for name in unneeded if any(test(kinds[name]) for test in nested)}
            loaded = [name for name in names if name not in unread]
            maps = [name for name in loaded if pa.types.is_map(table.schema_arrow.field(name).type)]
            plain = parquet.read_schema(path)
            moments = [name for name in loaded if _is_moment(table.schema_arrow.field(name).type)]
            size = _choose_batch_size(table.metadata, str(path))
            rows = (
                row
                for batch in table.iter_batches(size, columns=loaded)
                for part in _split_batch(batch)
                for row in ([part] if isinstance(part, str) else _convert_batch(_unpack_batch(part, plain), maps))
            )
            for number, values in enumerate(rows, 1):
                yield _build_parquet_row(values, unread, number, moments)
    except MemoryError:
        # One of Arrow's errors is of both kinds.
        raise
    except pa.ArrowException as error:
        raise DataError(
            f"{path}: cannot be read as Parquet: {format_printable(str(error), 200)}; write the file anew"
        ) from error


def _is_moment(kind: Any) -> bool:  # noqa: ANN401 - pyarrow is untyped
    """Return whether values of a type are dates, times or decimal numbers."""
    import pyarrow as pa

    return bool(pa.types.is_temporal(kind) or pa.types.is_decimal(kind))


def _list_text_columns(path: Path) -> list[str]:
    """Return the paths of the columns of texts, also within lists and objects.

    They are read as dictionaries: a text that many rows share is held once, as in the file.
    """
    from pyarrow import parquet

    schema = parquet.read_metadata(path).schema
    columns = (schema.column(position) for position in range(len(schema)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _choose_batch_size(metadata: Any, location: str) -> int:  # noqa: ANN401 - pyarrow is untyped
    """Return the number of rows to read at once, so that they take about as much as the largest row may.

    Raise `DataError` if a part of the file stands for much more than it is.
    """
    size = BATCH_ROWS
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        columns = [group.column(position) for position in range(group.num_columns)]
        unpacked = sum(column.total_uncompressed_size for column in columns)
        refuse_large_content(location, unpacked, sum(column.total_compressed_size for column in columns))
        memory = unpacked + VALUE_BYTES * sum(column.num_values for column in columns)
        size = min(size, MAX_ROW_BYTES * max(group.num_rows, 1) // max(memory, 1))
    return max(size, 1)


def _split_batch(batch: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    """Yield parts of a batch that become no more Python objects than the largest row may.

    In place of a row that is too large, yield its fault.
    """
    sizes = sum((_measure_rows(column) for column in batch.columns), np.zeros(batch.num_rows, dtype=np.int64))
    start = part_bytes = 0
    for position, size in enumerate(sizes.tolist()):
        if part_bytes + size > MAX_ROW_BYTES:
            if position > start:
                yield batch.slice(start, position - start)
            start, part_bytes = position, 0
            if size > MAX_ROW_BYTES:
                yield explain_many_bytes()
                start += 1
                continue
        part_bytes += size
    if start < batch.num_rows:
        yield batch.slice(start)


def _unpack_batch(batch: Any, schema: Any) -> Any:  # noqa: ANN401 - as above
    """Return a batch with the columns' own types."""
    import pyarrow as pa

    try:
        # Values become Python objects much faster than from dictionaries.
        return batch.cast(pa.schema([schema.field(name) for name in batch.schema.names]))
    except pa.ArrowNotImplementedError:
        # Arrow cannot cast all nested types.
        return batch


def _measure_rows(values: Any) -> NDArray[np.int64]:  # noqa: ANN401 - as above
    """Return the bytes that each value of a column takes when it is unpacked."""
    import pyarrow as pa
    from pyarrow import compute

    kind, count = values.type, len(values)
    sizes = np.full(count, VALUE_BYTES, dtype=np.int64)
    if pa.types.is_dictionary(kind):
        shared = compute.take(pa.array(_measure_rows(values.dictionary)), values.indices)
        return _to_numbers(shared)
    if isinstance(values, pa.ListArray | pa.LargeListArray):
        ends = np.concatenate(([0], np.cumsum(_measure_rows(values.values))))[values.offsets.to_numpy()]
        sizes += np.diff(ends)
        return sizes
    if isinstance(values, pa.FixedSizeListArray):
        sizes += _measure_rows(values.flatten()).sum() // max(count, 1)
        return sizes
    if pa.types.is_struct(kind):
        return sum((_measure_rows(values.field(position)) for position in range(kind.num_fields)), sizes)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return sizes + _to_numbers(compute.binary_length(values)) if any(test(kind) for test in texts) else sizes


def _to_numbers(values: Any) -> NDArray[np.int64]:  # noqa: ANN401 - as above
    numbers: NDArray[np.int64] = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


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
        # pyarrow returns a map as a list of pairs.
        pairs = {name: dict(row[name]) for name in maps if row[name] is not None}
        yield {**row, **pairs} if pairs else row


def _build_parquet_row(
    values: Mapping[str, object] | str, unread: Mapping[str, object], number: int, moments: Sequence[str]
) -> RawRow:
    if isinstance(values, str):
        return RawRow(number, faults={"": values}, unit=LIST_UNIT)
    written = {name: format_scalar(values[name]) for name in moments}
    return RawRow(number, {**unread, **values, **written}, unit=LIST_UNIT)


Row = dict[str, Any]


def read_table(path: Path, *columns: str) -> list[Row]:
    """Read only the named columns of a Parquet file; a missing column is None in each row."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    try:
        with parquet.ParquetFile(path) as table:
            present = {*table.schema_arrow.names}
            rows = table.read(columns=[name for name in columns if name in present]).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {error}; write the index anew") from error
    return [dict.fromkeys(columns) | row for row in rows]
