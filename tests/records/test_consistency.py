"""A verdict that contradicts the share that was counted for it is told, by a rule from the order of the scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import CategoricalMetric, ValueMetric, load_metric, parse_metric, write_metric
from greval.errors import DefinitionError
from greval.records.consistency import find_contradictions
from greval.records.metric_input import compute_fingerprint

NOTES = {
    "parts": {"means": "what was asked for", "each": {"there": ["yes", "no"]}},
    "coverage": {"share": "parts", "where": {"there": "yes"}, "better": "higher"},
}
FOUR = ("Best", "Good", "Poor", "Worst")
PARTS = {"name": "m", "description": "d", "needs": ["answer"], "steps": ["s"]}


def graded(*names, better="higher", **more):
    """Give a metric on these categories, best first."""
    notes = {**NOTES, "coverage": {**NOTES["coverage"], "better": better}}
    return CategoricalMetric(**PARTS, categories=dict.fromkeys(names, ""), notes=notes, **more)


def valued(better):
    return ValueMetric(**PARTS, range=(1, 5), levels={1: "a", 5: "b"}, better=better, notes=NOTES)


UNHELD = CategoricalMetric(
    **PARTS,
    categories=dict.fromkeys(FOUR, ""),
    notes={**NOTES, "coverage": {"share": "parts", "where": {"there": "yes"}}},
)
"""A metric whose share is held against no verdict."""


def held(metric, value, share, **more):
    return bool(find_contradictions(metric, value, {"coverage": {"count": 0, "of": 1, "share": share}}, **more))


@pytest.mark.parametrize(
    ("value", "share", "wrong"),
    [
        ("Best", 1.0, False),
        ("Good", 1.0, True),
        ("Worst", 1.0, True),
        ("Best", 0.75, True),
        ("Good", 0.75, False),
        ("Poor", 0.75, False),
        ("Worst", 0.75, True),
        ("Best", 0.0, True),
        ("Good", 0.0, False),
        ("Poor", 0.0, False),
        ("Worst", 0.0, False),
    ],
)
def test_the_rule_on_four_categories(value, share, wrong):
    """The best value belongs to a full share and only to it, the worst to none; between them all is free."""
    assert held(graded(*FOUR), value, share) is wrong
    assert held(graded(*FOUR, better="lower"), value, 1 - share) is wrong


@given(st.floats(0, 1), st.integers(1, 5), st.sampled_from(["higher", "lower"]))
def test_the_rule_follows_the_direction_of_the_scale(share, value, better):
    """A scale whose lower end is the good one is held alike, turned round."""
    turned = value if better == "higher" else 6 - value
    assert held(valued(better), value, share) is held(valued("higher"), turned, share)


def test_with_two_values_the_worst_says_only_that_something_lacks():
    """On a scale of two values a share between is no contradiction of the worse one."""
    assert not held(graded("Yes", "No"), "No", 0.5)
    assert held(graded("Yes", "No"), "Yes", 0.5)
    assert held(graded("Yes", "No"), "No", 1.0)


def test_nothing_to_count_is_held_against_nothing():
    """Without a share there is nothing to contradict; nor without `better`."""
    assert not find_contradictions(graded(*FOUR), "Best", {"coverage": {"count": 0, "of": 0}})
    assert not find_contradictions(graded(*FOUR), "Best", {})
    assert not held(UNHELD, "Best", 0.0)


def test_a_mean_of_repeats_that_differ_is_held_against_nothing():
    """A mean belongs to no single judgement; a majority does, and repeats that agree do."""
    assert not held(valued("higher"), 5, 0.5, votes={"5": 1, "4": 1})
    assert held(valued("higher"), 5, 0.5, votes={"5": 2})
    assert held(graded(*FOUR), "Best", 0.5, votes={"Best": 2, "Good": 1})


def test_an_order_is_needed():
    """Without an order there is no best value, and the definition says so."""
    with pytest.raises(DefinitionError, match=r"notes\.coverage: better: a scale without an order"):
        graded(*FOUR, ordered=False)


def test_what_a_share_is_held_against_decides_no_verdict():
    """Holding a share against the verdict changes no fingerprint: nothing is judged anew for it."""
    alike_metrics = (UNHELD, graded(*FOUR), graded(*FOUR, better="lower"))
    assert len({compute_fingerprint(metric, {}) for metric in alike_metrics}) == 1
    assert parse_metric(write_metric(graded(*FOUR))) == graded(*FOUR) != UNHELD


def test_the_sentence_names_share_and_values():
    """Coverage 1.0 with "Somewhat relevant" is a contradiction of answer_completeness."""
    coverage = {"coverage": {"count": 2, "of": 2, "share": 1.0}}
    contradictions = find_contradictions(load_metric("answer_completeness"), "Somewhat relevant", coverage)
    assert contradictions == {"coverage": "coverage is 1.00, but 'Somewhat relevant' is not the best value, 'Relevant'"}
