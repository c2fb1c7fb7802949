"""The measures of trec_eval are those of trec_eval itself."""

from __future__ import annotations

import math
import random

import pytest

from greval.metrics.columns import Qrels, Rankings, trec_eval
from greval.metrics.columns.trec_measures import format_relevance_strings

OTHERWISE = ("rbp", "unj", "iprec", "11pt")
"""Measures that pytrec-eval-terrier does not compute, or at recall levels that it reads with a rounding error."""


@pytest.mark.parametrize("seed", range(8))
def test_every_measure_equals_the_oracle(seed):
    """Each measure of each question is that of pytrec-eval-terrier, with grades below 0 and unjudged documents."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="the oracle pytrec-eval-terrier is not installed")
    draw = random.Random(seed)
    names = [f"d{n}" for n in range(40)]
    grades = {f"q{n}": {name: draw.randint(-1, 3) for name in names[:20]} for n in range(5)}
    scores = {f"q{n}": {name: draw.random() for name in draw.sample(names, 25)} for n in range(5)}
    expected = pytrec_eval.RelevanceEvaluator(grades, pytrec_eval.supported_measures).evaluate(scores)
    found = trec_eval(Qrels.from_dicts(grades), Rankings.from_dicts(scores, ties="trec_eval")).by_question
    for question, values in found.items():
        shared = {name: values[name] for name in values if not name.startswith(OTHERWISE)}
        assert shared == pytest.approx({name: expected[question][name] for name in shared}, abs=1e-9)


def test_means_sums_and_geometric_means():
    """Counts are summed, gm_map is a geometric mean of values not below 0.00001, others are means."""
    qrels = Qrels.from_dicts({"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}})
    found = trec_eval(qrels, Rankings.from_lists({"p": ["a"], "q": ["b"]}))
    assert set(found.by_question) == {"p", "q"}
    overall = found.overall
    assert (overall["num_q"], overall["num_ret"], overall["num_rel_ret"], overall["map"]) == (2, 2, 1, 0.5)
    assert overall["gm_map"] == pytest.approx(math.sqrt(1e-5))


def test_nothing_ranked():
    """Without a ranking there is no measure, only the number of questions."""
    found = trec_eval(Qrels.from_dicts({"q": {"a": 1}}), Rankings.from_lists({}))
    assert (found.by_question, found.overall) == ({}, {"num_q": 0})


def test_unjudged_and_persistence():
    """Unj is the share of unjudged among the first k; rbp weighs each rank by 0.9 of the one before."""
    qrels = Qrels.from_dicts({"q": {"a": 2, "b": 0}})
    found = trec_eval(qrels, Rankings.from_lists({"q": ["x", "a", "b"]})).by_question["q"]
    assert found["unj_5"] == pytest.approx(1 / 5)
    assert found["rbp"] == pytest.approx(0.1 * 0.9)
    assert found["rbp_resid"] == pytest.approx(0.9**3 + 0.1)


def test_relevance_strings():
    """A digit for a grade, > above 9, - for a document that is not judged, . for a grade below 0."""
    qrels = Qrels.from_dicts({"q": {"a": 2, "b": 11, "c": -1, "d": 0}})
    rankings = Rankings.from_lists({"q": ["x", "a", "b", "c", "d"]})
    assert format_relevance_strings(qrels, rankings) == {"q": "-2>.0"}
    assert format_relevance_strings(qrels, rankings, 2) == {"q": "-2"}
