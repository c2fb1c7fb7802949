"""Files of rankings and of judgements in any format, as arrays.

The ending decides on the format: tables and JSON have named columns, and any other file is one of TREC. Regular files
are read by Arrow. What it refuses is read row by row, with the same result, which finds the row that is at fault.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan, nan
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from greval._util.wording import find_typo
from greval.datasets.field_names import fold_name, format_printable
from greval.datasets.field_values import as_text, find_first
from greval.datasets.json_files import InvalidJsonError, RawRow, parse_json
from greval.datasets.labelled_rows import find_columns, open_labelled_rows
from greval.datasets.row_sources import check_exists
from greval.datasets.tables import HEADER_CHARACTERS, find_header
from greval.errors import DataError
from greval.metrics.columns.arrow_table_reader import (
    RankedRows,
    TableShape,
    read_regular_csv,
    read_regular_json_lines,
    read_regular_parquet,
)
from greval.metrics.columns.chunked_array import NumberColumn
from greval.metrics.columns.column_readers import ColumnNames
from greval.metrics.columns.grouping import group_columns
from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import ColumnRankings, Rankings, TieOrder
from greval.metrics.columns.trec_files import RankOrder, rank_documents, read_trec_qrels, read_trec_run

QUESTION_NAMES = ("question_id", "query_id", "qid", "topic_id", "topic", "question", "query")
DOCUMENT_NAMES = ("doc_id", "document_id", "docid", "docno", "corpus_id", "passage_id", "pid", "document", "doc")
RUN_FIELDS: Mapping[str, Sequence[str]] = {
    "question": QUESTION_NAMES,
    "document": DOCUMENT_NAMES,
    "score": ("score", "similarity", "sim"),
    "rank": ("rank", "position"),
}
"""The names of the columns of rankings, the most specific first."""
QRELS_FIELDS: Mapping[str, Sequence[str]] = {
    "question": QUESTION_NAMES,
    "document": DOCUMENT_NAMES,
    "grade": ("grade", "relevance", "label", "gain", "rel", "relevance_label", "relevance_grade", "judgement", "score"),
}
"""The names of the columns of judgements; in those of BEIR the grade is called score."""
NUMBERS: Mapping[RankOrder | None, tuple[str, ...]] = {
    None: ("score", "rank"),
    "score": ("score",),
    "rank": ("rank",),
    "file": (),
}
"""The fields by which documents are ranked, by the order that is asked for."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}
ITEM_IDS = ("id", "_id", "chunk_id")
"""Further names of the id of a document inside the list of a question."""
PAIR = 2
JSON_LINES = frozenset({".jsonl", ".ndjson"})
TABLES = (*DELIMITERS, *sorted(JSON_LINES), ".json", ".parquet", ".xlsx")
TREC_ENDINGS = (".run", ".qrels", ".trec", ".txt")
TREC_COLUMNS = frozenset({4, 6})
"""The numbers of columns of qrels and of runs of TREC, which may end in .tsv too."""
PACKED = ".gz"
MAX_NAMES_SHOWN = 200
READ_ERRORS = (OSError, EOFError, zlib.error)


class _Wanted(NamedTuple):
    """What is read from a file: the names that fields may have, the columns that are named, and the fields of numbers.

    The first of `numbers` that the file has is read; with `is_required` it must have one.
    """

    fields: Mapping[str, Sequence[str]]
    named: Mapping[str, str]
    numbers: tuple[str, ...]
    is_required: bool

    @property
    def description(self) -> str:
        """The content of a row, for messages."""
        return "a question, a document and a grade" if "grade" in self.fields else "a question and a document"

    def find_columns(self, names: Sequence[str], place: str) -> dict[str, str]:
        """Find the columns of the fields; raise `DataError` if one that is needed is not there."""
        found = {**find_columns(self.fields, self.named, names, place), **self.named}
        for field in ("question", "document", *(self.numbers if self.is_required else ())):
            if field not in found:
                others = [name for name in names if name not in found.values()]
                raise _build_missing_error(field, self.fields[field], others, place)
        return found

    def check_names(self, names: Sequence[str], place: str) -> None:
        """Raise `DataError` if a table lacks a column that is needed."""
        self.find_columns(names, place)

    def choose_number(self, found: Mapping[str, str]) -> str | None:
        """Return the field of the number that counts, None if the file has none."""
        return next((field for field in self.numbers if field in found), None)


def read_qrels(
    path: str | Path, *, columns: Mapping[str, str] | None = None, relevant: int = 1, essential: int | None = None
) -> Qrels:
    r"""Read a file of judgements: of TREC, or a table or JSON lines with columns for question, document and grade.

    Args:
        path: The file; its ending decides on the format, `.gz` after it means that it is packed.
        columns: The columns of `question`, `document` and `grade`, if they are called otherwise.
        relevant: The lowest grade that counts as relevant (`-l` of trec_eval).
        essential: The lowest grade that counts as essential; `relevant` by default.

    Raises:
        DataError: If the file cannot be read or is empty, or a row is not a judgement; the message names file and line.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "qrels.csv")
        >>> _ = file.write_text("qid,docid,relevance\nq1,d1,2\nq1,d7,0\n")
        >>> read_qrels(file).grades.tolist()
        [2, 0]
    """
    file = Path(path)
    wanted = _Wanted(QRELS_FIELDS, _check_fields(columns or {}, QRELS_FIELDS), ("grade",), is_required=True)
    rows, _ = _read_table(file, wanted)
    try:
        found = (
            read_trec_qrels(file, relevant=relevant, essential=essential)
            if rows is None
            else Qrels.from_grouped(rows.grouped, _get_numbers(rows), relevant=relevant, essential=essential)
        )
    except DataError as error:
        raise DataError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from error
    if not len(found):
        raise DataError(f"{path}: holds no judgement; a row has a question, a document and a grade")
    return found


def read_rankings(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    order: RankOrder | None = None,
    ties: TieOrder = "given",
) -> Rankings:
    r"""Read a run: of TREC, or a table or JSON lines with columns for question, document, and score or rank.

    Args:
        path: The file; its ending decides on the format, `.gz` after it means that it is packed.
        columns: The columns of `question`, `document`, `score` and `rank`, if they are called otherwise.
        order: How the documents of a question are ranked: by score, by rank, or by their order in the file. By default
            by score if the file has scores, else by rank, else by order.
        ties: The order of documents with the same score: "given" keeps the file's order, "trec_eval" sorts them by
            falling id.

    Raises:
        DataError: If the file cannot be read or is empty, or a row is not a result; the message names file and line.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "bm25.csv")
        >>> _ = file.write_text("query_id,doc_id,score\nq1,d1,0.5\nq1,d7,0.75\n")
        >>> read_rankings(file).questions
        ('q1',)
    """
    file = Path(path)
    wanted = _Wanted(
        RUN_FIELDS, _check_fields(columns or {}, RUN_FIELDS), NUMBERS[order], is_required=order is not None
    )
    rows, number = _read_table(file, wanted)
    if rows is None:
        found = read_trec_run(file, order=order or "score", ties=ties)
    elif rows.numbers is None:
        found = Rankings(ColumnRankings(rows.grouped))
    else:
        by: RankOrder = "rank" if number == "rank" else "score"
        found = Rankings(ColumnRankings(rank_documents(rows.grouped, rows.numbers, by, ties)))
    if not found.questions:
        raise DataError(f"{path}: holds no ranking; a row has a question, a document, and a score or a rank")
    return found


def _check_fields(columns: Mapping[str, str], fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the columns that are named and are of such a file; raise `DataError` for a field of no such file."""
    known = {*RUN_FIELDS, *QRELS_FIELDS}
    for name, source in columns.items():
        if name not in known:
            raise DataError(f"column {name}={source}: {name!r} is none of the fields {', '.join(sorted(known))}")
    return {name: source for name, source in columns.items() if name in fields}


def _read_table(path: Path, wanted: _Wanted) -> tuple[RankedRows | None, str | None]:
    """Read a file with named columns, and return it with the field of its number; no rows if it is one of TREC."""
    check_exists(path, (*TREC_ENDINGS, *TABLES))
    suffix = _find_ending(path)
    if suffix not in TABLES or (suffix == ".tsv" and _is_trec(path, wanted)):
        return None, None
    try:
        found, number = _read_by_arrow(path, suffix, wanted)
        if found is None and (suffix == ".json" or suffix in JSON_LINES):
            found, number = _read_nested(path, suffix, wanted)
        if found is None:
            with _unpack_file(path) as file:
                found, number = _read_row_by_row(file, str(path), wanted)
    except READ_ERRORS as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    return found, number


def _find_ending(path: Path) -> str:
    unpacked = path.with_suffix("") if path.suffix.lower() == PACKED else path
    return unpacked.suffix.lower()


def _open_file(path: Path) -> BinaryIO:
    return gzip.open(path) if path.suffix.lower() == PACKED else path.open("rb")  # type: ignore[return-value]


@contextmanager
def _unpack_file(path: Path) -> Iterator[Path]:
    """Provide the unpacked file, whose name does not appear in the messages of errors."""
    if path.suffix.lower() != PACKED:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder) / path.stem
        with gzip.open(path) as packed, unpacked.open("wb") as stream:
            shutil.copyfileobj(packed, stream)
        try:
            yield unpacked
        except DataError as error:
            raise DataError(str(error).replace(str(unpacked), str(path))) from error


def _read_head(path: Path) -> str:
    """Return the beginning of a text file; empty if it is not UTF-8."""
    with _open_file(path) as stream:
        head = stream.read(HEADER_CHARACTERS)
    try:
        return head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""


def _is_trec(path: Path, wanted: _Wanted) -> bool:
    """Return whether a file that ends in .tsv has no header but the columns of TREC."""
    head = _read_head(path)
    first = head.split("\n", 1)[0].split()
    return len(first) in TREC_COLUMNS and not find_header(head, DELIMITERS[".tsv"], wanted.check_names)[1]


def _read_by_arrow(path: Path, suffix: str, wanted: _Wanted) -> tuple[RankedRows | None, str | None]:
    """Read a regular file, and return it with the field of its number; no rows if it is not regular."""
    if suffix == ".parquet":
        names = _list_parquet_columns(path)
    elif suffix in DELIMITERS:
        delimiter, names = find_header(_read_head(path), DELIMITERS[suffix], wanted.check_names)
    elif suffix in JSON_LINES:
        with _open_file(path) as stream:
            first = stream.readline(HEADER_CHARACTERS)
        names = _list_line_names(first)
    else:
        return None, None
    columns, number = _choose_columns(names, str(path), wanted)
    if columns is None:
        return None, None
    if suffix == ".parquet":
        found = read_regular_parquet(path, columns)
    elif suffix in DELIMITERS:
        found = read_regular_csv(path, columns, TableShape(delimiter, names))
    else:
        found = read_regular_json_lines(path, columns, first)
    whole = number == "score" or found is None or _are_whole(found)
    return (found, number) if whole else (None, None)


def _read_nested(path: Path, suffix: str, wanted: _Wanted) -> tuple[RankedRows | None, str | None]:
    """Read an object with the documents of each question, as pytrec_eval and ranx keep runs and judgements.

    The documents of a question are an object with their numbers, or a list, best first: of ids, of pairs of an id and a
    number, or of objects. No rows if the file holds anything else.
    """
    if (whole := _read_questions(path, suffix)) is None:
        return None, None
    number = wanted.numbers[0] if wanted.numbers else None
    others = wanted.fields[number] if number else ()
    listed = [(question, *pair) for question, given in whole.items() for pair in _list_documents(given, others)]
    if number == "grade":  # a list of judged documents is one of relevant ones
        listed = [(question, document, 1 if value is None else value) for question, document, value in listed]
    elif not wanted.is_required and any(value is None for _, _, value in listed):
        number = None  # lists of ids are in their order
    names = ("question", "document", number or "")
    rows = (RawRow(n, dict(zip(names, row, strict=True)), unit=", entry ") for n, row in enumerate(listed, 1))
    return _group_rows(rows, str(path), number)


def _read_questions(path: Path, suffix: str) -> dict[str, object] | None:
    """Return the documents by question of a JSON file; None if it holds anything else."""
    whole: dict[str, object] = {}
    with _open_file(path) as stream:
        for text in stream if suffix in JSON_LINES else [stream.read()]:
            try:
                content, _ = parse_json(text.decode("utf-8-sig")) if text.strip() else ({}, False)
            except (UnicodeDecodeError, InvalidJsonError):
                return None
            if isinstance(content, dict) and isinstance(content.get("corpus"), dict):
                content = content.get("relevant_docs", content.get("qrels"))  # a data set of LlamaIndex
            if not isinstance(content, dict) or not all(map(_is_listed, content.values())):
                return None
            whole |= content
    return whole or None


def _is_listed(given: object) -> bool:
    """Return whether a value is the documents of a question."""
    if isinstance(given, dict):
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in given.values())
    return isinstance(given, list) and all(isinstance(one, str) or _is_document(one) for one in given)


def _is_document(given: object) -> bool:
    if isinstance(given, dict):
        return not {*DOCUMENT_NAMES, *ITEM_IDS}.isdisjoint(given)
    return isinstance(given, list) and len(given) == PAIR and isinstance(given[1], int | float)


def _list_documents(given: object, numbers: Sequence[str]) -> Iterator[tuple[object, object]]:
    """Yield the documents of a question, each with its number, None if it has none."""
    if isinstance(given, dict):
        yield from given.items()
    for one in given if isinstance(given, list) else ():
        if isinstance(one, dict):
            yield find_first(one, (*DOCUMENT_NAMES, *ITEM_IDS)), find_first(one, numbers)
        else:
            yield (one, None) if isinstance(one, str) else (one[0], one[1])


def _are_whole(rows: RankedRows) -> bool:
    """Return whether ranks or grades are whole numbers."""
    return rows.numbers is None or all((part == np.floor(part)).all() for part in rows.numbers.parts)


def _choose_columns(names: Sequence[str], path: str, wanted: _Wanted) -> tuple[ColumnNames | None, str | None]:
    """Choose the columns of a file by their names; None if one is missing, or named by a path."""
    try:
        found = wanted.find_columns(names, path)
    except DataError:
        return None, None
    number = wanted.choose_number(found)
    fields = ["question", "document", *([number] if number else [])]
    there = {fold_name(name): name for name in reversed(names)}
    sources = [there.get(fold_name(found[field])) for field in fields]
    if None in sources or len({*sources}) < len(sources):
        return None, None
    question, document, *rest = (source for source in sources if source is not None)
    return ColumnNames(question, document, rest[0] if rest else None), number


def _list_parquet_columns(path: Path) -> list[str]:
    """List the columns of a Parquet file; none if it cannot be read, which the careful reader reports."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return []
    try:
        return [*parquet.read_schema(path).names]
    except (pa.ArrowException, OSError):
        return []


def _list_line_names(line: bytes) -> list[str]:
    """List the names of the object that a line of JSON holds; none if it holds no object."""
    try:
        content, _ = parse_json(line.decode())
    except (UnicodeDecodeError, InvalidJsonError):
        return []
    return [*content] if isinstance(content, dict) else []


def _build_missing_error(field: str, known: Sequence[str], names: Sequence[str], place: str) -> DataError:
    """Build the error for a file without the column of a field."""
    near = next((name for name in names if find_typo(name, known)), None)
    hint = f"; is it {format_printable(near)!r}?" if near else f"; it may be called {', '.join(known)}"
    found = format_printable(", ".join(names), MAX_NAMES_SHOWN)
    return DataError(
        f"{place}: no column for the {field}{hint} (other columns: {found}); name it with --column {field}=NAME, "
        f"or columns={{{field!r}: NAME}} in Python"
    )


def _get_numbers(rows: RankedRows) -> NumberColumn:
    """Return the numbers of rows; an empty column if the file has no row."""
    return NumberColumn([]) if rows.numbers is None else rows.numbers


def _read_row_by_row(path: Path, place: str, wanted: _Wanted) -> tuple[RankedRows, str | None]:
    """Read a file row by row, and return it with the field of its number.

    Raises:
        DataError: For the first row that lacks an id or a number, or that cannot be read.
    """
    opened = open_labelled_rows(path, wanted.fields, wanted.named, content=wanted.description, check=wanted.check_names)
    return _group_rows(opened.rows, place, wanted.choose_number(opened.columns))


def _group_rows(rows: Iterable[RawRow], place: str, number: str | None) -> tuple[RankedRows, str | None]:
    """Group rows by their questions, and return them with the field of their number."""
    questions, documents, numbers = list[str](), list[str](), list[float]()
    for row in rows:
        where = f"{place}{row.unit}{row.number}"
        for name, why in row.faults.items():
            raise DataError(f"{where}: {f'{name}: ' if name else ''}{why}; mend the row or remove it")
        questions.append(_read_id(row, "question", where))
        documents.append(_read_id(row, "document", where))
        if number:
            numbers.append(_read_number(row, number, where))
    grouped = group_columns(questions, documents)
    return RankedRows(grouped, NumberColumn([np.array(numbers)]) if number else None), number


def _read_id(row: RawRow, field: str, where: str) -> str:
    value = as_text(row.values.get(field))
    if isinstance(value, str) and value:
        return value
    found = "it is missing" if value is None or value == "" else f"got {format_printable(repr(value))}"
    raise DataError(f"{where}: the {field} must be a text or a whole number, {found}; mend the row or remove it")


def _read_number(row: RawRow, field: str, where: str) -> float:
    """Return the number of a row: scores may have decimals, ranks and grades may not."""
    value = row.values.get(field)
    try:
        number = float(value) if isinstance(value, str | int | float) else nan
    except ValueError:
        number = nan
    is_whole = field != "score"
    if isnan(number) or (is_whole and not number.is_integer()):
        kind = "a whole number" if is_whole else "a number"
        found = "it is missing" if value is None else f"got {format_printable(repr(value))}"
        raise DataError(f"{where}: the {field} must be {kind}, {found}; mend the row or remove it")
    return number
