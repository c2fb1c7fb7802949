"""TREC files: qrels and runs, as arrays for `greval.metrics.columns` or as cases.

    qrels   question  iteration  document  grade
    run     question  Q0  document  rank  score  name

Columns are separated by any white space; a file whose name ends in `.gz` is read as gzip. As in trec_eval 10, extra
columns at the end of a run are ignored, and so are lines of qrels that begin with `#`. Grades below 0 count
as 0, except in those measures of trec_eval that distinguish judged from unjudged documents.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from greval.errors import DataError
from greval.metrics.columns.arrow_trec_reader import TrecColumns, read_regular_file
from greval.metrics.columns.chunked_array import NumberColumn
from greval.metrics.columns.column_readers import build_chunk
from greval.metrics.columns.grouping import GroupedDocuments, group_columns, sort_documents
from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import ColumnRankings, Rankings, TieOrder
from greval.metrics.columns.text_column import TextChunk, TextColumn
from greval.records.case import Case, Chunk, Gold

RankOrder = Literal["score", "rank", "file"]
BATCH_LINES = 65_536
MAX_EXCERPT = 80
_BOM = b"\xef\xbb\xbf"
_QRELS = ("question", "iteration", "document", "grade")
_RUN = ("question", "Q0", "document", "rank", "score", "name")


def read_trec_qrels(path: str | Path, *, relevant: int = 1, essential: int | None = None) -> Qrels:
    """Read a file of judgements.

    Args:
        path: The file.
        relevant: The lowest grade that counts as relevant (`-l` of trec_eval).
        essential: The lowest grade that counts as essential; `relevant` by default.

    Raises:
        DataError: If the file cannot be read, or a line is not a judgement; the message names file and line.
    """
    table = _read_table(Path(path), _QRELS, "grade")
    try:
        return Qrels.from_columns(
            table.questions, table.documents, table.numbers, relevant=relevant, essential=essential
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def read_trec_run(path: str | Path, *, order: RankOrder = "score", ties: TieOrder = "given") -> Rankings:
    """Read a run.

    Args:
        path: The file.
        order: How the documents of a question are ranked: by score, by rank, or by their order in the file.
        ties: The order of documents with the same score: "given" keeps the file's order, "trec_eval" sorts them by
            falling id. trec_eval always ranks by score: `order="score", ties="trec_eval"`.

    Raises:
        DataError: If the file cannot be read, or a line is not a result; the message names file and line.
    """
    table = _read_table(Path(path), _RUN, choose_column(order))
    grouped = group_columns(table.questions, table.documents)
    return Rankings(ColumnRankings(rank_documents(grouped, table.numbers, order, ties)))


def read_trec(
    qrels: str | Path,
    run: str | Path,
    *,
    essential: int = 1,
    order: RankOrder = "score",
    ties: TieOrder = "given",
    questions: Mapping[str, str] | None = None,
) -> Iterator[Case]:
    """Read judgements and a run as cases: judged documents become gold, retrieved ones become chunks without text.

    Questions of the qrels without a ranking have no chunks; questions that are only in the run have no gold.

    Args:
        qrels: The file of judgements.
        run: The run; its name becomes the method.
        essential: The lowest grade of an essential document; documents with lower grades from 1 on are helpful. Grades
            that differ are kept as the gains of the documents.
        order: As in `read_run`.
        ties: As in `read_run`.
        questions: The text of each question by its id; a question without a text has its id as text.

    Raises:
        DataError: If a file cannot be read; the message names file and line.
    """
    judged, table = read_trec_qrels(qrels, essential=essential), _read_table(Path(run), _RUN, choose_column(order))
    ranked = rank_documents(group_columns(table.questions, table.documents), table.numbers, order, ties)
    for name in dict.fromkeys((*judged.questions, *ranked.names)):
        yield Case(
            id=name,
            question=(questions or {}).get(name, name),
            gold=_build_gold(judged, name),
            chunks=_build_chunks(ranked, table.numbers if order == "score" else None, name),
            method=table.name,
        )


def choose_column(order: RankOrder) -> Literal["score", "rank"]:
    """Return the column by which documents are ranked; files are read by score even if their own order counts."""
    return "rank" if order == "rank" else "score"


def rank_documents(
    grouped: GroupedDocuments, numbers: NumberColumn, order: RankOrder, ties: TieOrder
) -> GroupedDocuments:
    """Rank the documents of each question by their scores or ranks, or leave them in the order of the file."""
    if order == "file":
        return grouped
    return sort_documents(grouped, numbers, descending=order == "score", ties_by_id=ties == "trec_eval")


def _build_gold(judged: Qrels, name: str) -> Gold | None:
    at = judged.grouped.places.get(name)
    if at is None:
        return None
    span = slice(int(judged.grouped.starts[at]), int(judged.grouped.starts[at + 1]))
    graded = list(zip(judged.documents[span], judged.grades[span].tolist(), strict=True))
    listed = Gold(
        essential_docs=tuple(document for document, grade in graded if grade >= judged.essential),
        helpful_docs=tuple(document for document, grade in graded if judged.relevant <= grade < judged.essential),
    )
    grades = {document: grade for document, grade in graded if grade > 0}
    enough = len({*grades.values()}) <= 1 or grades == listed.gains  # with a single grade the gain does not matter
    return listed if enough else listed.model_copy(update={"grades": grades})


def _build_chunks(ranked: GroupedDocuments, scores: NumberColumn | None, name: str) -> tuple[Chunk, ...]:
    at = ranked.places.get(name)
    if at is None:
        return ()
    rows = ranked.select_row_numbers(np.arange(ranked.starts[at], ranked.starts[at + 1]))
    values: Sequence[float | None] = [None] * len(rows) if scores is None else scores.read(rows).tolist()
    documents = ranked.documents.read(rows)
    return tuple(
        Chunk(id=document, doc_id=document, score=score) for document, score in zip(documents, values, strict=True)
    )


def _read_table(path: Path, columns: Sequence[str], number: str) -> TrecColumns:
    """Read the columns that are used: by Arrow if the file is regular, and else line by line."""
    try:
        found = read_regular_file(path, columns, number, comments=columns is _QRELS)
        return found or _read_lines(path, columns, number)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _read_lines(path: Path, columns: Sequence[str], number: str) -> TrecColumns:
    """Read the columns that are used, a batch of lines at a time."""
    questions: list[TextChunk] = []
    documents: list[TextChunk] = []
    numbers: list[npt.NDArray[np.float64]] = []
    name = ""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        for lines in _iterate_batches(stream, skip_comments=columns is _QRELS):
            rows = _split_rows(lines, columns, path)
            name = name or rows[0][len(columns) - 1].decode()
            questions.append(build_chunk([row[0] for row in rows]))
            documents.append(build_chunk([row[2] for row in rows]))
            at = columns.index(number)
            numbers.append(_parse_numbers([row[at] for row in rows], (path, number), lines))
    return TrecColumns(TextColumn(questions), TextColumn(documents), NumberColumn(numbers), name)


def _iterate_batches(stream: Iterable[bytes], *, skip_comments: bool) -> Iterator[list[tuple[int, bytes]]]:
    """Yield batches of numbered lines that are not blank; `skip_comments` drops lines that begin with #."""
    lines = ((n, line.removeprefix(_BOM) if n == 1 else line) for n, line in enumerate(stream, 1))
    filled = (pair for pair in lines if (text := pair[1].strip()) and not (skip_comments and text.startswith(b"#")))
    while batch := list(islice(filled, BATCH_LINES)):
        yield batch


def _split_rows(lines: list[tuple[int, bytes]], columns: Sequence[str], path: Path) -> list[list[bytes]]:
    """Split lines into their columns."""
    rows = [line.split() for _, line in lines]
    for (number, line), row in zip(lines, rows, strict=True):
        if len(row) != len(columns) and not (columns is _RUN and len(row) > len(columns)):
            wanted = f"{len(columns)} columns ({' '.join(columns)})"
            raise DataError(f"{path}:{number}: must have {wanted}, got {len(row)}: {_format_excerpt(line)}")
    try:
        b" ".join(line for _, line in lines).decode()
    except UnicodeDecodeError as error:
        number = next(number for number, line in lines if not _is_utf8(line))
        raise DataError(f"{path}:{number}: is not UTF-8; save the file as UTF-8") from error
    return rows


def _parse_numbers(
    cells: list[bytes], column: tuple[Path, str], lines: list[tuple[int, bytes]]
) -> npt.NDArray[np.float64]:
    """Parse a column of numbers."""
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError:
        values = np.array([np.nan if _is_not_number(cell) else 0.0 for cell in cells])
    path, name = column
    wrong = np.isnan(values) if name == "score" else values != np.floor(values)
    if wrong.any():
        at = int(np.argmax(wrong))
        kind = "a number" if name == "score" else "a whole number"
        raise DataError(f"{path}:{lines[at][0]}: the {name} must be {kind}, got {_format_excerpt(cells[at])}")
    return values


def _is_not_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _format_excerpt(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= MAX_EXCERPT else f"{text[:MAX_EXCERPT]} ...")
