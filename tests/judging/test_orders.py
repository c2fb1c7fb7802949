"""Orders of a pair: both are asked, equal verdicts count, different ones are a tie, and half a pair is a failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_fences import TEXTS, fences

from greval.judging.prompt import format_case_text
from greval.judging.repeats import merge_orders, mirror_judgement, mirror_value
from greval.records.case import Case, Response, swap_responses
from greval.records.metric import PreferenceMetric
from greval.records.result import Failed, Failure, Judgement, Scored
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

BASE = {"name": "clarity", "description": "d", "needs": ["question", "answer"], "steps": ["s"]}
CLEAR = PreferenceMetric(**BASE)
GRADED = PreferenceMetric(**BASE, levels={-2: "B by far.", 0: "Equal.", 2: "A by far."})
PAIR = {"question": "Who?", "answer": "Ada.", "other_response": {"answer": "Bob."}}
BROKEN = Failed(error=Failure(kind="timeout", message="late"))
VERDICTS = st.sampled_from(["A", "Tie", "B"])
GRADES = st.integers(-2, 2)


def scored(value):
    """Give one outcome with this value."""
    return Scored(judgements=[Judgement(value=value, reason=f"so {value}")])


def judged(metric, as_given, exchanged):
    """Merge verdicts of both orders, each as the judge said it."""
    return merge_orders(metric, [*map(scored, as_given)], [*map(scored, exchanged)]).judgements[0]


@given(VERDICTS, VERDICTS)
def test_equal_verdicts_count_and_different_ones_are_a_tie(first, second):
    """The value is what both orders say of the pair as it is recorded, a tie if they differ; both are kept."""
    found = judged(CLEAR, [first], [second])
    assert found.value == (first if mirror_value(second) == first else "Tie")
    assert [(order.shown_first, order.value) for order in found.orders] == [("A", first), ("B", mirror_value(second))]
    assert found.number == {"A": 1.0, "Tie": 0.5, "B": 0.0}[found.value]
    assert sum(found.votes.values()) == 2


@given(st.lists(VERDICTS, min_size=1, max_size=4), st.lists(VERDICTS, min_size=1, max_size=4))
def test_an_exchanged_pair_has_the_exchanged_value(first, second):
    """If the responses of a pair change their places, so does the value: no place has an advantage."""
    assert judged(CLEAR, second, first).value == mirror_value(judged(CLEAR, first, second).value)


@given(st.lists(GRADES, min_size=1, max_size=4), st.lists(GRADES, min_size=1, max_size=4))
def test_a_graded_value_is_the_mean_of_both_orders(first, second):
    """On the graded scale each order weighs one half, and an exchanged pair has the negative value."""
    found = judged(GRADED, first, second)
    assert found.number == pytest.approx((sum(first) / len(first) - sum(second) / len(second)) / 2)
    assert judged(GRADED, second, first).number == pytest.approx(-found.number)


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


def test_mirroring_twice_changes_nothing():
    """A judgement that is mirrored twice is the judgement."""
    one = Judgement(value="A", reason="r")
    assert mirror_judgement(mirror_judgement(one)) == one


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
    metric = PreferenceMetric(**{**BASE, "needs": ["context"]})
    part = {"chunks": [text], "triples": [[text, "p", "o"]], "aggregates": [text]}
    case = Case.model_validate({"question": "q", **part, "other_response": part})
    plain = Case.model_validate({"question": "q", **_plain(part), "other_response": _plain(part)})
    assert fences(format_case_text(metric, case)) == fences(format_case_text(metric, plain))


def _plain(part):
    return {**part, "chunks": ["x"], "triples": [["x", "p", "o"]], "aggregates": ["x"]}
