"""Repeats and both orders of a pair: majority, mean or tie of several judgements, with votes and flip rate."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_fences import TEXTS, fences

from greval.errors import JudgeError
from greval.judging.prompt import format_case_text
from greval.judging.repeats import merge_orders, merge_repeats, mirror_value
from greval.records.case import Case, Response, swap_responses
from greval.records.metric import CategoricalMetric, ManyCategoricalMetric, PreferenceMetric, ValueMetric
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


PAIR_FIELDS = {"name": "clarity", "description": "d", "needs": ["question", "answer"], "steps": ["s"]}
CLEAR = PreferenceMetric(**PAIR_FIELDS)
GRADED = PreferenceMetric(**PAIR_FIELDS, levels={-2: "B by far.", 0: "Equal.", 2: "A by far."})
PAIR = {"question": "Who?", "answer": "Ada.", "other_response": {"answer": "Bob."}}
VERDICTS = st.sampled_from(["A", "Tie", "B"])
GRADES = st.integers(-2, 2)


def judged(metric, as_given, exchanged):
    """Merge verdicts of both orders, each as the judge said it."""
    return merge_orders(metric, [*map(scored, as_given)], [*map(scored, exchanged)]).judgements[0]


@given(VERDICTS, VERDICTS)
def test_equal_verdicts_count_and_different_ones_are_a_tie(first, second):
    """The value is what both orders say of the pair as it is recorded, a tie if they differ; both are kept."""
    judgement = judged(CLEAR, [first], [second])
    assert judgement.value == (first if mirror_value(second) == first else "Tie")
    assert [(order.shown_first, order.value) for order in judgement.orders] == [
        ("A", first),
        ("B", mirror_value(second)),
    ]
    assert judgement.number == {"A": 1.0, "Tie": 0.5, "B": 0.0}[judgement.value]
    assert sum(judgement.votes.values()) == 2


@given(st.lists(VERDICTS, min_size=1, max_size=4), st.lists(VERDICTS, min_size=1, max_size=4))
def test_an_exchanged_pair_has_the_exchanged_value(first, second):
    """If the responses of a pair change their places, so does the value: no place has an advantage."""
    assert judged(CLEAR, second, first).value == mirror_value(judged(CLEAR, first, second).value)


@given(st.lists(GRADES, min_size=1, max_size=4), st.lists(GRADES, min_size=1, max_size=4))
def test_a_graded_value_is_the_mean_of_both_orders(first, second):
    """On the graded scale each order weighs one half, and an exchanged pair has the negative value."""
    judgement = judged(GRADED, first, second)
    assert judgement.number == pytest.approx((sum(first) / len(first) - sum(second) / len(second)) / 2)
    assert judged(GRADED, second, first).number == pytest.approx(-judgement.number)


def test_half_a_pair_is_a_failure():
    """If an order has no verdict, the pair failed with its reason, whatever the other order says."""
    for outcomes in (([scored("A")], [BROKEN]), ([BROKEN], [scored("A")])):
        assert merge_orders(CLEAR, *outcomes) == BROKEN
    repeated = merge_orders(CLEAR, [scored("A"), BROKEN], [BROKEN, scored("B")])
    assert repeated.judgements[0].value == "A"


def test_a_reason_names_both_orders_if_they_differ():
    """The reason of a tie by contradiction holds what the judge said in each order, and says that names changed."""
    reason = judged(CLEAR, ["A"], ["A"]).reason
    assert "As recorded: A. so A" in reason
    assert "calls A what is B here: B. so A" in reason


def test_each_pair_is_asked_about_in_both_orders():
    """The judge sees the responses in both orders, without the names of methods, once for each repeat."""
    judge = ScriptedJudge([{"reason": "r", "value": "Tie"}])
    case = {**PAIR, "method": "secret vs hidden"}
    result = compile_metric(CLEAR, judge, repeats=2).invoke(case)
    texts = [messages[-1].text for messages in judge.calls]
    first, second = (
        f"<answer_a>\n{a}\n</answer_a>\n<answer_b>\n{b}\n</answer_b>" for a, b in (("Ada.", "Bob."), ("Bob.", "Ada."))
    )
    assert sorted(first in text for text in texts) == [False, False, True, True]
    assert all((first in text) != (second in text) for text in texts)
    assert not any("secret" in text or "hidden" in text for text in texts)
    assert (result.value, result.usage.calls, result.method) == ("Tie", 4, "secret vs hidden")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"question": "Who?", "answer": "Ada."}, "other_response is not recorded"),
        ({**PAIR, "other_response": {"method": "b"}}, "other_response.answer is not recorded"),
        ({"question": "Who?", "other_response": {"answer": "Bob."}}, "answer is not recorded"),
    ],
)
def test_half_a_pair_is_skipped(case, reason):
    """A case without both responses is skipped with the reason, and costs nothing."""
    judge = ScriptedJudge([{"reason": "r", "value": "A"}])
    outcome = compile_metric(CLEAR, judge).invoke(case).outcome
    assert outcome.status == "skipped"
    assert reason in outcome.reason
    assert judge.calls == []


def test_a_pair_of_a_method_that_failed_is_failed():
    """If either method gave no response, the pair fails as every metric on it does."""
    judge = ScriptedJudge([{"reason": "r", "value": "A"}])
    outcome = compile_metric(CLEAR, judge).invoke({**PAIR, "other_response": {"error": "it crashed"}}).outcome
    assert (outcome.status, outcome.error.kind) == ("failed", "method")


@given(TEXTS, TEXTS)
def test_no_text_of_either_response_opens_or_closes_a_fence(one, other):
    """Whatever the answers hold, the fences are those of the question and of both answers, in order."""
    case = Case(question="q", answer=one, other_response=Response(answer=other))
    for view in (case, swap_responses(case)):
        words = [word for word, _ in fences(format_case_text(CLEAR, view))]
        assert words == ["question", "/question", "answer", "/answer", "answer", "/answer"]


@given(TEXTS)
def test_the_context_of_both_responses_is_fenced(text):
    """Chunks, triples and aggregates of both responses are between fences that their texts cannot open or close."""
    metric = PreferenceMetric(**{**PAIR_FIELDS, "needs": ["context"]})
    part = {"chunks": [text], "triples": [[text, "p", "o"]], "aggregates": [text]}
    case = Case.model_validate({"question": "q", **part, "other_response": part})
    plain = Case.model_validate({"question": "q", **_plain(part), "other_response": _plain(part)})
    assert fences(format_case_text(metric, case)) == fences(format_case_text(metric, plain))


def _plain(part):
    return {**part, "chunks": ["x"], "triples": [["x", "p", "o"]], "aggregates": ["x"]}
