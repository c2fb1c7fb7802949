"""Rows are grouped by question, in blocks and in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.metrics.columns.chunked_array import NumberColumn
from greval.metrics.columns.grouping import group_columns, group_lists, iterate_blocks, sort_documents


@given(lengths=st.lists(st.integers(0, 9) | st.integers(0, 300), max_size=40), size=st.integers(1, 100))
def test_blocks_hold_every_question_once_and_stay_small(lengths, size):
    """Ranges of questions follow one another, and their tables have at most twice the size asked for."""
    ranges = list(iterate_blocks(np.array(lengths, dtype=np.intp), size))
    assert [n for first, last in ranges for n in range(first, last)] == list(range(len(lengths)))
    assert all(last - first == 1 or (last - first) * max(lengths[first:last]) <= 2 * size for first, last in ranges)


ROWS = st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("abcdé"), st.integers(0, 2)), max_size=25)


@given(rows=ROWS)
def test_rows_of_a_question_keep_their_order(rows):
    """Scattered rows are brought together by question, in the order of first occurrence."""
    questions, documents, _ = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    grouped = group_columns(questions, documents)
    assert list(grouped.names) == list(dict.fromkeys(questions))
    assert list(grouped.ids) == [d for name in grouped.names for q, d, _ in rows if q == name]


@given(rows=ROWS, descending=st.booleans(), ties_by_id=st.booleans())
def test_documents_are_sorted_as_python_sorts(rows, descending, ties_by_id):
    """The sort is stable by number, or breaks ties by falling id as trec_eval does."""
    questions, documents, numbers = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    grouped = group_columns(questions, documents)
    found = sort_documents(
        grouped, NumberColumn([np.array(numbers, dtype=float)]), descending=descending, ties_by_id=ties_by_id
    )
    expected = []
    for name in grouped.names:
        own = [(d, n) for q, d, n in rows if q == name]
        if ties_by_id:
            own.sort(key=lambda pair: pair[0], reverse=True)
        own.sort(key=lambda pair: -pair[1] if descending else pair[1])
        expected += [document for document, _ in own]
    assert list(found.ids) == expected


def test_lists_of_texts_stay_strings():
    """Listed texts are kept as they are; whole numbers are read as texts."""
    assert group_lists({"q": ["a", "b"]}).document_list == ["a", "b"]
    assert group_lists({"q": [7], "r": []}).ids == ["7"]
    with pytest.raises(DataError, match="an id must be a text or a whole number"):
        group_lists({"q": [1.5]})
