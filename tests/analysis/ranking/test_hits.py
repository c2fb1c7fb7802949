"""Ranked and judged documents are joined by their ids, in whatever order and form they come."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from night import at_night

from greval.ranking import Qrels, Rankings, measure_rankings

MANY_ROWS = 4096


def by_hand(rows):
    """Rank rows by score in plain Python: each document once, at its first place."""
    ranked = {}
    for question, document, _ in sorted(rows, key=lambda row: -row[2]):
        ranked.setdefault(question, {}).setdefault(document)
    return {question: list(documents) for question, documents in ranked.items()}


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


def recalls_and_mrr(gold, lists):
    """Compute recall@5 and MRR in plain Python."""
    found = {}
    for name, judged in gold.items():
        ranks = [n for n, document in enumerate(dict.fromkeys(lists.get(name, [])), 1) if document in judged]
        found[name] = (sum(rank <= 5 for rank in ranks) / len(judged), 1 / min(ranks, default=math.inf))
    return found


@pytest.mark.parametrize("form", ["lists", *at_night("scattered", "dicts")])
@pytest.mark.parametrize(
    "ids",
    ["doc{}", *at_night("https://example.org/{}", "文書{}é", "{}")],
)
def test_many_questions_of_uneven_length(form, ids):
    """Uneven rankings and judgements, repeated documents, ties, rows and questions in any order."""
    draw = random.Random(form + ids)
    lists = {f"q{n}": [ids.format(draw.randint(0, 120)) for _ in range(draw.randint(0, 90))] for n in range(1500)}
    lists["q7"] = [ids.format(draw.randint(0, 9000)) for _ in range(7000)]
    gold = {f"q{n}": {ids.format(draw.randint(0, 120)): 1 for _ in range(draw.randint(1, 9))} for n in range(100, 1600)}
    gold["q7"] = {ids.format(n): 1 for n in range(3000)}
    gold = dict(draw.sample([*gold.items()], len(gold)))
    if form == "lists":
        rankings = Rankings.from_lists(lists)
    elif form == "dicts":
        scores = {name: {document: draw.randint(0, 40) for document in found} for name, found in lists.items()}
        lists = {name: sorted(found, key=lambda document: -found[document]) for name, found in scores.items()}
        rankings = Rankings.from_dicts(scores)
    else:
        rows = [(name, document, -n // 2) for name, found in lists.items() for n, document in enumerate(found)]
        rows.sort(key=lambda row: (-row[2], draw.random()))
        lists = by_hand(rows)
        questions, documents, column = zip(*rows, strict=True)
        rankings = Rankings.from_columns(questions, documents, scores=column)
    measured = measure_rankings(Qrels.from_dicts(gold), rankings, ["recall@5", "mrr"])
    recalls, reciprocals = (measured[name].by_question() for name in ("recall@5", "mrr"))
    assert {name: (recalls[name], reciprocals[name]) for name in recalls} == recalls_and_mrr(gold, lists)


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
