"""Rows of rankings and of judgements: a question, a document, and the number that ranks or grades it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from greval.datasets.field_names import fold_name
from greval.datasets.field_values import find_first
from greval.datasets.query_sets import JUDGED_NAMES
from greval.datasets.row_purpose import RowPurpose
from greval.datasets.trec import QRELS_COLUMNS, RUN_COLUMNS

RankOrder = Literal["score", "rank", "file"]
"""What ranks the documents of a question: their scores, their ranks, or their order in the file."""
TieOrder = Literal["given", "trec_eval"]
"""The order of documents with the same score: that of the file, or by falling id."""
QUESTION, DOCUMENT, SCORE, RANK, GRADE = "question", "document", "score", "rank", "grade"
ID_FIELDS, NUMBER_FIELDS = (QUESTION, DOCUMENT), (SCORE, RANK, GRADE)
QUESTION_NAMES = ("question_id", "query_id", "qid", "topic_id", "topic", "question", "query")
DOCUMENT_NAMES = ("doc_id", "document_id", "docid", "docno", "corpus_id", "passage_id", "pid", "document", "doc")
ITEM_IDS = ("id", "_id", "chunk_id")
"""Further names of the id of a document inside the list of a question."""
PAIR = 2


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
        content = next((held for name in JUDGED_NAMES if isinstance(held := content.get(name), dict)), {})
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
    "a question and a document",
    {SCORE: ("score", "similarity", "sim"), RANK: ("rank", "position")},
    RUN_COLUMNS,
)
"""Rows of rankings: the documents that a method retrieved."""
QRELS_ROWS = _build_purpose(
    "a question, a document and a grade",
    {GRADE: ("grade", "relevance", "label", "gain", "rel", "relevance_label", "relevance_grade", "judgement", "score")},
    QRELS_COLUMNS,
)
"""Rows of judgements; in those of BEIR the grade is called score."""
