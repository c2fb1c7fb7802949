"""The measures of trec_eval: those of pytrec-eval-terrier, and those that trec_eval 10 has beside them."""

from __future__ import annotations

import math
import random

import pytest
import pytrec_eval

from greval.analysis.ranking.trec_measures import ADDED_MEASURES, list_trec_measures
from greval.errors import DefinitionError
from greval.ranking import Qrels, Rankings, trec_eval


@pytest.mark.parametrize("seed", range(8))
def test_every_measure_equals_the_package(seed):
    """Questions, order and grades reach the package as they are, with grades below 0 and unjudged documents."""
    draw = random.Random(seed)
    names = [f"d{n}" for n in range(40)]
    grades = {f"q{n}": {name: draw.randint(-1, 3) for name in names[:20]} for n in range(5)}
    scores = {f"q{n}": {name: draw.randint(0, 9) / 4 for name in draw.sample(names, 25)} for n in range(5)}
    scores["unjudged"] = {"d1": 1.0}
    expected = pytrec_eval.RelevanceEvaluator(grades, pytrec_eval.supported_measures).evaluate(scores)
    measured = trec_eval(Qrels.from_dicts(grades), Rankings.from_dicts(scores, ties="trec_eval")).by_question
    assert [*measured] == [*grades]
    for question, values in measured.items():
        shared = {name: value for name, value in values.items() if name not in ADDED_MEASURES}
        assert shared == pytest.approx({name: expected[question][name] for name in shared}, abs=1e-9)


def test_scores_that_differ_in_double_precision_are_not_tied():
    """The package reads scores in single precision, in which these two would be equal."""
    rankings = Rankings.from_dicts({"q": {"a": 1.0 + 1e-12, "b": 1.0}}, ties="trec_eval")
    assert trec_eval(Qrels.from_dicts({"q": {"a": 1}}), rankings).overall["recip_rank"] == 1.0


def test_only_what_is_named_is_computed():
    """A name stands for one measure or for all of its cut-offs, of the package or added."""
    qrels, rankings = Qrels.from_dicts({"q": {"a": 1}}), Rankings.from_lists({"q": ["a"]})
    assert trec_eval(qrels, rankings, ["success", "rbp", "P.5"]).by_question["q"] == pytest.approx(
        {"success_1": 1.0, "success_5": 1.0, "success_10": 1.0, "rbp": 0.1, "P_5": 0.2}
    )
    assert trec_eval(qrels, rankings, ["unj_5"]).overall == {"unj_5": 0.0}
    assert {*trec_eval(qrels, rankings).overall} == {*list_trec_measures()}


def test_means_sums_and_geometric_means():
    """Counts are summed, gm_map is a geometric mean of values not below 0.00001, others are means."""
    qrels = Qrels.from_dicts({"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}})
    measured = trec_eval(qrels, Rankings.from_lists({"p": ["a"], "q": ["b"]}))
    assert set(measured.by_question) == {"p", "q"}
    overall = measured.overall
    assert (overall["num_q"], overall["num_ret"], overall["num_rel_ret"], overall["map"]) == (2, 2, 1, 0.5)
    assert overall["gm_map"] == pytest.approx(math.sqrt(1e-5))


def test_nothing_ranked():
    """Without a ranking there is no measure, only the number of questions."""
    measured = trec_eval(Qrels.from_dicts({"q": {"a": 1}}), Rankings.from_lists({}))
    assert (measured.by_question, measured.overall) == ({}, {"num_q": 0})


def test_unjudged_and_persistence():
    """Unj is the share of unjudged among the first k; rbp weighs each rank by 0.9 of the one before."""
    qrels = Qrels.from_dicts({"q": {"a": 2, "b": 0, "c": -1}})
    measured = trec_eval(qrels, Rankings.from_lists({"q": ["x", "a", "b"]})).by_question["q"]
    assert measured["unj_5"] == pytest.approx(1 / 5)
    assert measured["rbp"] == pytest.approx(0.1 * 0.9)
    assert measured["rbp_resid"] == pytest.approx(0.9**3 + 0.1)
    assert trec_eval(qrels, Rankings.from_lists({"q": ["a", "b"]}), ["rbp_resid"]).overall == {"rbp_resid": 0.0}
    assert trec_eval(qrels, Rankings.from_lists({"q": ["c", "a"]}), ["unj_5"]).overall == {"unj_5": 1 / 5}


def test_interpolated_precision_rounds_the_level_of_recall():
    """0.1 of 14 documents is one, as in trec_eval 10: precision is that at the first of them."""
    qrels = Qrels.from_dicts({"q": {f"d{n}": 1 for n in range(14)}})
    measured = trec_eval(qrels, Rankings.from_lists({"q": ["d0", "x", "y", "d1"]})).by_question["q"]
    assert (measured["iprec_at_recall_0.10"], measured["iprec_at_recall_0.20"]) == (1.0, 0.0)
    assert measured["11pt_avg"] == pytest.approx(2 / 11)


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("P_3", ["P_3"]),
        ("ndcg_cut.23", ["ndcg_cut_23"]),
        ("success.7,2", ["success_2", "success_7"]),
        ("iprec_at_recall.0.15", ["iprec_at_recall_0.15"]),
        ("unj.3", ["unj_3"]),
        ("Rprec_mult.0.3", ["Rprec_mult_0.30"]),
    ],
)
def test_cut_offs_may_be_any(name, measures):
    """Other cut-offs than the usual ones are computed as by the package, and printed as by trec_eval."""
    qrels = Qrels.from_dicts({"q": {"a": 1, "b": 0, "c": 2}})
    rankings = Rankings.from_lists({"q": ["b", "a", "x", "c"]})
    found = trec_eval(qrels, rankings, [name, "P"]).overall
    assert [*found][: len(measures)] == measures
    assert found["P_5"] == 0.4
    if measures[0] not in {"iprec_at_recall_0.15", "unj_3"}:
        evaluator = pytrec_eval.RelevanceEvaluator({"q": {"a": 1, "b": 0, "c": 2}}, {name})
        theirs = evaluator.evaluate({"q": {"b": 4.0, "a": 3.0, "x": 2.0, "c": 1.0}})["q"]
        assert {measure: found[measure] for measure in measures} == pytest.approx(theirs)


@pytest.mark.parametrize("name", ["P_0", "map.5", "ndcg.1=3.5", "P.2.5", "utility.1,-1,0,0", "P."])
def test_what_is_no_cut_off_is_refused(name):
    """The package would compute something else without a word; the message says which measures have cut-offs."""
    with pytest.raises(DefinitionError, match=r"cut-offs may follow .*ndcg_cut"):
        trec_eval(Qrels.from_dicts({"q": {"a": 1}}), Rankings.from_lists({"q": ["a"]}), [name])
