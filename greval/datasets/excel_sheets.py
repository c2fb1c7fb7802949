"""Readers of Excel workbooks: the first sheet with a column that is needed, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from greval._util.wording import format_names
from greval.datasets.field_names import format_printable
from greval.datasets.field_values import as_text, format_scalar
from greval.datasets.json_files import LIST_UNIT, RawRow
from greval.datasets.row_faults import refuse_large_content
from greval.datasets.tables import check_columns, name_columns
from greval.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from greval.datasets.row_purpose import ColumnCheck

ERRORS = frozenset({"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"})
"""The values of cells whose formula failed."""
MAX_SHEETS_SHOWN = 5
Cells = Sequence[object]


def read_excel(path: Path, check: ColumnCheck) -> Iterator[RawRow]:
    """Read the first sheet of a workbook that has the columns that are needed.

    The header is the first row with content. Cells become texts as in CSV: 3.0 is `3`, a date is `2026-11-22`, and an
    empty cell is not recorded. The number of a row is that of Excel. If the workbook has several sheets, a note names
    the one that was read.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("excel", "openpyxl") from error
    # A workbook is a packed file: a small one may take all memory.
    _check_unpacked_size(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except OSError:
        # Reported by the caller, as for files of all formats.
        raise
    except Exception as error:
        # openpyxl raises errors of zipfile, of its XML parser and of its own.
        raise DataError(f"{path}: cannot be read as an Excel workbook; save it as .xlsx or as CSV") from error
    with closing(book):
        title, note = _choose_sheet(book, path, check)
        rows = _iterate_rows(book[title])
        _, header = next((number, cells) for number, cells in rows if any(_has_content(cell) for cell in cells))
        names = name_columns(list(map(_format_cell, header)))
        for number, cells in rows:
            if any(_has_content(cell) for cell in cells):
                yield replace(_build_row(names, cells, number), note=note)
                note = ""


def _check_unpacked_size(path: Path) -> None:
    """Raise `DataError` if a workbook would take too much memory; another file is reported when it is opened."""
    with suppress(BadZipFile), ZipFile(path) as book:
        refuse_large_content(str(path), sum(part.file_size for part in book.infolist()))


def _choose_sheet(book: Any, path: Path, check: ColumnCheck) -> tuple[str, str]:  # noqa: ANN401 - openpyxl is untyped
    """Return the title of the first sheet whose header can be used, and a note on it if there are several sheets."""
    titles = [sheet.title for sheet in book.worksheets]
    first: DataError | None = None
    for sheet in book.worksheets:
        header = next((cells for _, cells in _iterate_rows(sheet) if any(map(_has_content, cells))), ())
        if not header:
            continue
        try:
            check_columns(name_columns(list(map(_format_cell, header))), f"{path}, sheet {sheet.title!r}", check)
        except DataError as error:
            # The frames of a traceback would keep the workbook open.
            first = first or error.with_traceback(None)
            continue
        other_titles = format_names((title for title in titles if title != sheet.title), MAX_SHEETS_SHOWN)
        return sheet.title, f"read the sheet {sheet.title!r}, not {other_titles}" if other_titles else ""
    raise first or DataError(f"{path}: holds no cases; a case is a row with at least a question")


def _iterate_rows(sheet: Any) -> Iterator[tuple[int, Cells]]:  # noqa: ANN401 - openpyxl is untyped
    # Other programs write wrong dimensions, and cells beyond them would be lost.
    sheet.reset_dimensions()
    yield from enumerate(sheet.iter_rows(values_only=True), 1)


def _build_row(names: Sequence[str], cells: Cells, number: int) -> RawRow:
    extra = [cell for cell in cells[len(names) :] if _has_content(cell)]
    if extra:
        message = f"has a cell beyond the last column: {format_printable(_format_cell(extra[0]))}"
        return RawRow(number, faults={"": message}, unit=LIST_UNIT)
    texts = [_format_cell(cell) for cell in cells[: len(names)]]
    # Without dimensions a row ends at its last cell.
    texts += [""] * (len(names) - len(texts))
    values = {name: text if text and text not in ERRORS else None for name, text in zip(names, texts, strict=True)}
    failed = {
        name: f"is {text}, a formula that failed" for name, text in zip(names, texts, strict=True) if text in ERRORS
    }
    return RawRow(number, values, failed, LIST_UNIT)


def _has_content(cell: object) -> bool:
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def _format_cell(cell: object) -> str:
    """Return the content of a cell as text, as an export to CSV would have it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else str(as_text(format_scalar(cell)))
