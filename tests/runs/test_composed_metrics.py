"""The runnable of a metric that builds on others: its order, its traces, its batches, and what it refuses."""

from __future__ import annotations

import asyncio

import pytest
from fault_server import hangs
from tone_metrics import BUILT, PASSAGES, by_metric, cases
from traced_runs import Tracing
from waiting import SECONDS

from greval.errors import DataError, DefinitionError, JudgeError, StoppedError
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.result import Result, Usage
from greval.runs.evaluation import evaluate
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

FACTS = PASSAGES.model_copy(update={"name": "facts", "over": "triples", "needs": ("question", "triples")})
GOOD_FACTS = BUILT.uses["chunks"].model_copy(update={"judged_by": "facts"})
BOTH = BUILT.model_copy(
    update={"needs": ("answer", "chunks", "triples"), "uses": {**BUILT.uses, "triples": GOOD_FACTS}}
)
TOP = BUILT.model_copy(
    update={"name": "top", "uses": {"chunks": BUILT.uses["chunks"].model_copy(update={"judged_by": "better"})}}
)
BETTER = PASSAGES.model_copy(update={"name": "better", "uses": BUILT.uses})


def compiled(judge, metric=BUILT, **settings):
    return compile_metric(metric, judge, built_on=[PASSAGES, FACTS, BETTER], **settings)


def timeless(result):
    """Give a result without what a clock decides."""
    return result.replace(latency=0.0, built_on=tuple(map(timeless, result.built_on)))


def test_the_result_carries_those_that_it_builds_on():
    """A result holds those below it in order, each as a row of its own, and reads back from JSON as it was."""
    judge = ScriptedJudge(by_metric)
    (case,) = cases(1)
    result = compiled(judge).invoke(case)
    (below,) = result.built_on
    assert (below.metric, below.sample_id, below.built_on) == ("passages", "q0", ())
    assert [(judgement.item, judgement.value) for judgement in below.judgements] == [("c1", "Good"), ("c2", "Bad")]
    assert (result.value, result.usage.calls, below.usage.calls, len(judge.calls)) == (1, 1, 1, 2)
    assert Result.model_validate_json(result.model_dump_json()) == result
    assert "built_on" not in below.model_dump()
    assert "built_on" not in below.model_dump_json()


def test_it_is_what_a_run_gives(tmp_path):
    """The rows of a run are the results of the runnable, with the same fingerprints."""
    judge = ScriptedJudge(by_metric)
    plain_cases = cases(3)
    results = compiled(judge, BOTH).batch([case.model_copy(update={"triples": None}) for case in plain_cases])
    rows = evaluate(plain_cases, [BOTH, PASSAGES, FACTS], judge, out=tmp_path).results()
    expected = {(row.sample_id, row.metric): timeless(row) for row in rows}
    split = (row.replace(built_on=()) for one in results for row in (*map(timeless, one.built_on), timeless(one)))
    assert {(row.sample_id, row.metric): row for row in split} == expected


async def test_metrics_below_are_judged_at_once():
    """Chunks and triples are judged side by side: neither answer comes before both were asked for."""
    both = asyncio.Event()
    asked = []

    class Meeting(ScriptedJudge):
        async def _agenerate(self, messages, *args, **kwargs):
            asked.append("<item" in messages[-1].text)
            if len(asked) == 2:
                both.set()
            await asyncio.wait_for(both.wait(), SECONDS)
            return await super()._agenerate(messages, *args, **kwargs)

    case = cases(1)[0].model_dump() | {"triples": [("x", "is", "y")]}
    result = await compiled(Meeting(by_metric), BOTH).ainvoke(case)
    assert asked == [True, True, False]
    assert [row.metric for row in result.built_on] == ["passages", "facts"]


def test_traces_show_those_below_as_children():
    """A tracer sees one run for the whole, in it one for each metric, and the model's runs in these."""
    tracer = Tracing()
    config = {"callbacks": [tracer], "tags": ["nightly"], "run_name": "whole"}
    result = compiled(ScriptedJudge(by_metric)).invoke(cases(1)[0], config)
    assert tracer.runs == [
        ("chain", "whole", None),
        ("chain", "passages", "whole"),
        ("model", "judge", "passages"),
        ("chain", "built", "whole"),
        ("model", "judge", "built"),
    ]
    assert tracer.ended == ["passages", "built", "whole"]
    assert tracer.outputs == result
    assert "nightly" in tracer.seen["model"]["tags"]


def test_a_batch_judges_equal_content_once():
    """Cases of a batch that differ in nothing that a judge sees share their judgements; two calls share nothing."""
    judge = ScriptedJudge(by_metric)
    (case,) = cases(1)
    twins = [case.model_copy(update={"id": f"t{n}"}) for n in range(5)]
    runnable = compiled(judge)
    results = runnable.batch(twins)
    assert len(judge.calls) == 2
    assert [row.sample_id for row in results] == [twin.id for twin in twins]
    spent = sum((row.usage for result in results for row in (result, *result.built_on)), Usage())
    assert (spent.calls, spent.hits) == (2, 8)
    runnable.invoke(case)
    assert len(judge.calls) == 4


def test_what_failed_is_tried_once_more():
    """As in a run a chunk that failed at first is asked for again alone, and its metric counts all that it cost."""
    first = {"judgements": [{"item": 1, "reason": "r", "value": "Good"}]}
    answers = iter([first, {"judgements": []}])
    judge = ScriptedJudge(lambda messages: next(answers, None) or by_metric(messages))
    result = compiled(judge).invoke(cases(1)[0])
    assert result.outcome.status == result.built_on[0].outcome.status == "scored"
    assert [judgement.item for judgement in result.built_on[0].judgements] == ["c1", "c2"]
    assert (result.built_on[0].usage.calls, result.usage.calls, len(judge.calls)) == (3, 1, 4)


def test_what_builds_on_what_builds():
    """Metrics that build on metrics that build on others are judged from the bottom, and stand in one list."""
    judge = ScriptedJudge(by_metric)
    result = compiled(judge, TOP).invoke(cases(1)[0])
    assert [row.metric for row in result.built_on] == ["passages", "better"]
    assert all(not row.built_on for row in result.built_on)
    assert "\nb\n" not in judge.calls[1][-1].text


def test_what_is_not_found_is_told():
    """A metric below that is neither given nor ships is an error at once, with who builds on it."""
    with pytest.raises(DefinitionError, match="built: builds on passages, whose definition is not given: passages: no"):
        compile_metric(BUILT, ScriptedJudge(by_metric))
    with pytest.raises(DefinitionError, match="passages: no such metric"):
        compile_metric(BUILT, ScriptedJudge(by_metric), built_on=["passages"])
    with pytest.raises(DefinitionError, match=r"uses.chunks.judged_by: passages judges each of the triples"):
        compile_metric(BUILT, ScriptedJudge(by_metric), built_on=[FACTS.model_copy(update={"name": "passages"})])


def test_what_is_no_case_or_judge_is_raised_as_it_is(monkeypatch):
    """A wrong input, a judge without its key and one that is not asked are the errors of any runnable, in no group."""
    with pytest.raises(DataError, match="question"):
        compiled(ScriptedJudge(by_metric)).invoke({"answer": "no question"})
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
        compiled(Judge("openai:m")).invoke(cases(1)[0])

    async def find_no_reply(*_):
        raise StoppedError("no reply is stored")

    with pytest.raises(StoppedError, match="no further call is made"):
        compiled(JudgeClient(ScriptedJudge(by_metric), reply_source=find_no_reply)).invoke(cases(1)[0])


async def test_who_stops_waiting_stops_the_calls(fault_server, monkeypatch):
    """A call that is given up ends the calls of the metrics below."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    fault_server.plan = hangs()
    task = asyncio.create_task(compiled(Judge("openai:x", base_url=fault_server.url)).ainvoke(cases(1)[0]))
    await asyncio.to_thread(fault_server.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert fault_server.calls == 1
