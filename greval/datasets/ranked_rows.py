"""Rows of rankings and of judgements: a question, a document, and the number that ranks or grades it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from math import isnan, nan
from typing import Literal

from greval.datasets.field_names import fold_name, format_printable
from greval.datasets.field_values import GRADES, as_text, find_first
from greval.datasets.json_files import RawRow
from greval.datasets.row_purpose import JUDGED_NAMES, TEXT_NAMES, RowPurpose
from greval.datasets.trec import QRELS_COLUMNS, RUN_COLUMNS
from greval.errors import DataError

RankOrder = Literal["score", "rank", "file"]
"""What ranks the documents of a question: their scores, their ranks, or their order in the file."""
TieOrder = Literal["given", "trec_eval"]
"""The order of documents with the same score: that of the file, or by falling id."""
QUESTION, DOCUMENT, SCORE, RANK, GRADE = "question", "document", "score", "rank", "grade"
RUN = "name"
"""The field with the name of a run."""
ID_FIELDS, NUMBER_FIELDS = (QUESTION, DOCUMENT), (SCORE, RANK, GRADE)
QUESTION_NAMES = ("question_id", "query_id", "qid", "topic_id", "topic", "question", "query")
DOCUMENT_NAMES = ("doc_id", "document_id", "docid", "docno", "corpus_id", "passage_id", "pid", "document", "doc")
ITEM_IDS = ("id", "_id", "chunk_id")
"""Further names of the id of a document inside the list of a question."""
PAIR = 2
WHOLE_NUMBERS = frozenset({RANK, GRADE})
METHOD_NAMES = ("method", "system", "run", "run_id", "run_name", "tag", "name")
UNUSED_NAMES = ("q0", "iteration", "iter")


def _expand_questions(content: Mapping[str, object], numbers: Sequence[str]) -> list[object] | None:
    """Return a row for each document of an object with the documents of each question; None if it is no such object.

    pytrec_eval and ranx keep runs and judgements so. The documents of a question are an object with their numbers, or a
    list, best first: of ids, of pairs of an id and a number, or of objects, whose numbers have one of some names. Data
    sets of LlamaIndex have the object under `relevant_docs`. A list of judged documents is one of relevant ones.

    Example:
        >>> _expand_questions({"q1": {"d1": 0.9}, "q2": [["d2", 0.5]]}, ["score"])
        [{'question': 'q1', 'document': 'd1', 'score': 0.9}, {'question': 'q2', 'document': 'd2', 'score': 0.5}]
    """
    if isinstance(content.get("corpus"), dict):
        content = next((judged for name in JUDGED_NAMES if isinstance(judged := content.get(name), dict)), {})
    if not content or not all(map(_is_listed, content.values())):
        return None
    default = {GRADE: 1} if GRADE in numbers else {}
    return [
        {QUESTION: question, DOCUMENT: document, **(fields or default)}
        for question, listed in content.items()
        for document, fields in _iterate_documents(listed, numbers)
    ]


def _is_listed(value: object) -> bool:
    """Return whether a value is the documents of a question."""
    if isinstance(value, dict):
        return all(isinstance(number, int | float) and not isinstance(number, bool) for number in value.values())
    return isinstance(value, list) and all(isinstance(item, str) or _is_document(item) for item in value)


def _is_document(item: object) -> bool:
    if isinstance(item, dict):
        return not {*DOCUMENT_NAMES, *ITEM_IDS}.isdisjoint(item)
    return isinstance(item, list) and len(item) == PAIR and isinstance(item[1], int | float)


def _iterate_documents(listed: object, numbers: Sequence[str]) -> Iterator[tuple[object, dict[str, object]]]:
    """Yield the documents of a question, each with its numbers by their names."""
    if isinstance(listed, dict):
        yield from ((document, {numbers[0]: value}) for document, value in listed.items())
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            fields = {name: value for name, value in item.items() if fold_name(name) in numbers}
            yield find_first(item, (*DOCUMENT_NAMES, *ITEM_IDS)), fields
        else:
            yield (item, {}) if isinstance(item, str) else (item[0], {numbers[0]: item[1]})


def _build_purpose(content: str, numbers: Mapping[str, Sequence[str]], trec_columns: tuple[str, ...]) -> RowPurpose:
    names = [name for listed in numbers.values() for name in listed]
    return RowPurpose(
        "row",
        content,
        QUESTION_NAMES,
        expand=partial(_expand_questions, numbers=names),
        fields={QUESTION: QUESTION_NAMES, DOCUMENT: DOCUMENT_NAMES, **numbers},
        trec_columns=trec_columns,
    )


RUN_ROWS = _build_purpose(
    "a question and a document", {SCORE: ("score", "similarity", "sim"), RANK: ("rank", "position")}, RUN_COLUMNS
)
"""Rows of rankings: the documents that a method retrieved."""
QRELS_ROWS = _build_purpose(
    "a question, a document and a grade",
    {GRADE: (*GRADES, SCORE)},
    QRELS_COLUMNS,
)
"""Rows of judgements; in those of BEIR the grade is called score."""


def find_ranked_columns(names: Sequence[str], purpose: RowPurpose) -> dict[str, str] | None:
    """Return the field of each column of a table of ranked documents, a row for each; None for any other table."""
    if not purpose.ranked_as:
        return None
    # BEIR calls the grade a score, so that its judgements look like a run.
    forms = (QRELS_ROWS, RUN_ROWS) if purpose.ranked_as == "qrels" else (RUN_ROWS, QRELS_ROWS)
    for form in forms:
        fields = {**form.fields, RUN: METHOD_NAMES, "": UNUSED_NAMES}
        by_name = {name: field for field, listed in fields.items() for name in listed if name not in TEXT_NAMES}
        columns = {name: by_name[fold_name(name)] for name in names if fold_name(name) in by_name}
        present_fields = {*columns.values()}
        if (
            len(columns) == len(names)
            and {*ID_FIELDS} < present_fields
            and not present_fields.isdisjoint(NUMBER_FIELDS)
        ):
            return columns
    return None


def group_by_question(rows: Iterable[RawRow], name: str) -> Iterator[RawRow]:
    """Bring rows of documents together: a row of a run is then the ranking of a question, one of qrels its gold.

    The documents of a run are ranked by falling score, or by rank if it has no scores; equal ones keep their order. The
    name of the run is the method, and a question of several runs has a ranking for each. The rows of a question follow
    each other, so that a large run is never held as a whole: `DataError` is raised if they do not. The grades of qrels
    are kept; if no grade of the file is above 1, the documents of grade 1 are essential.
    """
    remaining = iter(rows)
    first = next(remaining, None)
    if first is not None:
        group = _group_judgements if GRADE in first.values else _group_rankings
        yield from group(chain([first], remaining), name)


def _group_rankings(rows: Iterable[RawRow], name: str) -> Iterator[RawRow]:
    ended_rankings: set[tuple[object, str]] = set()
    for _, group in groupby(rows, key=lambda row: row.values.get(QUESTION)):
        by_run: dict[str, list[RawRow]] = {}
        for row in group:
            by_run.setdefault(str(row.values.get(RUN)), []).append(row)
        for name_of_run, ranked in by_run.items():
            (question,) = read_ranked_row(ranked[0], (QUESTION,), name)
            if (question, name_of_run) in ended_rankings:
                raise DataError(
                    f"{name}{ranked[0].unit}{ranked[0].number}: the rows of question {question!r} must follow each "
                    "other, and rows of another question are between them; sort the rows by question"
                )
            ended_rankings.add((question, name_of_run))
            values: dict[str, object] = {"id": question, "question": question, "chunks": _rank_documents(ranked, name)}
            if run := ranked[0].values.get(RUN):
                values["method"] = run
            yield replace(ranked[0], values=values)


def _rank_documents(rows: Sequence[RawRow], name: str) -> list[dict[str, object]]:
    """Return the documents of rows as chunks, best first."""
    number = SCORE if SCORE in rows[0].values else RANK
    cells = [read_ranked_row(row, (DOCUMENT, number), name) for row in rows]
    # The sort is stable: documents with equal numbers keep their order.
    cells.sort(key=lambda pair: -float(pair[1]) if number == SCORE else float(pair[1]))
    return [
        {"id": document, "doc_id": document, **({SCORE: value} if number == SCORE else {})} for document, value in cells
    ]


def _group_judgements(rows: Iterable[RawRow], name: str) -> Iterator[RawRow]:
    """Bring the grades of each question together, whose rows may be anywhere."""
    grades: dict[str, dict[str, int]] = {}
    first_rows: dict[str, RawRow] = {}
    for row in rows:
        question, document, value = read_ranked_row(row, (QUESTION, DOCUMENT, GRADE), name)
        grade = int(value)
        first_rows.setdefault(str(question), row)
        graded = grades.setdefault(str(question), {})
        if graded.setdefault(str(document), grade) != grade:
            raise DataError(
                f"{name}: question {question!r}: document {document!r} is graded {graded[str(document)]} and {grade}; "
                "keep one"
            )
    # With a single grade the gains have no effect.
    is_binary = all(grade <= 1 for graded in grades.values() for grade in graded.values())
    for question, graded in grades.items():
        essential = [document for document, grade in graded.items() if grade == 1]
        gold = {"essential_docs": essential} if is_binary else {"grades": graded}
        yield replace(first_rows[question], values={"id": question, "question": question, "gold": gold})


def read_ranked_row(row: RawRow, fields: Sequence[str], name: str) -> list[str | float]:
    """Return some cells of a row; `name` is that of its file."""
    location = f"{name}{row.unit}{row.number}"
    for column, fault in row.faults.items():
        raise DataError(f"{location}: {f'{column}: ' if column else ''}{fault}; mend the row or remove it")
    return [read_ranked_cell(row.values.get(field), field, location) for field in fields]


def read_ranked_cell(value: object, field: str, location: str) -> str | float:
    """Return an id as text, or a number: scores may have decimals, ranks and grades may not."""
    if field in ID_FIELDS:
        kind, cell = "a text or a whole number", as_text(value)
        if isinstance(cell, str) and cell:
            return cell
    else:
        kind = "a whole number" if field in WHOLE_NUMBERS else "a number"
        number = _parse_number(value)
        if not isnan(number) and (field not in WHOLE_NUMBERS or number.is_integer()):
            return number
    problem = "it is missing" if value is None or value == "" else f"got {format_printable(repr(value))}"
    raise DataError(f"{location}: the {field} must be {kind}, {problem}; mend the row or remove it")


def _parse_number(value: object) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else nan
    except ValueError:
        return nan
