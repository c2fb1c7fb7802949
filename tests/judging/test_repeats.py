"""Repeats: the majority or the mean of several judgements, with votes and flip rate; a tie is not decided."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import JudgeError
from greval.judging.repeats import merge_repeats
from greval.records.metric import CategoricalMetric, ManyCategoricalMetric, ValueMetric
from greval.records.result import Failed, Failure, Judgement, Scored
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

BASE = {"description": "d", "steps": ["s"]}
TONE = CategoricalMetric(
    name="tone",
    needs=["answer"],
    categories={"Polite": {"means": "p", "score": 1}, "Plain": {"means": "m", "score": 0.5}, "Rude": {"means": "r"}},
    **BASE,
)
DEPTH = ValueMetric(name="depth", needs=["answer"], range=(1, 5), levels={1: "low", 5: "high"}, **BASE)
CHUNKS = ManyCategoricalMetric(
    name="chunks", over="chunks", needs=["question", "chunks"], categories={"Yes": "y", "No": "n"}, **BASE
)
BROKEN = Failed(error=Failure(kind="timeout", message="late"))


def scored(*values, items=(None,)):
    """Give one outcome with these values, for these items."""
    return Scored(judgements=[Judgement(value=v, reason=f"so {v}", item=i) for v, i in zip(values, items, strict=True)])


@given(st.lists(st.sampled_from(["Polite", "Plain", "Rude"]), min_size=1, max_size=9))
def test_majority_or_none(values):
    """The most frequent category counts, with its votes and flip rate; a tie for it is no majority."""
    counts = Counter(values).most_common()
    outcome = merge_repeats(TONE, [scored(value) for value in values])
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        assert (outcome.status, outcome.error.kind, outcome.error.item) == ("failed", "no_majority", None)
        return
    (judgement,) = outcome.judgements
    assert (judgement.value, judgement.votes) == (counts[0][0], dict(counts))
    assert judgement.flip_rate == pytest.approx(1 - counts[0][1] / len(values))
    assert judgement.reason == f"so {judgement.value}"


@given(st.lists(st.integers(1, 5), min_size=1, max_size=9))
def test_mean_of_values(values):
    """On a value scale the mean counts, never outside of what was given, with the reason nearest to it."""
    (judgement,) = merge_repeats(DEPTH, [scored(value) for value in values]).judgements
    assert judgement.value == judgement.number == pytest.approx(fmean(values))
    assert min(values) <= judgement.value <= max(values)
    assert judgement.votes == {str(value): count for value, count in Counter(values).items()}
    assert judgement.flip_rate == pytest.approx(1 - max(Counter(values).values()) / len(values))
    nearest = int(judgement.reason.removeprefix("so "))
    assert abs(nearest - judgement.value) == min(abs(value - judgement.value) for value in values)


@given(st.permutations([scored("Polite"), scored("Polite"), scored("Rude"), BROKEN]))
def test_order_and_failures_do_not_vote(outcomes):
    """Repeats that failed have no vote, and the order of the repeats changes nothing."""
    (judgement,) = merge_repeats(TONE, outcomes).judgements
    assert (judgement.value, judgement.votes) == ("Polite", {"Polite": 2, "Rude": 1})
    assert judgement.flip_rate == pytest.approx(1 / 3)


def test_all_failed():
    """Where every repeat failed, so did the case, for the first reason."""
    assert merge_repeats(TONE, [BROKEN, BROKEN]) == BROKEN


def test_items_are_merged_each_by_itself():
    """Of many items one has a majority, one is tied, one was lost in every repeat."""
    lost = Failure(kind="missing_item", message="none", item="c")
    first = scored("Yes", "Yes", items="ab").model_copy(update={"failures": (lost,)})
    second = scored("Yes", "No", items="ab").model_copy(update={"failures": (lost,)})
    outcome = merge_repeats(CHUNKS, [first, second])
    assert [(j.item, j.value, j.flip_rate) for j in outcome.judgements] == [("a", "Yes", 0.0)]
    assert [(f.item, f.kind) for f in outcome.failures] == [("b", "no_majority"), ("c", "missing_item")]


def test_every_item_lost():
    """Where no item has a verdict the outcome is failed and keeps the failure of each."""
    lost = tuple(Failure(kind="missing_item", message="none", item=item) for item in "ab")
    outcome = merge_repeats(CHUNKS, [Failed(error=lost[0], failures=lost)] * 2)
    assert (outcome.status, outcome.failures) == ("failed", lost)


@pytest.mark.parametrize(
    ("values", "status", "kind"),
    [(["Rude", "Polite", "Rude"], "scored", None), (["Rude", "Polite", "Plain"], "failed", "no_majority")],
)
def test_repeats_of_a_runnable(values, status, kind):
    """A runnable with repeats asks that often, counts every call, and gives one judgement or none."""
    judge = ScriptedJudge([{"reason": "r", "value": value} for value in values])
    result = compile_metric(TONE, judge, repeats=3).invoke({"question": "q", "answer": "a"})
    assert (len(judge.calls), result.usage.calls, result.usage.input_tokens) == (3, 3, 300)
    assert result.outcome.status == status
    assert (result.failures[0].kind if result.failures else None) == kind
    if status == "scored":
        assert result.judgements[0].value == "Rude"
        assert result.judgements[0].flip_rate == pytest.approx(1 / 3)


def test_repeats_have_their_own_fingerprint():
    """Results of one answer and of a majority are not mistaken for each other."""
    marks = {compile_metric(TONE, ScriptedJudge([{}]), repeats=repeats).fingerprint for repeats in (1, 2, 3)}
    assert len(marks) == 3


@pytest.mark.parametrize("repeats", [0, -1])
def test_no_repeats_at_all(repeats):
    """Fewer than one repeat is refused when compiling, not found out in a run."""
    with pytest.raises(JudgeError, match="repeats must be 1 or more"):
        compile_metric(TONE, ScriptedJudge([{}]), repeats=repeats)
