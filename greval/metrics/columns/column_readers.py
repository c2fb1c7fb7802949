"""Readers of foreign columns: Arrow, pandas, polars, numpy and lists become columns of texts or numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from greval.errors import DataError, MissingExtraError
from greval.metrics.columns.chunked_array import NumberColumn
from greval.metrics.columns.text_column import WORD_BYTES, Edges, TextChunk, TextColumn

_ARROW = ("__arrow_c_stream__", "__arrow_c_array__", "__arrow_array__")


class ColumnNames(NamedTuple):
    """The names of the columns in a file; `number` is a score, a rank or a grade, None if the file has none of them."""

    question: str
    document: str
    number: str | None

    @property
    def used(self) -> list[str]:
        """The names of the columns that are read."""
        return [*self[:2], *([self.number] if self.number is not None else [])]


def read_texts(column: object, what: str) -> TextColumn:
    """Read a column of ids: of Arrow, pandas, polars, numpy, or any sequence of texts or whole numbers.

    Whole numbers are read as their digits, so 7 and "7" are the same id. Arrow string columns are not copied.

    Raises:
        DataError: If a value is missing, or is neither a text nor a whole number.
        MissingExtraError: If the column is an Arrow column and pyarrow is not installed.
    """
    if isinstance(column, TextColumn):
        return column
    if any(hasattr(column, name) for name in _ARROW):
        pa, chunks = _split_arrow_chunks(column, what)
        return TextColumn([part for chunk in chunks for part in _iterate_text_chunks(pa, chunk, what)])
    return _join_texts(_to_sequence(column, what), what)


def read_numbers(column: object, what: str) -> NumberColumn:
    """Read a column of numbers; raise the errors of `read_texts` if a value is missing or not a number."""
    if isinstance(column, NumberColumn):
        return column
    try:
        if any(hasattr(column, name) for name in _ARROW):
            _, chunks = _split_arrow_chunks(column, what)
            parts = [_to_numeric(chunk.to_numpy(zero_copy_only=False)) for chunk in chunks]
        else:
            parts = [_to_numeric(np.asarray(_to_array_input(column)))]
    except (TypeError, ValueError) as error:
        raise DataError(f"{what}: must be a column of numbers: {error}") from error
    first = 1
    for part in parts:
        if part.ndim != 1:
            raise DataError(f"{what}: must be one column of numbers")
        if part.dtype.kind == "f" and (wrong := np.flatnonzero(np.isnan(part))).size:
            raise DataError(f"{what}, row {first + int(wrong[0])}: is no number (NaN); fill it in or drop the row")
        first += len(part)
    return NumberColumn(parts)


def convert_numbers(values: Iterable[object], count: int, what: str) -> npt.NDArray[np.float64]:
    """Read the numbers of dictionaries into an array; raise `DataError` if a value is missing or not a number."""
    try:
        numbers = np.fromiter(values, np.float64, count)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what}s must be numbers: {error}; leave documents without a {what} out") from error
    if np.isnan(numbers).any():
        raise DataError(f"a {what} is no number (NaN); leave documents without a {what} out")
    return numbers


def _to_numeric(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numeric arrays as they are, and convert others to float."""
    return values if values.dtype.kind in "iuf" else values.astype(np.float64)


def _to_array_input(column: object) -> Any:  # noqa: ANN401 - whatever numpy can read
    return column if isinstance(column, np.ndarray | Sequence) else list(column)  # type: ignore[call-overload]


def _to_sequence(column: object, what: str) -> Sequence[object]:
    values = column.tolist() if hasattr(column, "tolist") else column
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise DataError(f"{what}: must be a column of ids, got {type(column).__name__}; give a list or an array")
    return values


def _join_texts(values: Sequence[object], what: str) -> TextColumn:
    """Concatenate texts into one chunk, in Arrow's layout."""
    if set(map(type, values)) - {str}:
        values = [_format_id(value, f"{what}, row {n}") for n, value in enumerate(values, 1)]
    texts: Sequence[str] = values  # type: ignore[assignment]
    try:
        joined = "".join(texts)
        encoded = joined.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{what}: an id holds half of a character (a lone surrogate), which is no text; mend it"
        ) from error
    if len(encoded) == len(joined):  # ASCII, so that a text has as many bytes as characters
        return TextColumn([_build_chunk_from_bytes(encoded, map(len, texts), len(texts))])
    return TextColumn([build_chunk([text.encode() for text in texts])])


def build_chunk(pieces: Sequence[bytes]) -> TextChunk:
    """Build a chunk from encoded texts, in Arrow's layout."""
    return _build_chunk_from_bytes(b"".join(pieces), map(len, pieces), len(pieces))


def _build_chunk_from_bytes(encoded: bytes, lengths: Iterable[int], count: int) -> TextChunk:
    edges = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=edges[1:])
    return TextChunk(edges, np.frombuffer(encoded + bytes(WORD_BYTES), np.uint8))


def _format_id(value: object, place: str) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise DataError(f"{place}: an id must be a text or a whole number, got {value!r}; fill it in or drop the row")


def _split_arrow_chunks(column: Any, what: str) -> tuple[Any, Sequence[Any]]:  # noqa: ANN401 - pyarrow is untyped
    """Return pyarrow and the chunks of an Arrow column; raise an error if pyarrow or a value is missing."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    if isinstance(column, pa.ChunkedArray | pa.Array):  # the conversion of any other object imports pandas
        whole = column
    else:
        whole = pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    if not len(whole):
        return pa, []
    if whole.null_count:
        row = 1 + whole.is_valid().to_pylist().index(False)
        raise DataError(f"{what}, row {row}: the value is missing; fill it in or drop the row")
    return pa, whole.chunks if isinstance(whole, pa.ChunkedArray) else [whole]


def _iterate_text_chunks(pa: Any, chunk: Any, what: str) -> Iterator[TextChunk]:  # noqa: ANN401 - pyarrow is untyped
    """Yield Arrow strings as chunks without copying them; other columns are cast to strings first."""
    plain = (pa.types.is_string, pa.types.is_large_string)
    kind = chunk.type.value_type if pa.types.is_dictionary(chunk.type) else chunk.type
    if not any(tells(kind) for tells in (*plain, pa.types.is_integer, pa.types.is_string_view)):
        raise DataError(f"{what}: ids must be texts or whole numbers, got {kind}; convert the column")
    if not any(tells(chunk.type) for tells in plain):
        chunk = chunk.cast(kind).cast(pa.large_string())
    if len(chunk):
        _, edges, data = chunk.buffers()
        width: np.dtype[np.integer[Any]] = np.dtype(np.int64 if pa.types.is_large_string(chunk.type) else np.int32)
        places = np.frombuffer(edges, width)[chunk.offset : chunk.offset + len(chunk) + 1]
        yield from _pad_chunk(places, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8))


def _pad_chunk(edges: Edges, data: npt.NDArray[np.uint8]) -> Iterator[TextChunk]:
    """Copy the last texts if fewer than eight bytes follow them, because eight bytes are read at once."""
    safe = max(0, int(np.searchsorted(edges, len(data) - WORD_BYTES, side="right")) - 1)
    if safe:
        yield TextChunk(edges[: safe + 1], data)
    rest = edges[safe:]
    if len(rest) > 1:
        yield TextChunk(rest - rest[0], np.concatenate([data[rest[0] : rest[-1]], np.zeros(WORD_BYTES, np.uint8)]))
