"""Judged documents are read from columns, dictionaries and cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from greval.errors import DataError
from greval.ranking import Qrels, Rankings, measure_rankings
from greval.records.case import Case


def test_essential_documents_of_columns_are_graded_so():
    """Columns know essential documents by their grade alone: a case that says otherwise is refused."""
    gold = {"essential_docs": ["d1"], "grades": {"d1": 1, "d2": 3}}
    with pytest.raises(DataError, match="case 'q': essential_docs must be the documents graded 2 or more"):
        Qrels.from_cases([Case(id="q", question="?", gold=gold)])


def test_whole_numbers_are_ids():
    """7 in one column and "7" in the other are the same id."""
    qrels = Qrels.from_columns(np.array([1, 1]), [7, 8], [1, 0])
    assert measure_rankings(qrels, Rankings.from_columns(["1"], ["7"]), ["recall"])["recall"].mean == 1.0


def test_essential_and_relevant_grades():
    """The lowest relevant and essential grades can be told; gains stay those of the grades."""
    grades = {"q": {"a": 3, "b": 1}}
    rankings = Rankings.from_lists({"q": ["b", "a"]})
    figures = measure_rankings(
        Qrels.from_dicts(grades, essential=2), rankings, ["mrr", "recall@1", "essential_recall@1"]
    )
    assert [figure.mean for figure in figures.values()] == [0.5, 0.5, 0.0]
    figures = measure_rankings(Qrels.from_dicts(grades, relevant=2), rankings, ["recall@1", "ndcg"])
    assert figures["recall@1"].mean == 0.0
    assert figures["ndcg"].mean == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
