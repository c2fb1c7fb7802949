"""Rows of TREC files: a row of a run is the ranking of a question, a row of qrels its graded documents.

    qrels   question  iteration  document  grade
    run     question  Q0  document  rank  score  name

Qrels of BEIR have a header and no iteration. `greval.metrics.columns` reads files of TREC into arrays, which is faster
for many measures of large runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from greval.datasets.field_names import format_printable
from greval.datasets.json_files import RawRow
from greval.errors import DataError

QRELS_COLUMNS, RUN_COLUMNS = 4, 6
BEIR_HEADER = ["query-id", "corpus-id", "score"]
EXPECTED = "a line of a run (question Q0 document rank score name) or of qrels (question iteration document grade)"


class _Line(NamedTuple):
    number: int
    cells: list[str]


def read_trec_rows(path: Path) -> Iterator[RawRow]:
    """Read a TREC run or qrels, by the number of columns.

    The documents of a run are ranked by falling score; equal scores keep their order in the file. The name of the run
    is the method. The grades of qrels are kept; if no grade of the file is above 1, the documents of grade 1 are
    essential.

    Raises:
        DataError: If a line is neither that of a run nor that of qrels, or a grade or a score is not a number.
    """
    try:
        with path.open(encoding="utf-8-sig") as stream:
            lines = (_Line(n, line.split()) for n, line in enumerate(stream, 1) if line.strip() and line[0] != "#")
            first = next(lines, None)
            if first and first.cells == BEIR_HEADER:
                lines = (_insert_iteration(line) for line in lines)
                first = next(lines, None)
            if first is None:
                return
            checked = _chain_checked(first, lines, path)
            yield from _read_run(checked, path) if len(first.cells) >= RUN_COLUMNS else _read_qrels(checked, path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8; save the file as UTF-8") from error


def _insert_iteration(line: _Line) -> _Line:
    """Return a line of BEIR's qrels as one of TREC's."""
    return _Line(line.number, [*line.cells[:1], "0", *line.cells[1:]])


def _chain_checked(first: _Line, others: Iterable[_Line], path: Path) -> Iterator[_Line]:
    """Yield lines whose number of columns is that of the first; a run may have extra columns at the end."""
    is_run = len(first.cells) >= RUN_COLUMNS
    wanted = RUN_COLUMNS if is_run else QRELS_COLUMNS
    for line in chain([first], others):
        if len(line.cells) < wanted or (not is_run and len(line.cells) > wanted):
            shown = format_printable(" ".join(line.cells))
            raise DataError(f"{path}:{line.number}: must be {EXPECTED}, got {shown}")
        yield line


def _read_run(lines: Iterable[_Line], path: Path) -> Iterator[RawRow]:
    """Read the rankings of a run; the lines of a question follow each other."""
    for question, group in groupby(lines, key=lambda line: line.cells[0]):
        listed = [*group]
        scored = sorted(((_parse_number(line, 4, "score", path), line) for line in listed), key=lambda one: -one[0])
        chunks = [{"id": line.cells[2], "doc_id": line.cells[2], "score": score} for score, line in scored]
        values = {"id": question, "question": question, "method": listed[0].cells[5], "chunks": chunks}
        yield RawRow(listed[0].number, values)


def _read_qrels(lines: Iterable[_Line], path: Path) -> Iterator[RawRow]:
    """Read the grades of qrels, in which the lines of a question may be anywhere."""
    grades: dict[str, dict[str, int]] = {}
    first: dict[str, int] = {}
    for line in lines:
        question, _, document, _ = line.cells
        grade = _parse_number(line, 3, "grade", path)
        if not grade.is_integer():
            raise DataError(f"{path}:{line.number}: the grade must be a whole number, got {line.cells[3][:80]!r}")
        first.setdefault(question, line.number)
        grades.setdefault(question, {})[document] = int(grade)
    binary = all(grade <= 1 for graded in grades.values() for grade in graded.values())
    for question, graded in grades.items():
        essential = [document for document, grade in graded.items() if grade == 1]
        gold = {"essential_docs": essential} if binary else {"grades": graded}
        yield RawRow(first[question], {"id": question, "question": question, "gold": gold})


def _parse_number(line: _Line, place: int, what: str, path: Path) -> float:
    try:
        number = float(line.cells[place])
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise DataError(
            f"{path}:{line.number}: the {what} must be a number, got {format_printable(repr(line.cells[place]))}"
        )
    return number
