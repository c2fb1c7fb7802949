"""Bounds on a value: by number, by category, over items, by votes; and bounds that do not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import CategoricalMetric, ComputedMetric, MeasureScale, ValueMetric, load_metric
from greval.analysis.bounds import Bounds, check_bounds
from greval.errors import DefinitionError, OutcomeError
from greval.judging.repeats import merge_repeats
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped

DEPTH = ValueMetric(
    name="depth", description="D.", needs=["answer"], steps=["Read."], range=(1, 5), levels={1: "Low.", 5: "High."}
)
TONE = CategoricalMetric(
    name="tone",
    description="The tone.",
    needs=["answer"],
    steps=["Read."],
    categories={"Polite": "Yes.", "Plain": "Neither.", "Rude": "No."},
)
SECONDS = ComputedMetric(
    name="seconds", description="S.", needs=("answer",), scale=MeasureScale(unit="s", better="lower"), compute=len
)


def result(metric, *judgements, failures=()):
    """Return a result with these judgements."""
    outcome = Scored(judgements=judgements, failures=failures)
    return Result(metric=metric.name, fingerprint="f", judge="j", tier="schema", outcome=outcome)


def judged(metric, value, **fields):
    return Judgement(value=value, number=metric.scale.number(value), reason="R.", **fields)


@pytest.mark.parametrize(
    ("metric", "bounds", "held"),
    [
        (DEPTH, {"at_least": 3}, {3, 4, 5}),
        (DEPTH, {"at_most": 2.5}, {1, 2}),
        (DEPTH, {"at_least": 2, "at_most": 3}, {2, 3}),
        (DEPTH, {"equals": 4}, {4}),
        (DEPTH, {"one_of": (1, 5.0)}, {1, 5}),
        (DEPTH, {"at_least": 2, "one_of": (1, 5)}, {5}),
        (TONE, {"at_least": "Plain"}, {"Polite", "Plain"}),
        (TONE, {"at_most": "Plain"}, {"Plain", "Rude"}),
        (TONE, {"equals": "Rude"}, {"Rude"}),
        (TONE, {"one_of": ("Rude", "Polite")}, {"Polite", "Rude"}),
    ],
)
def test_each_value_of_a_scale(metric, bounds, held):
    """Exactly these values of the scale are within the bounds."""
    values = metric.scale.names if metric is TONE else metric.scale.values
    found = {
        value for value in values if check_bounds(result(metric, judged(metric, value)), metric, Bounds(**bounds)).holds
    }
    assert found == held


@pytest.mark.parametrize(
    ("metric", "bounds", "said"),
    [
        (DEPTH, {}, "no bound is given"),
        (DEPTH, {"at_least": 6}, "at_least=6 is outside of its scale, 1 to 5"),
        (DEPTH, {"equals": "high"}, "is a text, but its values are numbers"),
        (TONE, {"at_least": 1}, "these categories have no score: Polite, Plain, Rude; name a category"),
        (TONE, {"one_of": ("Polit",)}, "did you mean Polite"),
        (TONE, {"equals": 1}, "is not one of its categories"),
        (SECONDS, {"at_most": -1}, "is outside of its scale, 0 to any"),
        (
            TONE.model_copy(update={"scale": TONE.scale.model_copy(update={"ordered": False})}),
            {"at_least": "Rude"},
            "one_of",
        ),
    ],
)
def test_bounds_that_do_not_fit(metric, bounds, said):
    """The error names the metric, the bound and its scale."""
    with pytest.raises(DefinitionError, match=said) as caught:
        Bounds(**bounds).check(metric)
    assert str(caught.value).startswith(f"{metric.name}: ")


def test_items_by_their_mean_or_each():
    """Numbers are compared with the mean over items, and values with each item; the misses are shown."""
    metric = load_metric("chunk_evaluation")
    best, *_, worst = metric.scale.names if hasattr(metric.scale, "names") else metric.scale.range[::-1]
    found = result(metric, judged(metric, best, item="c1"), judged(metric, worst, item="c2"))
    assert check_bounds(found, metric, Bounds(at_least=0.5)).holds
    missed = check_bounds(found, metric, Bounds(at_least=0.6))
    assert (missed.holds, missed.value, missed.shown[0].item) == (False, "0.5 (mean of 2 chunks)", "c2")
    each = check_bounds(found, metric, Bounds(equals=best))
    assert (each.holds, [one.item for one in each.shown]) == (False, ["c2"])


def test_a_value_with_a_weighted_number():
    """A single value is compared as a level, even if its number lies between levels."""
    found = result(DEPTH, judged(DEPTH, 4).model_copy(update={"number": 3.4}))
    assert check_bounds(found, DEPTH, Bounds(at_least=4)).holds
    assert not check_bounds(found, DEPTH, Bounds(at_most=3.5)).holds


@given(st.lists(st.integers(1, 5), min_size=1, max_size=7), st.integers(1, 5))
def test_the_majority_of_repeats(values, end):
    """More than half of the repeats must be within the bounds, and a tie is an error."""
    merged = merge_repeats(DEPTH, [Scored(judgements=(judged(DEPTH, value),)) for value in values])
    found = result(DEPTH, *merged.judgements)
    within = sum(value >= end for value in values)
    if 2 * within == len(values):
        with pytest.raises(OutcomeError, match="no_majority"):
            check_bounds(found, DEPTH, Bounds(at_least=end))
    else:
        check = check_bounds(found, DEPTH, Bounds(at_least=end))
        assert check.holds == (2 * within > len(values))
        assert check.split == (0 < within < len(values))


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Skipped(reason="answer is not recorded"), "skipped"),
        (Failed(error=Failure(kind="timeout", message="late")), "timeout"),
        (
            Scored(
                judgements=(judged(DEPTH, 5, item="c1"),), failures=(Failure(kind="length", message="m", item="c2"),)
            ),
            "length",
        ),
    ],
)
def test_no_value_is_never_compared(outcome, kind):
    """A result that failed, also for one item, or was skipped raises its kind."""
    found = Result(metric="depth", fingerprint="f", judge="j", tier="schema", outcome=outcome)
    with pytest.raises(OutcomeError) as caught:
        check_bounds(found, DEPTH, Bounds(at_least=1))
    assert caught.value.kind == kind


def test_within_noise_the_mean_of_repeats_may_miss_a_number():
    """Repeats that differ widen the bound; repeats that agree do by one flip that was not seen."""
    votes = [Scored(judgements=(judged(DEPTH, value),)) for value in (3, 5, 3, 5, 3)]
    (noisy,) = merge_repeats(DEPTH, votes).judgements
    (steady,) = merge_repeats(DEPTH, [Scored(judgements=(judged(DEPTH, 2),))] * 30).judgements
    missed = Bounds(at_least=4)
    assert not check_bounds(result(DEPTH, noisy), DEPTH, missed).holds
    check = check_bounds(result(DEPTH, noisy), DEPTH, missed.model_copy(update={"within_noise": True}))
    assert check.holds
    assert check.value.startswith("3.8 (noise ")
    assert not check_bounds(result(DEPTH, steady), DEPTH, Bounds(at_least=4, within_noise=True)).holds
    with pytest.raises(DefinitionError, match="repeats of 2 or more"):
        check_bounds(result(DEPTH, judged(DEPTH, 3)), DEPTH, Bounds(at_least=4, within_noise=True))
