"""Tests of a compiled metric as a LangChain runnable: calls, batches, threads, callbacks and schemas."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import fault_server as fault
import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.runnables import RunnableLambda, RunnableParallel
from tone_metrics import TONE
from traced_runs import Tracing

from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.records.metric import ComputedMetric, ValueMetric
from greval.records.result import Judgement, Skipped, Usage
from greval.records.scale import MeasureScale
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

DEPTH = ValueMetric(
    name="depth", needs=["question", "answer"], range=(1, 3), levels={1: "low", 3: "high"}, description="d", steps=["s"]
)
CASE = Case(id="q1", method="walk", question="Well?", answer="Thanks.", tags={"kind": "short"})
GOOD = {"reason": "It thanks.", "value": "Polite"}


def echo(delay=0.0, tier="schema"):
    """Give a judge that finds an answer rude where it says so, and names it in its reason."""

    def answer(messages):
        text = messages[1].text.partition("<answer>\n")[2].partition("\n</answer>")[0]
        return {"reason": f"about {text}", "value": "Rude" if "no" in text else "Polite"}

    return ScriptedJudge(answer, delay=delay, tier=tier)


def cases(count):
    return [Case(id=str(n), question="Well?", answer=f"{'no' if n % 3 else 'yes'} {n}") for n in range(count)]


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
def test_every_call_gives_the_same(tier):
    """invoke, batch, stream and their asynchronous forms give the same result for a case or its mapping."""
    runnable = compile_metric(TONE, ScriptedJudge([GOOD], tier=tier))
    mapping = CASE.model_dump(exclude_none=True)

    async def asynchronous():
        streamed = [result async for result in runnable.astream(mapping)]
        return [await runnable.ainvoke(mapping), *await runnable.abatch([mapping, CASE]), *streamed]

    results = [
        runnable.invoke(CASE),
        *runnable.batch([CASE, mapping]),
        *runnable.stream(mapping),
        *asyncio.run(asynchronous()),
    ]
    assert len({result.replace(latency=0.0).model_dump_json() for result in results}) == 1
    assert len(results) == 8


@pytest.mark.parametrize("call", ["batch", "abatch"])
def test_batch_keeps_order_and_bounds(call):
    """A batch gives the results in the order of its cases, with at most `max_concurrency` in flight."""
    flying, most, lock = 0, 0, threading.Lock()

    class Counting(AsyncCallbackHandler):
        async def on_chat_model_start(self, *_, **__):
            nonlocal flying, most
            with lock:
                flying += 1
                most = max(most, flying)

        async def on_llm_end(self, *_, **__):
            nonlocal flying
            with lock:
                flying -= 1

    runnable = compile_metric(TONE, echo(delay=0.002))
    config = {"max_concurrency": 4, "callbacks": [Counting()]}
    results = runnable.batch(cases(30), config) if call == "batch" else asyncio.run(runnable.abatch(cases(30), config))
    assert [result.judgements[0].reason for result in results] == [f"about {case.answer}" for case in cases(30)]
    assert (flying, most) == (0, 4)


def test_a_batch_is_not_bound_by_threads():
    """A synchronous batch has as many calls in flight as an asynchronous one, not as many as there are threads."""
    with fault.FaultServer(latency=0.1) as server:
        judge = Judge("openai:fake", base_url=server.url)
        assert len(compile_metric(TONE, judge).batch(cases(40))) == 40
        assert server.most > 30


async def test_as_completed():
    """Results can be taken as they come, each with its place."""
    runnable = compile_metric(TONE, echo())
    results = {place: result async for place, result in runnable.abatch_as_completed(cases(5))}
    assert {place: result.sample_id for place, result in results.items()} == {n: str(n) for n in range(5)}
    results = dict(runnable.batch_as_completed(cases(5)))
    assert {place: result.sample_id for place, result in results.items()} == {n: str(n) for n in range(5)}


def test_threads_share_a_runnable():
    """One compiled metric serves many threads at once, each with its own cases."""
    runnable = compile_metric(TONE, echo(delay=0.001))
    with ThreadPoolExecutor(16) as pool:
        results = [*pool.map(runnable.invoke, cases(100))]
    assert [result.judgements[0].reason for result in results] == [f"about {case.answer}" for case in cases(100)]


async def test_invoke_in_a_running_loop():
    """A synchronous call within a running loop, as in a notebook's cell, gives its result and does not hang."""
    runnable = compile_metric(TONE, echo())
    assert runnable.invoke(CASE).judgements[0].value == "Polite"
    assert len(runnable.batch(cases(3))) == 3
    assert (await asyncio.to_thread(runnable.invoke, CASE)).judgements[0].value == "Polite"


def test_invoke_from_within_a_metric():
    """A computed metric that calls a judged one synchronously gets its answer: no loop waits for itself."""
    inner = compile_metric(TONE, echo())
    outer = ComputedMetric(
        name="outer",
        description="d",
        needs=["answer"],
        scale=MeasureScale(unit="letters"),
        compute=lambda case: (Judgement(value=1.0, reason=inner.invoke(case).judgements[0].value),),
    )
    assert compile_metric(outer).invoke(CASE).judgements[0].reason == "Polite"
    assert asyncio.run(compile_metric(outer).ainvoke(CASE)).judgements[0].reason == "Polite"


@pytest.mark.parametrize("call", ["invoke", "ainvoke"])
@pytest.mark.parametrize("tier", ["schema", "text"])
def test_a_trace_has_a_chain_and_its_model(call, tier):
    """A tracer sees one chain run under the metric's name, and the model's run as its child."""
    tracer = Tracing()
    runnable = compile_metric(TONE, ScriptedJudge([GOOD], tier=tier))
    config = {"callbacks": [tracer], "tags": ["nightly"], "metadata": {"release": "7"}}
    result = runnable.invoke(CASE, config) if call == "invoke" else asyncio.run(runnable.ainvoke(CASE, config))
    assert tracer.runs == [("chain", "tone", None), ("model", "judge", "tone")]
    assert (tracer.ended, tracer.outputs, tracer.inputs) == (["tone"], result, CASE)
    assert "nightly" in tracer.seen["chain"]["tags"]
    assert "nightly" in tracer.seen["model"]["tags"]
    assert tracer.seen["model"]["metadata"].items() >= {"release": "7"}.items()


def test_each_asking_is_traced_under_the_chain():
    """A second asking and repeats are further children of the same run."""
    tracer = Tracing()
    runnable = compile_metric(TONE, ScriptedJudge(lambda m: GOOD if len(m) > 2 else "Well."), repeats=2)
    runnable.invoke(CASE, {"callbacks": [tracer], "run_name": "my run"})
    assert tracer.runs == [("chain", "my run", None)] + [("model", "judge", "my run")] * 4


def test_tools_tier_is_traced_under_the_chain():
    """With tools LangChain's own steps stand between; the metric's run is still their root."""
    tracer = Tracing()
    compile_metric(TONE, ScriptedJudge([GOOD], tier="tools")).invoke(CASE, {"callbacks": [tracer]})
    assert tracer.runs[0] == ("chain", "tone", None)
    assert [kind for kind, _, _ in tracer.runs].count("model") == 1
    assert all(parent for _, _, parent in tracer.runs[1:])


def test_callbacks_of_the_model_itself():
    """A model's own callbacks and a config without callbacks go together: tags and metadata arrive."""
    tracer = Tracing()
    judge = ScriptedJudge([GOOD], callbacks=[tracer])
    compile_metric(TONE, judge).invoke(CASE, {"tags": ["nightly"], "metadata": {"release": "7"}})
    assert tracer.runs == [("model", "judge", None)]
    assert "nightly" in tracer.seen["model"]["tags"]
    assert tracer.seen["model"]["metadata"]["release"] == "7"


async def test_events():
    """astream_events tells the start and end of the chain and of its model."""
    runnable = compile_metric(TONE, ScriptedJudge([GOOD]))
    events = [(event["event"], event["name"]) async for event in runnable.astream_events(CASE, version="v2")]
    assert events[0] == ("on_chain_start", "tone")
    assert events[-1] == ("on_chain_end", "tone")
    assert ("on_chat_model_end", "ScriptedJudge") in events


@pytest.mark.parametrize("call", ["invoke", "ainvoke"])
def test_composition(call):
    """Compiled metrics stand in parallels and in pipes with functions, and traces show the whole."""
    tracer = Tracing()
    judge = ScriptedJudge(lambda m: GOOD if '"Polite"' in m[0].text else {"reason": "r", "value": 2})
    chain = (
        RunnableLambda(lambda answer: {"question": "Well?", "answer": answer})
        | RunnableParallel(tone=compile_metric(TONE, judge), depth=compile_metric(DEPTH, judge))
        | RunnableLambda(lambda found: {name: result.judgements[0].value for name, result in found.items()})
    )
    config = {"callbacks": [tracer]}
    found = chain.invoke("Thanks.", config) if call == "invoke" else asyncio.run(chain.ainvoke("Thanks.", config))
    assert found == {"tone": "Polite", "depth": 2}
    assert ("model", "judge", "tone") in tracer.runs
    assert ("model", "judge", "depth") in tracer.runs
    assert any(run[:2] == ("chain", "tone") and run[2] for run in tracer.runs)


def test_called_within_a_function_of_a_chain():
    """A call without a config within a traced function belongs to that function's run."""
    tracer = Tracing()
    runnable = compile_metric(TONE, ScriptedJudge([GOOD]))
    outer = RunnableLambda(lambda case: runnable.invoke(case).judgements[0].value, name="outer")
    assert outer.invoke(CASE, {"callbacks": [tracer]}) == "Polite"
    assert tracer.runs == [
        ("chain", "outer", None),
        ("chain", "tone", "outer"),
        ("model", "judge", "tone"),
    ]


def test_schemas_of_input_and_output():
    """A runnable tells what goes in and comes out, so that servers can show it."""
    runnable = compile_metric(TONE, ScriptedJudge([GOOD]))
    assert "question" in runnable.get_input_jsonschema()["properties"]
    assert "outcome" in runnable.get_output_jsonschema()["properties"]
    assert runnable.get_name() == "tone"


def test_what_is_lacking_is_skipped():
    """A case that lacks what the metric needs is skipped with a reason, and nothing is asked."""
    judge = ScriptedJudge([GOOD])
    result = compile_metric(TONE, judge).invoke({"question": "Well?"})
    assert result.outcome == Skipped(reason="answer is not recorded")
    assert (judge.calls, result.usage, result.finished) == ([], Usage(), True)


def test_the_first_latency_holds_no_start_up(monkeypatch):
    """What is made once, such as a client or the embedded model, is no part of the first judgement's time."""
    now = [0.0]

    class Slow(JudgeClient):
        made = False

        async def ready(self):
            if not self.made:
                self.made, now[0] = True, now[0] + 100
            return await super().ready()

    def answer(messages):
        now[0] += 1
        return GOOD

    client = Slow(ScriptedJudge(answer))
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    runnable = compile_metric(TONE, client)
    assert [runnable.invoke(CASE).latency for _ in range(3)] == [1.0] * 3
    assert now == [103.0]


def test_a_response_that_the_method_failed_to_give_is_a_failure_of_the_method_and_costs_no_call():
    """Neither an empty answer nor a skip: the row is failed with the method's error, for computed metrics too."""
    judge = ScriptedJudge([])
    broken = {"question": "Who?", "answer": "Ada.", "usage": {"latency": 1.0}, "error": "TimeoutError: no answer"}
    for metric in (load_metric("completeness"), load_metric("latency")):
        result = compile_metric(metric, judge).invoke(broken)
        assert [failure.kind for failure in result.failures] == ["method"]
        assert "TimeoutError: no answer" in result.failures[0].message
        assert result.usage.calls == 0
