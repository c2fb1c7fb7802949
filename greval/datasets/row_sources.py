"""The one opener of rows: files of all known formats, standard input, and tables and records of a program.

Whatever is opened, its cells are read by `greval.datasets.cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, overload

from greval._util.wording import find_typo
from greval.datasets.cells import read_cells
from greval.datasets.field_names import find_known_name, fold_name, format_printable
from greval.datasets.json_files import RawRow, read_json, read_json_lines, read_stdin
from greval.datasets.row_faults import HEADER_CHARACTERS, RowFault
from greval.datasets.row_purpose import (
    CASE_ROWS,
    SPAN_COLUMNS,
    TEXT_NAMES,
    ColumnCheck,
    RowPurpose,
    check_known,
    holds_spans,
)
from greval.errors import DataError
from greval.records.case import Case

if TYPE_CHECKING:
    from greval.datasets.column_map import ColumnMap

STDIN = "-"
JSON_READERS: Mapping[str, Callable[[Path, RowPurpose], Iterator[RawRow]]] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
}
PARQUET, EXCEL, TSV, TREC = ".parquet", ".xlsx", ".tsv", ".trec"
DELIMITERS = {".csv": ",", TSV: "\t"}
TREC_ENDINGS = (TREC, ".run", ".qrels")
TABLES = frozenset({*DELIMITERS, PARQUET, EXCEL})
"""The endings of files whose rows all have the same columns."""
ENDINGS = (*JSON_READERS, *DELIMITERS, PARQUET, EXCEL, *TREC_ENDINGS)
SAVE_AS: Mapping[str, str] = {
    **dict.fromkeys((".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), "save the table as .xlsx or .csv"),
    ".txt": "a TREC run ends in .run, qrels in .qrels, a table in .csv or .tsv: rename it",
    ".gz": "unpack it first",
    ".zip": "unpack it first",
}
"""What to do with files of other endings."""
MAX_PATH = 4096


def check_file(path: Path) -> Path:
    """Return a path; raise `DataError` if there is no file to read, or if its ending is not known."""
    check_exists(path, ENDINGS)
    if path.suffix.lower() not in ENDINGS:
        suggestion = find_typo(path.suffix, ENDINGS)
        hinted = f"; {SAVE_AS[path.suffix.lower()]}" if path.suffix.lower() in SAVE_AS else ""
        hinted = hinted or (f"; is it {suggestion}?" if suggestion else "")
        raise DataError(f"{path}: its ending {path.suffix!r} is not known{hinted} (known are {', '.join(ENDINGS)})")
    return path


def check_exists(path: Path, endings: Iterable[str]) -> None:
    """Raise `DataError` if there is no file at a path; the message for a folder names the endings of files."""
    try:
        if path.is_dir():
            raise DataError(f"{path}: is a folder; name a file in it, one of {', '.join(endings)}")
        if not path.exists():
            suggestion = find_typo(path.name, (sibling.name for sibling in path.parent.glob("*")))
            guess = f"; is it {format_printable(suggestion)}?" if suggestion else ""
            raise DataError(f"{format_printable(str(path), MAX_PATH)}: no such file{guess}")
    except OSError as error:
        # Raised for a path that is too long, or a folder that may not be searched.
        raise DataError(f"{format_printable(str(path), 200)}: cannot be read: {error.strerror or error}") from error


def build_column_map(columns: Mapping[str, str] | None) -> ColumnMap | None:
    """Build the map of the columns that are named, None without any."""
    if not columns:
        return None
    from greval.datasets.column_map import ColumnMap

    return ColumnMap(columns)


@overload
def read_rows(source: Path, purpose: RowPurpose = ..., columns: ColumnMap | None = ...) -> Iterator[RawRow]: ...
@overload
def read_rows(
    source: object, purpose: RowPurpose = ..., columns: ColumnMap | None = ...
) -> Iterator[RawRow | Case | RowFault]: ...
def read_rows(
    source: object, purpose: RowPurpose = CASE_ROWS, columns: ColumnMap | None = None
) -> Iterator[RawRow | Case | RowFault]:
    """Read the rows of a file, of standard input ("-"), or of what a program passes."""
    for row in _open_rows(source, purpose, columns):
        yield finish_row(row, purpose, columns) if isinstance(row, RawRow) else row


def finish_row(row: RawRow, purpose: RowPurpose, columns: ColumnMap | None) -> RawRow:
    """Return a row as `read_rows` does: with its columns named and its cells read."""
    spread = replace(row, values=purpose.spread(row.values)) if purpose.spread else row
    return read_cells(columns.apply(spread) if columns else spread)


def hold_rows(source: object, purpose: RowPurpose) -> Callable[[ColumnMap | None], Iterator[RawRow]]:
    """Return a function that reads the rows of a source for a column map, as often as it is called.

    What can be read once only, such as standard input, is held. Cases and faulty rows of a program are left out.
    """
    if isinstance(source, Path):
        return lambda columns: read_rows(source, purpose, columns)
    rows = [row for row in _open_rows(source, purpose, None) if isinstance(row, RawRow)]
    return lambda columns: (finish_row(row, purpose, columns) for row in rows)


def has_fixed_columns(source: object) -> bool:
    """Return whether all rows of a source have the same columns."""
    from greval.datasets.record_rows import is_table

    return source.suffix.lower() in TABLES if isinstance(source, Path) else is_table(source)


def _open_rows(source: object, purpose: RowPurpose, columns: ColumnMap | None) -> Iterator[RawRow | Case | RowFault]:
    """Open a source; its cells are as written."""
    rows: Iterator[RawRow | Case | RowFault]
    if isinstance(source, Path):
        rows, name = _open_file(source, purpose, columns), str(source)
    elif isinstance(source, str) and source == STDIN:
        rows, name = read_stdin(purpose), "stdin"
    else:
        from greval.datasets.record_rows import read_record_rows

        rows, name = read_record_rows(source, purpose), "rows"
    return _group_rows(rows, purpose, name, columns)


def _group_rows(
    rows: Iterator[RawRow | Case | RowFault], purpose: RowPurpose, name: str, columns: ColumnMap | None
) -> Iterator[RawRow | Case | RowFault]:
    """Yield rows, brought together by trace or by question if the first is a span, or one of a run or of qrels."""
    head = list[RawRow | Case | RowFault]()
    for row in rows:
        head.append(row)
        if not isinstance(row, RawRow) or row.values:
            break
    first = head[-1].values if head and isinstance(head[-1], RawRow) else {}
    rows = chain(head, rows)
    if purpose.may_be_traced and holds_spans(first):
        from greval.datasets.traces import ROW_COLUMNS, group_spans

        # A span may also be a case by itself, if it has the columns that are named.
        if not (columns and columns.list_fields(first.keys() - ROW_COLUMNS)):
            yield from group_spans(rows)
            return
    fields = _find_ranked_columns([*first], purpose) if columns is None else None
    if not fields:
        yield from rows
        return
    from greval.datasets.ranked_rows import group_by_question

    yield from group_by_question(_rename_columns(rows, fields), name)


def _find_ranked_columns(names: Sequence[str], purpose: RowPurpose) -> Mapping[str, str] | None:
    """Return the field of each column if they are those of a run or of qrels, which have no texts; else None."""
    if not names or not purpose.ranked_as or not TEXT_NAMES.isdisjoint(map(fold_name, names)):
        return None
    from greval.datasets.ranked_rows import find_ranked_columns

    return find_ranked_columns(names, purpose)


def _rename_columns(rows: Iterable[RawRow | Case | RowFault], fields: Mapping[str, str]) -> Iterator[RawRow]:
    """Yield rows with their values under the names of their fields; a case among them is left out."""
    for row in rows:
        if isinstance(row, RawRow):
            yield replace(row, values={fields[name]: value for name, value in row.values.items() if name in fields})


def find_format(path: Path, purpose: RowPurpose) -> str:
    """Return the ending whose format a file has; a file for lines of TREC may have any ending that no table has."""
    suffix = path.suffix.lower()
    if suffix in TREC_ENDINGS or (purpose.trec_columns and (suffix not in ENDINGS or _is_trec_table(path, purpose))):
        return TREC
    return suffix


def _is_trec_table(path: Path, purpose: RowPurpose) -> bool:
    """Return whether a file that ends in .tsv has no header that can be used but the columns of TREC."""
    if path.suffix.lower() != TSV:
        return False
    from greval.datasets.tables import find_header
    from greval.datasets.trec import QRELS_COLUMNS, RUN_COLUMNS

    head = read_head(path)
    cells = head.split("\n", 1)[0].split()
    is_trec = len(cells) in {len(QRELS_COLUMNS), len(RUN_COLUMNS)}
    return is_trec and not find_header(head, DELIMITERS[TSV], purpose.check)[1]


def read_head(path: Path) -> str:
    """Return the whole lines at the beginning of a text file; empty if it is not UTF-8."""
    with path.open("rb") as stream:
        head = stream.read(HEADER_CHARACTERS)
    try:
        # The end may be in the middle of a character, and a line that is cut has too few cells.
        return head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""


def _open_file(path: Path, purpose: RowPurpose, columns: ColumnMap | None) -> Iterator[RawRow]:
    suffix = find_format(path, purpose)
    if suffix in JSON_READERS:
        return JSON_READERS[suffix](path, purpose)
    # the reader of each format is imported with the first file of it
    if suffix == TREC:
        from greval.datasets.trec import read_trec_lines

        lines = read_trec_lines(path, purpose.trec_columns)
        if purpose.trec_columns:
            return lines
        from greval.datasets.ranked_rows import group_by_question

        return group_by_question(lines, str(path))
    check = _build_check(purpose, columns)
    if suffix == EXCEL:
        from greval.datasets.excel_sheets import read_excel

        return _drop_failed_formulas(read_excel(path, check), columns)
    if suffix == PARQUET:
        from greval.datasets.parquet_tables import read_parquet

        return read_parquet(path, check, _build_need(columns) if purpose is CASE_ROWS else None)
    from greval.datasets.tables import read_csv

    return read_csv(path, check, DELIMITERS[suffix])


def _build_check(purpose: RowPurpose, columns: ColumnMap | None) -> ColumnCheck:
    """Return the check of a header: the columns that are named must be there, and what the purpose needs."""

    def check_unmapped(names: Sequence[str], location: str) -> None:
        if not (_find_ranked_columns(names, purpose) or _are_of_spans(names, purpose)):
            purpose.check(names, location)

    if columns is None:
        return check_unmapped

    def check_mapped(names: Sequence[str], location: str) -> None:
        if _are_of_spans(names, purpose):
            # The columns that are named may be those of the rows that become of the spans.
            return
        columns.check_names(names, location)
        purpose.check([*names, *columns.list_fields(names)], location)

    return check_mapped


def _are_of_spans(names: Iterable[str], purpose: RowPurpose) -> bool:
    """Return whether the columns of a table are those of spans."""
    return purpose.may_be_traced and holds_spans(dict.fromkeys(names))


def _build_need(columns: ColumnMap | None) -> Callable[[str], bool]:
    """Return whether a column can be of a case or a span, by its name; a list in any other is neither field nor tag."""
    return lambda name: (
        find_known_name(name) is not None
        or fold_name(name).startswith(SPAN_COLUMNS)
        or bool(columns and columns.list_fields([name]))
    )


def _drop_failed_formulas(rows: Iterable[RawRow], columns: ColumnMap | None) -> Iterator[RawRow]:
    """Yield rows of a workbook; a formula that failed is a fault only in the column of a field."""
    for row in rows:
        faults = {
            name: why
            for name, why in row.faults.items()
            if not name or find_known_name(name) or (columns and columns.list_fields([name]))
        }
        yield row if len(faults) == len(row.faults) else replace(row, faults=faults)


def find_named_fields(path: Path, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a column map whose columns, or whose paths in JSON, begin in a file."""
    from greval.datasets.column_map import ColumnMap

    column_map, fields = ColumnMap(columns), set[str]()

    def check_any(names: Sequence[str], location: str) -> None:
        check_known([*names, *column_map.list_fields(names)], location)

    for row in read_rows(path, replace(CASE_ROWS, check=check_any, ranked_as="")):
        fields.update(column_map.list_fields(row.values))
        if len(fields) == len(columns) or has_fixed_columns(path):
            break
    return {name: source for name, source in columns.items() if name in fields}
