"""The work of a run: nothing is asked twice, nothing that was paid for is lost, and the counts are right."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from itertools import pairwise
from pathlib import Path

import fault_server as fault
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases
from virtual_time import in_virtual_time, now
from waiting import until

from greval import Case, ComputedMetric, Judge, Judgement, MeasureScale, Store, evaluate, evaluate_async, load_metric
from greval.judging.model.budget import RunGuard
from greval.judging.model.client import JudgeClient
from greval.judging.model.reply_cache import ReplyCache
from greval.records.result import Failed, Failure, Result, Skipped, Usage
from greval.runs.runnable import compile_metrics
from greval.runs.worker import JudgingLoop, MemoryLog, is_retryable
from greval.testing import ScriptedJudge

SUPPORT = Path(__file__).parents[1] / "support"
REFUSAL = fault.refuses()


def openai(server, **settings):
    return Judge("openai:fake", base_url=server.url, **{"max_retries": 0, **settings})


def twins(n, first=0, method=""):
    """Give cases that differ in nothing that a judge sees."""
    same = {"question": "Who?", "answer": "Ada.", "chunks": ["a", "b"]}
    return [Case(id=f"t{i}", method=method, **same) for i in range(first, first + n)]


@pytest.mark.parametrize("width", [1, 8])
def test_what_is_the_same_is_asked_once(fault_server, tmp_path, width):
    """Samples and methods with the same content share one call, side by side, later in the run, and in the next."""
    fault_server.latency = 0.02
    given_cases = [*twins(6), *cases(2), *twins(6, method="other"), *twins(2, first=6)]
    run = evaluate(given_cases, [TONE], openai(fault_server), out=tmp_path, concurrency=width)
    assert fault_server.calls == 3
    rows = {(row.sample_id, row.method): row for row in run.results()}
    assert len(rows) == run.progress.done == run.progress.scored == 16
    assert sum((row.usage for row in rows.values()), Usage()) == run.progress.usage
    assert (run.progress.usage.calls, run.progress.usage.hits, run.progress.usage.input_tokens) == (3, 13, 300)
    assert all(row.judgements[0].reason for row in rows.values())
    later = evaluate(twins(3, first=50), [TONE], openai(fault_server), out=tmp_path)
    assert (fault_server.calls, later.progress.scored, later.progress.kept) == (3, 3, 0)


def test_repeats_are_asked_for_themselves(fault_server, tmp_path):
    """The repeats of a judgement are calls of their own, once for all twins."""
    run = evaluate(twins(4), [TONE], openai(fault_server), out=tmp_path, repeats=3)
    assert fault_server.calls == 3
    assert [row.judgements[0].votes for row in run.results()] == [{"Polite": 3}] * 4


@pytest.mark.parametrize("width", [1, 4])
def test_a_twin_that_failed_is_no_help(tmp_path, width):
    """Where the shared judgement fails each twin is asked for itself; a failure takes over what a twin got later."""
    replies = iter(["refused", *[by_metric] * 9])

    def answer(messages):
        reply = next(replies)
        return ValueError("odd") if reply == "refused" else reply(messages)

    judge = ScriptedJudge(answer, delay=0.01)
    run = evaluate(twins(4), [TONE], judge, out=tmp_path, concurrency=width)
    assert Counter(row.outcome.status for row in run.results()) == {"failed": 1, "scored": 3}
    assert len(judge.calls) in ({2, 3} if width == 1 else {4})
    second_run = evaluate(twins(4), [TONE], ScriptedJudge([]), out=tmp_path)
    assert (second_run.progress.scored, second_run.progress.kept, second_run.progress.usage.hits) == (4, 3, 1)


async def test_a_run_that_is_cancelled_while_twins_wait_is_cancelled(fault_server, tmp_path):
    """Those who wait for a twin's call do not turn a cancellation into an error."""
    fault_server.plan = fault.hangs()
    run = asyncio.create_task(evaluate_async(twins(5), [TONE], openai(fault_server), out=tmp_path))
    await asyncio.to_thread(fault_server.wait)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


def test_what_is_computed_is_computed_for_each(tmp_path):
    """A function may look at all of a case: its result is never taken over from another."""

    def compute(case):
        number = float(case.id.removeprefix("t"))
        return (Judgement(value=number, number=number, reason="by the id"),)

    metric = ComputedMetric(name="place", description="d", needs=["answer"], scale=MeasureScale(), compute=compute)
    run = evaluate(twins(3), [metric], out=tmp_path)
    assert sorted(row.judgements[0].value for row in run.results()) == [0, 1, 2]


def test_failures_can_be_left_alone(fault_server, tmp_path):
    """Without `retry_failed` a failure is asked for once, is kept by the next run, and later asked again on demand."""
    fault_server.plan = fault.error(503)
    first = evaluate(cases(3), [BUILT, PASSAGES], openai(fault_server), out=tmp_path, retry_failed=False)
    assert (first.progress.failed, fault_server.calls) == (6, 3)
    fault_server.plan = fault.ok()
    second_run = evaluate(cases(3), [BUILT, PASSAGES], openai(fault_server), out=tmp_path, retry_failed=False)
    assert (second_run.progress.failed, second_run.progress.kept, fault_server.calls) == (6, 6, 3)
    mended = evaluate(cases(3), [BUILT, PASSAGES], openai(fault_server), out=tmp_path)
    assert (mended.progress.scored, mended.progress.kept, fault_server.calls) == (6, 0, 9)


@in_virtual_time
async def test_a_deadline_ends_a_run_in_order(tmp_path):
    """When the time is over no call is begun; what was out is written down, and the same run finishes the rest."""
    start = now()
    async with fault.FaultServer(latency=0.15) as server:
        run = await evaluate_async(cases(40), [TONE], openai(server), out=tmp_path, concurrency=2, deadline=0.5)
        assert now() - start == pytest.approx(0.6)
        assert run.stopped
        assert not run.fatal
        assert "--deadline" in run.why
        assert len([*run.results()]) == server.calls == 1 + 2 * 3  # the first call of a judge is alone
        second_run = await evaluate_async(cases(40), [TONE], openai(server), out=tmp_path, deadline=60)
        assert (second_run.why, second_run.progress.scored, server.calls) == (None, 40, 40)


KILLED = """
import sys
sys.path.insert(0, sys.argv[3])
from tone_metrics import TONE, cases
from greval import Judge, evaluate
judge = Judge("openai:fake", base_url=sys.argv[1], max_retries=0)
evaluate(cases(3), [TONE], judge, out=sys.argv[2], repeats=3, concurrency=1)
"""


@pytest.mark.nightly
def test_repeats_before_a_kill_are_not_asked_again(fault_server, tmp_path):
    """After kill -9 amid the repeats of a case only those that were not answered are asked; all are counted."""
    done = iter(range(4))
    fault_server.plan = lambda _: fault.ok() if next(done, None) is not None else fault.hangs()
    script = [sys.executable, "-c", textwrap.dedent(KILLED), fault_server.url, str(tmp_path), str(SUPPORT)]
    with subprocess.Popen(script) as process:
        until(lambda: fault_server.calls == 5)
        with ReplyCache(tmp_path / "replies.sqlite") as replies, Store.open(tmp_path) as store:
            until(lambda: replies.size().replies == 4)
            until(lambda: len([*store.results()]) == 1)
        process.send_signal(signal.SIGKILL)
    assert fault_server.calls == 5
    fault_server.plan = fault.ok()
    run = evaluate(cases(3), [TONE], openai(fault_server), out=tmp_path, repeats=3)
    assert fault_server.calls == 5 + 9 - 4
    assert (run.progress.scored, run.progress.kept) == (3, 1)
    assert sum((row.usage for row in run.results()), Usage()).calls == 9
    assert not (tmp_path / "replies.sqlite").exists()


def test_a_batch_that_two_cases_share_is_counted_once(fault_server, tmp_path):
    """Methods that found the same first passages share the call on these, and its cost is counted once."""
    same = [f"passage {n}" for n in range(10)]
    given_cases = [
        Case(id="q", method=method, question="?", chunks=[*same, f"the last of {method}"]) for method in "abcdef"
    ]
    run = evaluate(given_cases, [PASSAGES], openai(fault_server), out=tmp_path, concurrency=1)
    assert run.progress.scored == 6
    assert fault_server.calls == run.progress.usage.calls < 12
    assert run.progress.usage.calls + run.progress.usage.hits == 12


def test_the_cache_serves_other_runs(fault_server, tmp_path):
    """What was answered is a hit in another folder and costs nothing; failures are asked again."""
    cache = tmp_path / "cache.sqlite"
    bad = iter([REFUSAL])
    fault_server.plan = lambda _: next(bad, fault.ok())
    first = evaluate(cases(4), [TONE], openai(fault_server), out=tmp_path / "a", cache=cache, concurrency=1)
    assert (first.progress.failed, fault_server.calls) == (1, 4)
    second = evaluate(cases(4), [TONE], openai(fault_server), out=tmp_path / "b", cache=cache)
    assert (second.progress.scored, fault_server.calls) == (4, 5)
    assert second.progress.usage == Usage(calls=1, hits=3, input_tokens=100, output_tokens=20, cached_tokens=40)
    third = evaluate(cases(4), [TONE], openai(fault_server), out=tmp_path / "c", cache=cache)
    assert third.progress.usage == Usage(hits=4)
    assert fault_server.calls == 5
    evaluate(cases(4), [TONE], openai(fault_server), out=tmp_path / "d")
    assert fault_server.calls == 9


def test_failures_that_may_pass_are_mended_at_the_end(fault_server, tmp_path):
    """Each failed call is made once more at the end of the run, and the counts are those of the rows."""
    counts = Counter()

    def plan(body):
        text = body["messages"][-1]["content"]
        counts[text] += 1
        return fault.ok() if counts[text] > 1 else fault.error(500)

    fault_server.plan = plan
    run = evaluate(cases(6), [BUILT, PASSAGES], openai(fault_server), out=tmp_path)
    progress = run.progress
    assert Counter(row.outcome.status for row in run.results())["scored"] == progress.scored
    assert (progress.done, progress.total) == (12, 12)
    assert progress.done == progress.scored + progress.failed
    fault_server.plan = fault.ok()
    second_run = evaluate(cases(6), [BUILT, PASSAGES], openai(fault_server), out=tmp_path)
    assert (second_run.progress.scored, second_run.progress.kept) == (12, progress.scored)


def test_what_builds_on_a_mended_metric_takes_its_place(tmp_path):
    """When a metric is mended at the end, the one built on it is judged in the place of its failure, counted once."""
    counts = Counter()

    def answer(messages):
        counts[messages[-1].text] += 1
        late = "<item" in messages[-1].text and counts[messages[-1].text] == 1
        return TimeoutError("late") if late else by_metric(messages)

    snapshots = []
    judge = ScriptedJudge(answer)
    run = evaluate(cases(3), [BUILT, PASSAGES], judge, out=tmp_path, on_progress=snapshots.append)
    assert (run.progress.done, run.progress.scored, run.progress.failed) == (6, 6, 0)
    assert len([*run.results()]) == 6
    assert max(snapshot.done for snapshot in snapshots) == 6
    assert len(judge.calls) == run.progress.usage.calls == 9


FAULTS = {"good": None, "late": TimeoutError("late"), "odd": ValueError("odd"), "text": "?", "down": ConnectionError()}


@settings(max_examples=6)
@given(
    st.lists(st.lists(st.sampled_from([*FAULTS]), min_size=1, max_size=5), min_size=1, max_size=7),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from([None, 1, 4, 9]),
)
def test_counts_are_those_of_the_rows(tmp_path_factory, faults, width, twin, cap):
    """Whatever fails when, each snapshot adds up, and the last one is what stands in the log."""
    given_cases = [
        case.model_copy(update={"answer": "Same." if twin else case.answer, "question": "?" if twin else case.question})
        for case in cases(len(faults))
    ]
    plan = iter([fault for several in faults for fault in several])

    def answer(messages):
        return FAULTS[next(plan, "good")] or by_metric(messages)

    snapshots = []
    folder = tmp_path_factory.mktemp("run")
    metrics = [BUILT, PASSAGES, TONE]
    judge = ScriptedJudge(answer)
    for _ in range(2):
        run = evaluate(
            given_cases, metrics, judge, out=folder, concurrency=width, on_progress=snapshots.append, max_calls=cap
        )
        for snapshot in snapshots:
            assert snapshot.done == snapshot.scored + snapshot.skipped + snapshot.failed <= 3 * len(faults)
            assert snapshot.kept <= snapshot.done
        statuses = Counter(row.outcome.status for row in run.results())
        if not run.stopped:
            counted = {"scored": run.progress.scored, "failed": run.progress.failed}
            assert {status: n for status, n in counted.items() if n} == statuses
            assert run.progress.done == 3 * len(faults)
        assert all(later.done >= 0 for _, later in pairwise(snapshots))


def test_a_case_that_says_more_is_kept_beside_the_judgements_that_hold_for_it_too(fault_server, tmp_path):
    """Chunks that a metric does not look at change no judgement; who reads the run's cases sees the newest."""
    judge = Judge("openai:fake", base_url=fault_server.url)
    case = {"id": "q1", "question": "Who?", "expected_answer": "Ada.", "answer": "Ada.", "chunks": ["old"]}
    for chunk in ("old", "new", "new"):
        evaluate([{**case, "chunks": [chunk]}], [load_metric("correctness")], judge, out=tmp_path)
    assert fault_server.calls == 1
    with Store.open(tmp_path) as store:
        assert [kept.chunks[0].text for kept in store.cases()] == ["new"]
    with Store.open(tmp_path, all_rows=True) as store:
        assert [kept.chunks[0].text for kept in store.cases()] == ["old", "new"]


YES = {"reason": "It fits.", "value": 1}


def loop_of(judge, *, log=None, metrics=("correctness",), **options):
    """Return a judging loop in memory, its runnables and its log."""
    runnables = compile_metrics([load_metric(name) for name in metrics], dict.fromkeys(metrics, JudgeClient(judge)))
    return JudgingLoop(MemoryLog() if log is None else log, runnables, RunGuard(), **options)


def asked(number, answer="Ada."):
    return Case(id=f"q{number}", question="Who?", answer=answer, expected_answer="Ada")


async def test_state_stopped():
    """A loop that reads stored results only asks nothing and has no row."""
    judge = ScriptedJudge([YES])
    (row,) = await loop_of(judge, reads_stored_only=True).judge_cases([asked(1)])
    assert (row, judge.calls) == ({}, [])


def test_which_failures_are_retried():
    """Failures that may pass are retried; a wrong key, a refusal or a skip are not; nothing is not."""
    failed = {
        kind: Failed(error=Failure(kind=kind, message="m"))
        for kind in ("timeout", "authentication", "refusal", "dependency")
    }
    row = {"metric": "m", "fingerprint": "f", "judge": "j", "tier": "schema"}
    results = {kind: Result(**row, outcome=outcome) for kind, outcome in failed.items()}
    assert [kind for kind, result in results.items() if is_retryable([result])] == ["timeout", "dependency"]
    assert not is_retryable([None, Result(**row, outcome=Skipped(reason="r"))])
    assert is_retryable([None, *results.values()])
