"""Cheap numbers of an item: each on a case whose number can be counted."""

from __future__ import annotations

import pytest

from greval import Case
from greval.judging.model.item_features import FEATURES

ANSWER = Case(question="Who built it?", expected_answer="Bo Smith\nMs Smith of Bo", answer="Smith of Ada")
PASSAGES = Case(
    question="Who built the harbour of Ada?",
    chunks=["Ada, a town, was planned by Bo.", "Bo was an engineer.", "Tea is a drink."],
)
TRIPLE = Case(question="Who built the harbour?", triples=[["Bo", "built", "harbour"]])


@pytest.mark.parametrize(
    ("name", "case", "expected"),
    [
        ("expected words in answer", ANSWER, [1 / 2]),
        # each of the three content words is in no text or in one, so that all weigh the same
        ("rare question words", PASSAGES, [1 / 3, 0.0, 0.0]),
        ("rare question words above mean", PASSAGES, [2 / 9, -1 / 9, -1 / 9]),
        # the first is named by the question, and has one of two words of the opening of the second
        ("named by question", PASSAGES, [1.0, 1 / 2, 0.0]),
        ("triple words in question", TRIPLE, [2 / 3]),
    ],
)
def test_a_number_is_that_of_the_item(name, case, expected):
    """Each number can be counted by hand; a metric over items has one for each."""
    items = case.chunks if case is PASSAGES else case.triples or (None,)
    assert [FEATURES[name](case, item) for item in items] == pytest.approx(expected)


@pytest.mark.parametrize("name", FEATURES)
def test_a_number_of_texts_without_words_is_defined(name):
    """Empty texts and missing fields give a number as well, because a verdict must not fail by them."""
    case = Case(question="?", expected_answer="!", answer="", chunks=["", "..."], triples=[["", "", ""]])
    assert all(-1 <= FEATURES[name](case, item) <= 1 for item in (None, *case.chunks, *case.triples))
