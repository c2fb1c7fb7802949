"""Readers of tables: CSV and TSV, row by row, and what is common to the cells of all tables."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from greval._util.wording import find_typo
from greval.datasets.field_names import (
    FIELD_BY_NAME,
    PARSED_WRAPPERS,
    find_known_name,
    fold_name,
    format_printable,
    list_names,
    split_dotted,
    split_wrapped,
)
from greval.datasets.json_files import (
    InvalidJsonError,
    RawRow,
    describe_encoding_fault,
    find_faults,
    parse_json,
)
from greval.datasets.python_literals import InvalidLiteralError, parse_literal
from greval.datasets.read_limits import MAX_ROW_BYTES, explain_many_fields
from greval.datasets.text_encoding import TextEncoding, detect_encoding
from greval.errors import DataError
from greval.records.case import CLAIM_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from greval.datasets.column_map import ColumnMap

    ColumnCheck = Callable[[Sequence[str], str], None]
    """Raises `DataError` if the names of the columns, at a place, lack what every row needs."""

MAX_CELL = MAX_ROW_BYTES
"""The maximum length of a cell: more than any case needs, and a bound on the effect of a missing quote."""

STRUCTURED = frozenset({"chunks", "triples", *CLAIM_FIELDS, "tags", "traversal", "gold", "usage", "expected_answer"})
DELIMITERS = (",", ";", "\t", "|")
HEADER_CHARACTERS = 2**16
"""How much of a file is read to find its delimiter."""
JSON_STARTS = ('["', "['", "[{", "[[", "[(", '{"', "{'", "[Document(", "array(")
"""The beginnings of lists and objects in JSON and in Python's repr; plain text may begin with "[1]"."""
NO_NAME = "column "
"""The beginning of the name that a column without one gets, before its number."""
INDEX_NAMES = frozenset({f"{NO_NAME}1", "Unnamed: 0", "__index_level_0__"})
"""The names of the column that pandas writes for an index without a name."""
DEEPEVAL_EXPORT = frozenset({"actual_output", "context", "source_file"})
"""Columns that only deepeval's own export has together."""
NAME_COLUMN = "name it with --column question=NAME"
_DELIMITER_LINE = re.compile(r'"?sep=(.)"?\r?\n?')
"""The first line in which Excel names the delimiter."""


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


def read_csv(
    path: Path, delimiter: str, check_needed: ColumnCheck | None = None, columns: ColumnMap | None = None
) -> Iterator[RawRow]:
    """Read a table with a header; raise `DataError` if the header cannot be used.

    The encoding is found by the content. The delimiter is another one than the given if the header shows it. By default
    the rows are cases, and `check_needed` looks for a question. `columns` names the columns of some fields.
    """
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    encoding = detect_encoding(path)
    note = f"read as {encoding.name}; if letters are wrong, save it as UTF-8" if encoding.name else ""
    check = build_check(check_needed, columns)
    found, named = _find_delimiter(path, encoding, delimiter, check)
    try:
        with _open_text(path, encoding) as stream:
            lines = _RewindableLines(stream)
            if named:
                next(lines)
                lines.begin_row()
            rows = _parse_records(lines, found)
            first = next((cells for cells in rows if cells), [])
            header = _parse_header(first, f"{path}:{lines.first}", check)
            for cells in rows:
                if isinstance(cells, str) or any(cells):
                    row = _build_row(header, cells, lines.first, columns)
                    yield replace(row, note=note) if note else row
                    note = ""
    except UnicodeError as error:
        raise DataError(f"{path}: is not {encoding.name} throughout: {error}; save the file as UTF-8") from error


def _open_text(path: Path, encoding: TextEncoding) -> TextIO:
    """Open a text file; bytes that are not UTF-8 become surrogates, so that they are reported with their cell."""
    return path.open(encoding=encoding.codec, errors="strict" if encoding.name else "surrogateescape", newline="")


def _find_delimiter(path: Path, encoding: TextEncoding, usual: str, check: ColumnCheck) -> tuple[str, bool]:
    """Return the delimiter of a table, and whether its first line names it as Excel does.

    It is the usual one if the header can be used with it; otherwise the first with which it can be used, or that which
    gives the most columns.
    """
    if not path.is_file():
        return usual, False
    try:
        with _open_text(path, encoding) as stream:
            head = stream.read(HEADER_CHARACTERS)
    except UnicodeError:
        return usual, False
    if named := _DELIMITER_LINE.match(head):
        return named[1], True
    headers = _split_headers(head, usual)
    return find_header(head, usual, check)[0] or max(headers, key=lambda mark: len(headers[mark])), False


def find_header(head: str, usual: str, check: ColumnCheck) -> tuple[str, list[str]]:
    r"""Return the delimiter and the names of the columns of a table by its beginning, empty if no header can be used.

    Example:
        >>> def check(names, place):
        ...     if "id" not in names:
        ...         raise DataError(f"{place}: no id")
        >>> find_header("id;text\n1;One, two", ",", check)
        (';', ['id', 'text'])
    """
    headers = _split_headers(head, usual)
    return next((found for found in headers.items() if found[1] and _is_usable(found[1], check)), ("", []))


def _split_headers(head: str, usual: str) -> dict[str, list[str]]:
    """Return the names of the columns with each delimiter, the usual one first."""
    return {mark: _split_header(head, mark) for mark in dict.fromkeys((usual, *DELIMITERS))}


def _split_header(head: str, delimiter: str) -> list[str]:
    """Return the names of the columns with one delimiter; none if the header cannot be split with it."""
    try:
        cells = next((cells for cells in csv.reader(StringIO(head), delimiter=delimiter, strict=True) if cells), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def _is_usable(names: Sequence[str], check: ColumnCheck) -> bool:
    try:
        check(names, "")
    except DataError:
        return False
    return True


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
    header = name_columns(cells)
    if header:
        check_columns(header, place, check_needed)
    return header


def name_columns(cells: Sequence[str]) -> list[str]:
    """Return the names of the columns of a header; a column without a name is named by its number."""
    return [cell.strip() or f"{NO_NAME}{n}" for n, cell in enumerate(cells, 1)]


def check_columns(names: Sequence[str], place: str, check_needed: ColumnCheck) -> None:
    """Raise `DataError` if a table lacks what it needs or has a column twice, as every row would be wrong.

    A table with too many columns is refused too.
    """
    if fault := explain_many_fields(len(names)):
        raise DataError(f"{place}: {fault}")
    twice = [format_printable(name) for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"{place}: {', '.join(twice)} is there twice; rename or drop one")
    check_needed(names, place)


def build_check(check_needed: ColumnCheck | None, columns: ColumnMap | None) -> ColumnCheck:
    """Return the check of a header: the columns that are named must be there, and by default one for the question."""
    check = check_needed or _check_question
    if columns is None:
        return check

    def check_mapped(names: Sequence[str], place: str) -> None:
        columns.check_names(names, place)
        check([*names, *columns.list_fields(names)], place)

    return check_mapped


def check_known(names: Sequence[str], place: str) -> None:
    """Raise `DataError` if a table has no column of a known name."""
    if not any(map(find_known_name, names)):
        found = format_printable(", ".join(names), 200)
        raise DataError(f"{place}: no column has a known name (columns: {found}); name one with --column FIELD=NAME")


def _check_question(names: Sequence[str], place: str) -> None:
    """Raise `DataError` if a table lacks a question."""
    prefixes = (wrapped[0] for name in names if (wrapped := split_wrapped(name)))
    if not set(list_names("question")) & {find_known_name(name) for name in (*names, *prefixes)}:
        near = next((name for name in names if find_typo(name, list_names("question"))), None)
        hint = (
            f"; is it {format_printable(near)!r}?"
            if near
            else f"; it may be called {', '.join(list_names('question'))}"
        )
        found = format_printable(", ".join(names), 200)
        raise DataError(f"{place}: no column for the question{hint} (columns: {found}); {NAME_COLUMN}")


def _build_row(
    header: Sequence[str], cells: Sequence[str] | str, number: int, columns: ColumnMap | None = None
) -> RawRow:
    if isinstance(cells, str):
        return RawRow(number, faults={"": cells})
    if len(cells) != len(header):
        return RawRow(number, faults={"": f"has {len(cells)} cells where the header has {len(header)}"})
    filled = {name: cell or None for name, cell in zip(header, cells, strict=True)}
    strays = {name: byte for name, cell in filled.items() if cell and (byte := _find_stray_byte(cell))}
    faults = {name: describe_encoding_fault(byte, "in the cell") for name, byte in strays.items()}
    return finish_row(RawRow(number, filled, faults), columns)


def finish_row(row: RawRow, columns: ColumnMap | None) -> RawRow:
    """Return a row with its columns named, without the index that pandas writes, and with parsed cells."""
    named = columns.apply(row) if columns else row
    kept = {name: cell for name, cell in named.values.items() if not _is_left_out(name, cell)}
    return parse_json_cells(replace(named, values=_split_passages(kept)))


def _split_passages(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the cells of a row with the passages apart that deepeval's `save_as` joins by bars."""
    passages = values.get("retrieval_context")
    if not isinstance(passages, str) or not values.keys() >= DEEPEVAL_EXPORT or passages.startswith(JSON_STARTS):
        return values
    return {**values, "retrieval_context": passages.split("|")}


def _is_left_out(name: str, cell: object) -> bool:
    """Return whether a column is the index that pandas writes, or an empty one without a name."""
    return name in INDEX_NAMES or (cell is None and name.startswith(NO_NAME))


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
                found, doubtful = parse_cell(cell)
            except InvalidJsonError as error:
                if _is_broken(name, cell):
                    faults[name] = f"begins like a list or an object but {error}; write JSON, with double quotes"
                continue
            if _is_meant(name, found):
                values[name] = found
                faults |= find_faults({name: found}) if doubtful else {}
    return replace(row, values=values, faults=faults)


def parse_cell(cell: str) -> tuple[object, bool]:
    """Parse a list or an object, in JSON or as Python prints it, as `parse_json` does."""
    try:
        return parse_json(cell)
    except InvalidJsonError as error:
        try:
            return parse_literal(cell), True
        except InvalidLiteralError as other:
            raise InvalidJsonError(f"{error}, nor a list of Python: it {other}", error.line, error.column) from error


def _is_meant(name: str, value: object) -> bool:
    """Return whether a cell was meant as a list or an object, and not as a text that looks like one."""
    if fold_name(name) in PARSED_WRAPPERS:
        return isinstance(value, dict)
    return _find_field(name) != "expected_answer" or _is_list_of_texts(value)


def _is_list_of_texts(value: object) -> bool:
    """Return whether a value is several accepted answers; any other list or object may be the answer itself."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _find_field(name: str) -> str | None:
    """Return the field of a column, or None; subfields belong to their field."""
    wrapped = split_wrapped(name)
    known = find_known_name(wrapped[1] if wrapped else name)
    nested = split_dotted(known) if known else None
    return FIELD_BY_NAME.get(known or "") or (nested and nested[0])


def _is_json_column(name: str) -> bool:
    if fold_name(name) in PARSED_WRAPPERS:
        return True
    is_one_tag = FIELD_BY_NAME.get(find_known_name(name) or "") is None and _find_field(name) == "tags"
    return not is_one_tag and _find_field(name) in STRUCTURED


def _is_broken(name: str, cell: str) -> bool:
    """Return whether a cell that cannot be parsed was meant as a list; chunks and answers can be plain text."""
    own = _find_field(name)
    return own in STRUCTURED - {"expected_answer"} and (own != "chunks" or cell.lstrip().startswith(JSON_STARTS))
