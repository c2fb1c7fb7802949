"""A compiled metric is a LangChain runnable: called in every way, composed, traced, configured, and never mixed up."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor

import fault_server as fault
import pytest
from langchain_core.runnables import Runnable
from traced_runs import Tracing

from greval import load_metric
from greval._util.concurrency import _stop_background_loop
from greval.errors import DataError, DataWarning, JudgeError, StoppedError
from greval.judging.model.budget import RunGuard
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import CategoricalMetric, ComputedMetric
from greval.records.result import Failed, Judgement, Result, Scored, Skipped, Usage
from greval.records.scale import MeasureScale
from greval.runs.runnable import compile_metric, compile_metrics
from greval.testing import ScriptedJudge

BASE = {"description": "d", "steps": ["s"]}
TONE = CategoricalMetric(name="tone", needs=["question", "answer"], categories={"Polite": "p", "Rude": "r"}, **BASE)
CASE = Case(id="q1", method="walk", question="Well?", answer="Thanks.", tags={"kind": "short"})
GOOD = {"reason": "It thanks.", "value": "Polite"}


def cases(count):
    return [Case(id=str(n), question="Well?", answer=f"{'no' if n % 3 else 'yes'} {n}") for n in range(count)]


def test_result_row():
    """A result says which case, method, metric, definition, judge and tier it is of, and what it cost."""
    runnable = compile_metric(TONE, ScriptedJudge([GOOD], tier="text"))
    result = runnable.invoke(CASE)
    assert isinstance(runnable, Runnable)
    assert (result.sample_id, result.method, result.metric, result.tags) == ("q1", "walk", "tone", {"kind": "short"})
    assert (result.fingerprint, result.judge, result.tier) == (runnable.fingerprint, "ScriptedJudge", "text")
    assert (result.usage, result.finished) == (Usage(calls=1, input_tokens=100, output_tokens=20), True)
    assert result.latency > 0
    assert Result.model_validate_json(result.model_dump_json()) == result


def test_a_background_loop_that_ended_is_begun_anew(fault_server):
    """What the end of a process does to the background loop closes all of it, and a later call begins another."""
    runnable = compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url))
    assert runnable.invoke(CASE).judgements
    _stop_background_loop()
    assert runnable.invoke(CASE).judgements


def test_the_end_gives_up_what_hangs(fault_server):
    """A call that hangs when the process ends is given up, and whoever waits for it is told."""
    fault_server.plan = fault.hangs()
    runnable = compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(runnable.invoke, CASE)
        fault_server.wait()
        _stop_background_loop()
        with pytest.raises(CancelledError):
            waiting.result(10)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "question"),
        ({"question": 5}, "question"),
        ({"question": "q", "chunks": [{"text": 3}], "usage": {"latency": -1}}, "chunks.*\n*usage.latency"),
    ],
)
def test_what_is_no_case(given, told):
    """An input that is no case is refused with every fault of it; a batch can go on without it."""
    runnable = compile_metric(TONE, ScriptedJudge([GOOD]))
    with pytest.raises(DataError, match=f"(?s){told}"):
        runnable.invoke(given)
    tracer = Tracing()
    bad, good = runnable.batch([given, CASE], {"callbacks": [tracer]}, return_exceptions=True)
    assert isinstance(bad, DataError)
    assert good.judgements[0].value == "Polite"
    assert sorted(tracer.ended) == ["DataError", "tone"]


def test_a_name_that_stands_for_nothing_is_warned_of():
    """Names of other tools are read; one that no field has is told, with the field that may be meant, and left out."""
    runnable = compile_metric(TONE, ScriptedJudge([GOOD]))
    with pytest.warns(DataWarning, match=r"case: ignored anwser \(did you mean answer\?\)$"):
        result = runnable.invoke({"user_input": "q", "response": "A.", "anwser": "B.", "colour": "red"})
    assert result.judgements[0].value == "Polite"


def measure(compute, **more):
    """Give a compiled metric that is computed."""
    scale = MeasureScale(unit="letters")
    return compile_metric(
        ComputedMetric(name="length", description="d", needs=["answer"], scale=scale, compute=compute, **more)
    )


def test_computed_metric():
    """A computed metric runs as a judged one does, with reasons and without cost."""
    runnable = measure(lambda case: (Judgement(value=len(case.answer), reason="counted"),))
    result = runnable.invoke(CASE)
    assert (result.judgements[0].value, result.judgements[0].reason) == (7, "counted")
    assert (result.tier, result.judge, result.usage) == ("computed", "", Usage())
    assert isinstance(runnable.batch([CASE] * 2)[1].outcome, Scored)


def test_computed_metric_that_skips_or_breaks():
    """A computed metric says where it is undefined, and what it raises is that case's failure."""
    assert measure(lambda _: Skipped(reason="no letters")).invoke(CASE).outcome == Skipped(reason="no letters")
    broken = measure(lambda case: 1 / 0).invoke(CASE)
    assert isinstance(broken.outcome, Failed)
    assert broken.outcome.error.kind == "error"
    assert broken.outcome.error.message.endswith("raised ZeroDivisionError: division by zero")


@pytest.mark.parametrize("call", ["invoke", "batch"])
def test_a_judge_that_cannot_be_used(monkeypatch, call):
    """A judge that cannot be used at all is an error of the call, not a failed row for each case."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    runnable = compile_metric(TONE, Judge("openai:gpt-5.4-mini"))
    with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
        runnable.invoke(CASE) if call == "invoke" else runnable.batch([CASE] * 2)


def test_compiled_once_for_any_number_of_cases(fault_server):
    """What does not change is made once: each case sends the same system message and schema."""
    runnable = compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url))
    runnable.batch(cases(5))
    assert len({body["messages"][0]["content"] for body in fault_server.bodies}) == 1
    assert len({str(body["response_format"]) for body in fault_server.bodies}) == 1
    assert len({body["messages"][1]["content"] for body in fault_server.bodies}) == 5


@pytest.mark.parametrize("repeats", [1, 3])
async def test_compiled_metrics_judge_in_any_context(repeats):
    """What is compiled once judges for many requests, and the guard of each counts and refuses its calls."""
    judge = ScriptedJudge([GOOD] * 2 * repeats)
    tone = compile_metrics([TONE, load_metric("exact_match")], {"tone": JudgeClient(judge)}, repeats=repeats)["tone"]
    guards = [RunGuard(max_calls=repeats) for _ in range(2)]
    for guard in guards:
        assert (await tone.judge_case(CASE, CallContext(guard))).judgements[0].value == "Polite"
        assert (guard.calls, guard.flying) == (repeats, 0)
    with pytest.raises(StoppedError, match="the cap of"):
        await tone.judge_case(CASE, CallContext(guards[0]))
    assert len(judge.calls) == 2 * repeats


class UsedUp:
    """A meter that admits no call."""

    def admit_call(self, judge):
        return f"the quota of {judge} is used up"


@pytest.mark.parametrize("name", ["correctness", "answer_completeness"])
def test_a_meter_counts_the_calls_of_a_runnable(name):
    """Calls that it refuses are not made, also those of the metrics that the metric builds on; each is a failed row."""
    judge = ScriptedJudge([])
    case = {"question": "?", "answer": "a", "expected_answer": "b", "chunks": ["c"]}
    runnable = compile_metric(load_metric(name), judge, meter=UsedUp())
    for result in (runnable.invoke(case), *runnable.batch([case])):
        (first, *_) = (*result.built_on, result)
        assert first.failures[0].kind == "quota"
    assert not judge.calls
