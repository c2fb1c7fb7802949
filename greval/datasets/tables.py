"""Readers of tables: CSV, TSV and Parquet, row by row."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greval._util.wording import find_typo
from greval.datasets.field_names import FIELD_BY_NAME, format_printable, is_known, list_names, split_dotted
from greval.datasets.json_files import (
    LIST_UNIT,
    InvalidJsonError,
    RawRow,
    describe_encoding_fault,
    find_faults,
    parse_json,
)
from greval.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    ColumnCheck = Callable[[Sequence[str], str], None]
    """Raises `DataError` if the names of the columns, at a place, lack what every row needs."""

MAX_CELL = 2**25
"""The maximum length of a cell: more than any case needs, and a bound on the effect of a missing quote."""

BATCH_ROWS = 256
STRUCTURED = frozenset({"chunks", "triples", "tags", "traversal", "gold", "usage"})
OTHER_DELIMITERS = (";", "\t", "|")
LISTS_OF_ANSWERS = frozenset({"gold_answers", "ground_truths"})
JSON_STARTS = ('["', "['", "[{", "[[", "[(", '{"', "{'")
"""The beginnings of lists and objects in JSON and in Python's repr; plain text may begin with "[1]"."""


_STRAY_BYTE = re.compile("[\udc80-\udcff]")


class _RewindableLines:
    """The lines of a table, which can be rewound to the line after the first line of a broken row."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self._row: list[str] = []
        self.first = 1

    def __iter__(self) -> _RewindableLines:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines)
        self._row.append(line)
        return line

    def begin_row(self) -> None:
        """Start a new row: the lines read so far belong to earlier rows."""
        self.first += len(self._row)
        self._row.clear()

    def rewind(self) -> None:
        """Rewind to the row's second line."""
        self._again.extendleft(reversed(self._row[1:]))
        del self._row[1:]


def read_csv(path: Path, delimiter: str, check_needed: ColumnCheck | None = None) -> Iterator[RawRow]:
    """Read a table with a header; raise `DataError` if the header cannot be used.

    By default the rows are cases, and `check_needed` looks for a question.
    """
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
        lines = _RewindableLines(stream)
        rows = _parse_records(lines, delimiter)
        first = next((cells for cells in rows if cells), [])
        header = _parse_header(first, f"{path}:{lines.first}", check_needed or _check_question)
        for cells in rows:
            if isinstance(cells, str) or any(cells):
                yield _build_row(header, cells, lines.first)


def _parse_records(lines: _RewindableLines, delimiter: str) -> Iterator[list[str] | str]:
    """Yield rows of cells, or the fault of a broken row; the line after its first line starts a new row."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin_row()
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines.rewind()
            yield f'is no row of a table: {error}; a cell with quotes in it is quoted, and each of them doubled ("")'


def _parse_header(cells: list[str] | str, place: str, check_needed: ColumnCheck) -> list[str]:
    if isinstance(cells, str):
        raise DataError(f"{place}: {cells}")
    if byte := _find_stray_byte("".join(cells)):
        raise DataError(f"{place}: {describe_encoding_fault(byte, 'in the header')}")
    header = [cell.strip() or f"column {n}" for n, cell in enumerate(cells, 1)]
    if header:
        _check_columns(header, place, check_needed)
    return header


def _check_columns(names: Sequence[str], place: str, check_needed: ColumnCheck) -> None:
    """Raise `DataError` if a table lacks what it needs or has a column twice, as every row would be wrong."""
    twice = [format_printable(name) for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"{place}: {', '.join(twice)} is there twice; rename or drop one")
    check_needed(names, place)


def _check_question(names: Sequence[str], place: str) -> None:
    """Raise `DataError` if a table lacks a question."""
    if not set(list_names("question")) & {*names}:
        near = next((name for name in names if find_typo(name, list_names("question"))), None)
        hint = (
            f"; is it {format_printable(near)!r}?"
            if near
            else f"; it may be called {', '.join(list_names('question'))}"
        )
        found = format_printable(", ".join(names), 200)
        other = next((mark for mark in OTHER_DELIMITERS if len(names) == 1 and mark in names[0]), "")
        hint += f"; cells are parted by {other!r} here: save it with commas, or with tabs as .tsv" if other else ""
        raise DataError(f"{place}: no column for the question{hint} (columns, by the file's separator: {found})")


def _build_row(header: Sequence[str], cells: Sequence[str] | str, number: int) -> RawRow:
    if isinstance(cells, str):
        return RawRow(number, faults={"": cells})
    if len(cells) != len(header):
        return RawRow(number, faults={"": f"has {len(cells)} cells where the header has {len(header)}"})
    filled = {name: cell or None for name, cell in zip(header, cells, strict=True)}
    strays = {name: byte for name, cell in filled.items() if cell and (byte := _find_stray_byte(cell))}
    faults = {name: describe_encoding_fault(byte, "in the cell") for name, byte in strays.items()}
    return parse_json_cells(RawRow(number, filled, faults))


def _find_stray_byte(text: str) -> int:
    """Return the first byte that was not valid UTF-8, or 0."""
    stray = None if text.isascii() else _STRAY_BYTE.search(text)
    return ord(stray.group()) - 0xDC00 if stray else 0


def parse_json_cells(row: RawRow) -> RawRow:
    """Parse the JSON in those cells of a row that can hold a list or an object."""
    values, faults = dict(row.values), dict(row.faults)
    for name, cell in row.valid_values.items():
        if isinstance(cell, str) and cell.lstrip()[:1] in {"[", "{"} and _is_json_column(name):
            try:
                values[name], doubtful = parse_json(cell)
            except InvalidJsonError as error:
                if _is_broken(name, cell):
                    faults[name] = f"begins like a list or an object but {error}; write JSON, with double quotes"
            else:
                faults |= find_faults({name: values[name]}) if doubtful else {}
    return RawRow(row.number, values, faults, row.unit)


def _is_json_column(name: str) -> bool:
    nested = split_dotted(name)
    return FIELD_BY_NAME.get(name) in STRUCTURED or name in LISTS_OF_ANSWERS or bool(nested and nested[0] != "tags")


def _is_broken(name: str, cell: str) -> bool:
    """Return whether a cell that is not valid JSON was meant as JSON; chunks and answers can be plain text."""
    may_be_text = FIELD_BY_NAME.get(name) in {"chunks", "expected_answer"}
    return not may_be_text or cell.lstrip().startswith(JSON_STARTS)


def read_parquet(path: Path, check_needed: ColumnCheck | None = None) -> Iterator[RawRow]:
    """Read a Parquet file.

    By default the rows are cases: `check_needed` looks for a question, and columns that are not fields of a case are
    not loaded.

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
            _check_columns(names, str(path), check_needed or _check_question)
            passed_over = () if check_needed else (name for name in names if not is_known(name))
            unread: dict[str, object] = dict.fromkeys(passed_over)
            columns = [name for name in names if name not in unread]
            maps = [name for name in columns if pa.types.is_map(table.schema_arrow.field(name).type)]
            rows = (
                row for batch in table.iter_batches(BATCH_ROWS, columns=columns) for row in _convert_batch(batch, maps)
            )
            for number, values in enumerate(rows, 1):
                yield _build_parquet_row(values, unread, number)
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


def _build_parquet_row(values: Mapping[str, object] | str, unread: Mapping[str, object], number: int) -> RawRow:
    if isinstance(values, str):
        return RawRow(number, faults={"": values}, unit=LIST_UNIT)
    return parse_json_cells(RawRow(number, {**unread, **values}, unit=LIST_UNIT))


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
