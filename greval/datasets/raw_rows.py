"""The rows of files of all known formats, before they are read as cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from greval._util.wording import find_typo
from greval.datasets.column_map import ColumnMap
from greval.datasets.excel_sheets import read_excel
from greval.datasets.field_names import format_printable
from greval.datasets.json_files import RawRow, read_json, read_json_lines
from greval.datasets.parquet_tables import read_parquet
from greval.datasets.tables import check_known, read_csv
from greval.datasets.trec import read_trec_rows
from greval.errors import DataError

READERS: Mapping[str, Callable[..., Iterator[RawRow]]] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".csv": partial(read_csv, delimiter=","),
    ".tsv": partial(read_csv, delimiter="\t"),
    ".parquet": read_parquet,
    ".xlsx": read_excel,
    ".trec": read_trec_rows,
    ".run": read_trec_rows,
    ".qrels": read_trec_rows,
}
"""The readers of files by their ending."""
TABLES = frozenset({".csv", ".tsv", ".parquet", ".xlsx"})
"""The endings of files whose rows all have the same columns."""
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
    check_exists(path, READERS)
    if path.suffix.lower() not in READERS:
        near = find_typo(path.suffix, READERS)
        hinted = f"; {SAVE_AS[path.suffix.lower()]}" if path.suffix.lower() in SAVE_AS else ""
        hinted = hinted or (f"; is it {near}?" if near else "")
        raise DataError(f"{path}: its ending {path.suffix!r} is not known{hinted} (known are {', '.join(READERS)})")
    return path


def check_exists(path: Path, endings: Iterable[str]) -> None:
    """Raise `DataError` if there is no file at a path; the message for a folder names the endings of files."""
    try:
        if path.is_dir():
            raise DataError(f"{path}: is a folder; name a file in it, one of {', '.join(endings)}")
        if not path.exists():
            near = find_typo(path.name, (other.name for other in path.parent.glob("*")))
            guess = f"; is it {format_printable(near)}?" if near else ""
            raise DataError(f"{format_printable(str(path), MAX_PATH)}: no such file{guess}")
    except OSError as error:
        raise DataError(f"{format_printable(str(path), 200)}: cannot be read: {error.strerror or error}") from error


def read_raw_rows(path: Path, columns: ColumnMap | None = None, *, needs_question: bool = True) -> Iterator[RawRow]:
    """Read the rows of a file, with the values of columns that are named under the names of their fields.

    A table without a column for the question is an error. If `needs_question` is false, any known column is enough.
    """
    suffix = path.suffix.lower()
    if suffix in TABLES:  # columns are named before cells are parsed, because that depends on the field
        return READERS[suffix](path, check_needed=None if needs_question else check_known, columns=columns)
    return apply_columns(READERS[suffix](path), columns)


def apply_columns(rows: Iterator[RawRow], columns: ColumnMap | None) -> Iterator[RawRow]:
    """Return the rows with the values of columns that are named under the names of their fields."""
    return map(columns.apply, rows) if columns else rows


def find_named_fields(path: Path, columns: Mapping[str, str]) -> dict[str, str]:
    r"""Return the part of a column map whose columns, or whose paths in JSON, begin in a file.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "gold.csv")
        >>> _ = file.write_text("id,titles\nq1,d1", encoding="utf-8")
        >>> find_named_fields(file, {"gold.essential_docs": "titles", "answer": "generated"})
        {'gold.essential_docs': 'titles'}
    """
    named, found = ColumnMap(columns), set[str]()

    def check_any(names: Sequence[str], place: str) -> None:
        check_known([*names, *named.list_fields(names)], place)

    suffix = path.suffix.lower()
    for row in READERS[suffix](path, **({"check_needed": check_any} if suffix in TABLES else {})):
        found.update(named.list_fields(row.values))
        if len(found) == len(columns) or suffix in TABLES:
            break
    return {name: source for name, source in columns.items() if name in found}
