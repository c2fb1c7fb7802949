"""Ranked and judged documents are joined by their ids, in whatever order and form they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.ranking import Qrels, Rankings, measure_rankings

MANY_ROWS = 4096


def test_long_rankings_with_repeats():
    """Many questions, a very long one, repeated documents: as in plain Python."""
    lists = {f"q{n}": [f"d{n + k * k % 31}" for k in range(40)] for n in range(900)}
    lists["long"] = [f"d{k}" for k in range(3 * MANY_ROWS)]
    gold = {name: {documents[n]: 1 + n % 2 for n in (0, 5, 10)} for name, documents in lists.items()}
    measured = measure_rankings(Qrels.from_dicts(gold), Rankings.from_lists(lists), ["map", "precision"])
    for name, documents in lists.items():
        once = list(dict.fromkeys(documents))
        ranks = sorted(once.index(document) + 1 for document in gold[name])
        value = sum(n / rank for n, rank in enumerate(ranks, 1)) / len(ranks)
        assert measured["map"].by_question()[name] == pytest.approx(value, abs=1e-12)
        assert measured["precision"].by_question()[name] == pytest.approx(len(ranks) / len(once), abs=1e-12)


@given(places=st.lists(st.integers(0, 11), max_size=14))
def test_ids_that_end_alike_are_different(places):
    """Long ids with the same end, judged or not and repeated between one another, are different documents."""
    plain = {f"{n:08}": 1 for n in range(400)}
    alike = [f"{side}/the-same-end-{n}" for n in range(4) for side in "ABC"]
    gold = {"many": plain, "q": {alike[0]: 1, alike[1]: 2, alike[3]: 1}}
    qrels = Qrels.from_dicts(gold, essential=2)
    ranked = [alike[n] for n in places]
    figures = measure_rankings(qrels, Rankings.from_lists({"q": ranked}), ["map", "mrr", "precision"])
    once = list(dict.fromkeys(ranked))
    ranks = sorted(once.index(name) + 1 for name in gold["q"] if name in once)
    assert figures["map"].by_question()["q"] == pytest.approx(sum(n / r for n, r in enumerate(ranks, 1)) / 3)
    assert figures["mrr"].by_question()["q"] == (1 / (once.index(alike[1]) + 1) if alike[1] in once else 0)
    assert figures["precision"].by_question()["q"] == (len(ranks) / len(once) if once else 0)
