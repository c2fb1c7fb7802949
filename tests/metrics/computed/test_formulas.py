"""Formulas of ranked retrieval obey their laws and agree with plain definitions."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.computed import formulas

GAINS = st.lists(st.integers(0, 3), min_size=1, max_size=5)
HITS = st.lists(st.booleans(), max_size=8)
CUTS = st.none() | st.integers(1, 9)


@given(gains=GAINS.filter(any), k=CUTS, exponential=st.booleans())
def test_no_order_beats_the_ideal_one(gains, k, exponential):
    """NDCG is the DCG over the highest DCG of any order of the same documents."""

    def dcg(order):
        return sum((2**g - 1 if exponential else g) / math.log2(n + 1) for n, g in enumerate(order[:k], 1))

    best = max(map(dcg, permutations(gains)))
    assert formulas.ndcg(gains, gains, k, exponential=exponential) == pytest.approx(dcg(gains) / best)


@given(hits=HITS, more=st.integers(0, 3), k=CUTS)
def test_shares_count_the_first_ranks(hits, more, k):
    """Recall and precision count the same hits, over the relevant documents and over the ranks."""
    relevant_count = sum(hits) + more
    found = sum(hits[:k])
    assert formulas.precision(hits, k) == (found / (k or len(hits)) if k or hits else 0)
    if relevant_count:
        assert formulas.recall(hits, relevant_count, k) == found / relevant_count
        ranks = [n for n, hit in enumerate(hits[:k], 1) if hit]
        expected = sum(formulas.precision(hits, rank) for rank in ranks) / relevant_count
        assert formulas.average_precision(hits, relevant_count, k) == pytest.approx(expected)
    first = next((n for n, hit in enumerate(hits, 1) if hit), math.inf)
    assert formulas.reciprocal_rank(hits, k) == (1 / first if first <= (k or math.inf) else 0)


@given(one=st.text("abc", max_size=7), other=st.text("abc", max_size=7))
def test_longest_common_subsequence(one, other):
    """The length is that of the longest subsequence of one text that is one of the other too."""

    def subsequences(text):
        return {"".join(some) for size in range(len(text) + 1) for some in combinations(text, size)}

    assert formulas.lcs_length(one, other) == max(map(len, subsequences(one) & subsequences(other)))
