"""Rows are grouped by question, and ranked in their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.analysis.ranking.question_documents import QuestionDocuments
from greval.datasets.row_frames import build_frame
from greval.errors import DataError
from greval.ranking import Rankings

ROWS = st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("abcdé"), st.integers(0, 2)), max_size=25)


def split_columns(rows):
    return [*map(list, zip(*rows, strict=True))] if rows else [[], [], []]


@given(rows=ROWS)
def test_rows_of_a_question_keep_their_order(rows):
    """Scattered rows are brought together by question, in the order of first occurrence."""
    questions, documents, _ = split_columns(rows)
    grouped = QuestionDocuments.from_frame(build_frame({"question": questions, "document": documents}))
    assert grouped.names == tuple(dict.fromkeys(questions))
    assert grouped.rows["document"].to_list() == [d for name in grouped.names for q, d, _ in rows if q == name]
    assert grouped.lengths.tolist() == [questions.count(name) for name in grouped.names]


@given(rows=ROWS, number=st.sampled_from(["scores", "ranks"]), ties=st.sampled_from(["given", "trec_eval"]))
def test_documents_are_sorted_as_python_sorts(rows, number, ties):
    """The sort is stable by number, or breaks ties by falling id as trec_eval does; each document counts once."""
    questions, documents, numbers = split_columns(rows)
    rankings = Rankings.from_columns(questions, documents, **{number: numbers}, ties=ties)
    expected = []
    for name in rankings.questions:
        own = [(d, n) for q, d, n in rows if q == name]
        if ties == "trec_eval":
            own.sort(key=lambda pair: pair[0], reverse=True)
        own.sort(key=lambda pair: -pair[1] if number == "scores" else pair[1])
        expected += dict.fromkeys(document for document, _ in own)
    assert rankings.ranked.rows["document"].to_list() == expected


def test_questions_without_documents_are_there():
    """A question with an empty list is one; whole numbers are read as texts, others are refused."""
    grouped = QuestionDocuments.from_mapping({"q": [7, "a"], "r": [], 3: ["b"]})
    assert (grouped.names, grouped.lengths.tolist()) == (("q", "r", "3"), [2, 0, 1])
    assert grouped.list_by_question([1.0, 2.0, 3.0]) == {"q": {"7": 1.0, "a": 2.0}, "3": {"b": 3.0}}
    with pytest.raises(DataError, match="documents, row 1: the document must be a text or a whole number, got True"):
        QuestionDocuments.from_mapping({"q": [True]})
