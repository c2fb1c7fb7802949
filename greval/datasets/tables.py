"""Readers of tables in text, CSV and TSV, row by row, and the check of headers of all tables."""

from __future__ import annotations

import csv
import re
from collections import deque
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from greval.datasets.cells import NO_NAME
from greval.datasets.json_files import RawRow, describe_encoding_fault
from greval.datasets.row_faults import HEADER_CHARACTERS, MAX_ROW_BYTES, explain_many_fields, explain_repeated_names
from greval.datasets.text_encoding import TextEncoding, detect_encoding
from greval.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from greval.datasets.row_purpose import ColumnCheck

MAX_CELL = MAX_ROW_BYTES
"""The maximum length of a cell: more than any case needs, and a bound on the effect of a missing quote."""

DELIMITERS = (",", ";", "\t", "|")
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


def read_csv(path: Path, check: ColumnCheck, delimiter: str) -> Iterator[RawRow]:
    """Read a table with a header; raise `DataError` if the header cannot be used.

    The encoding is found by the content. The delimiter is another one than the given if the header shows it.
    """
    # The limit counts for the whole process, in which others may have raised it.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    encoding = detect_encoding(path)
    note = f"read as {encoding.name}; if letters are wrong, save it as UTF-8" if encoding.name else ""
    separator, has_delimiter_line = _find_delimiter(path, encoding, delimiter, check)
    try:
        with _open_text(path, encoding) as stream:
            lines = _RewindableLines(stream)
            if has_delimiter_line:
                next(lines)
                lines.begin_row()
            rows = _parse_records(lines, separator)
            first = next((cells for cells in rows if cells), [])
            header = _parse_header(first, f"{path}:{lines.first}", check)
            for cells in rows:
                if isinstance(cells, str) or any(cells):
                    row = _build_row(header, cells, lines.first)
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
        # A pipe can be read only once.
        return usual, False
    try:
        with _open_text(path, encoding) as stream:
            head = stream.read(HEADER_CHARACTERS)
    except UnicodeError:
        return usual, False
    if match := _DELIMITER_LINE.match(head):
        return match[1], True
    headers = _split_headers(head, usual)
    return find_header(head, usual, check)[0] or max(headers, key=lambda mark: len(headers[mark])), False


def find_header(head: str, usual: str, check: ColumnCheck) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns of a table by its beginning, empty if no header can be used."""
    headers = _split_headers(head, usual)
    return next((header for header in headers.items() if header[1] and _is_usable(header[1], check)), ("", []))


def _split_headers(head: str, usual: str) -> dict[str, list[str]]:
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
            # A quote that is never closed makes all following lines a part of the row.
            lines.rewind()
            yield f'is no row of a table: {error}; a cell with quotes in it is quoted, and each of them doubled ("")'


def _parse_header(cells: list[str] | str, location: str, check_needed: ColumnCheck) -> list[str]:
    if isinstance(cells, str):
        raise DataError(f"{location}: {cells}")
    if byte := _find_stray_byte("".join(cells)):
        raise DataError(f"{location}: {describe_encoding_fault(byte, 'in the header')}")
    header = name_columns(cells)
    if header:
        check_columns(header, location, check_needed)
    return header


def name_columns(cells: Sequence[str]) -> list[str]:
    """Return the names of the columns of a header; a column without a name is named by its number."""
    return [cell.strip() or f"{NO_NAME}{n}" for n, cell in enumerate(cells, 1)]


def check_columns(names: Sequence[str], location: str, check_needed: ColumnCheck) -> None:
    """Raise `DataError` if a table lacks what it needs or has a column twice, as every row would be wrong.

    A table with too many columns is refused too.
    """
    if fault := explain_many_fields(len(names)):
        raise DataError(f"{location}: {fault}")
    if fault := explain_repeated_names(names):
        raise DataError(f"{location}: {fault}")
    check_needed(names, location)


def _build_row(header: Sequence[str], cells: Sequence[str] | str, number: int) -> RawRow:
    if isinstance(cells, str):
        return RawRow(number, faults={"": cells})
    if len(cells) != len(header):
        return RawRow(number, faults={"": f"has {len(cells)} cells where the header has {len(header)}"})
    filled = {name: cell or None for name, cell in zip(header, cells, strict=True)}
    strays = {name: byte for name, cell in filled.items() if cell and (byte := _find_stray_byte(cell))}
    faults = {name: describe_encoding_fault(byte, "in the cell") for name, byte in strays.items()}
    return RawRow(number, filled, faults)


def _find_stray_byte(text: str) -> int:
    """Return the first byte that was not valid UTF-8, or 0."""
    stray = None if text.isascii() else _STRAY_BYTE.search(text)
    return ord(stray.group()) - 0xDC00 if stray else 0
