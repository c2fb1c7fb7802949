"""Runs: every case is judged once, failures are rows, and the same run again asks only what is missing."""

import asyncio
import json
import sqlite3
import sys
from collections import Counter
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases

from greval import Case, ComputedMetric, MeasureScale, Store, evaluate, evaluate_async
from greval.datasets.row_faults import RowFault
from greval.errors import DataWarning, StoreError
from greval.metrics.computed import COMPUTED_METRICS
from greval.runs.store import FILE
from greval.testing import ScriptedJudge


def test_each_case_is_judged_by_each_metric_once(tmp_path):
    """Cases times metrics rows are in the log, each asked once."""
    judge = ScriptedJudge(by_metric)
    run = evaluate(cases(7), [TONE, PASSAGES], judge, out=tmp_path / "run", concurrency=3)
    rows = [*run.results()]
    assert Counter(row.metric for row in rows) == {"tone": 7, "passages": 7}
    assert {row.sample_id for row in rows} == {f"q{i}" for i in range(7)}
    assert all(row.outcome.status == "scored" for row in rows)
    assert len(judge.calls) == 14
    assert run.progress.usage.calls == 14


def test_only_the_items_that_failed_are_asked_again(tmp_path):
    """What was judged of a case's chunks is kept; the missing chunk alone is asked again."""
    nothing = {"judgements": []}
    partly = ScriptedJudge([{"judgements": [{"item": 1, "reason": "r", "value": "Good"}]}, nothing, nothing, nothing])
    first = evaluate(cases(1), [PASSAGES], partly, out=tmp_path)
    assert (first.progress.items_failed, first.progress.usage.calls) == (1, 4)
    second_judge = ScriptedJudge(by_metric)
    second = evaluate(cases(1), [PASSAGES], second_judge, out=tmp_path)
    (row,) = second.results()
    assert [(j.item, j.value) for j in row.judgements] == [("c1", "Good"), ("c2", "Bad")]
    assert row.failures == ()
    assert row.usage.calls == 1
    assert "\nb\n" in second_judge.calls[0][-1].text
    assert "\na\n" not in second_judge.calls[0][-1].text


@pytest.mark.parametrize("change", ["case", "metric", "judge"])
def test_what_changed_is_judged_anew_and_the_old_rows_stay(tmp_path, change):
    """A changed case, definition or judge has another key; the newest row counts."""
    evaluate(cases(2), [TONE], ScriptedJudge(by_metric), out=tmp_path)
    judge = ScriptedJudge(by_metric, tier="text") if change == "judge" else ScriptedJudge(by_metric)
    metric = TONE.model_copy(update={"description": "The tone of voice."}) if change == "metric" else TONE
    changed = [case.model_copy(update={"answer": "New."}) for case in cases(2)] if change == "case" else cases(2)
    run = evaluate(changed, [metric], judge, out=tmp_path)
    assert len(judge.calls) == 2
    assert len([*run.results()]) == 2
    with Store.open(tmp_path) as store:
        assert store._connection.execute("SELECT count(*) FROM results").fetchone() == (4,)


def test_a_metric_sees_only_the_items_it_builds_on(tmp_path):
    """The metric built on is judged first, and what it did not call good is not shown."""
    judge = ScriptedJudge(by_metric)
    run = evaluate(cases(1), [BUILT, PASSAGES], judge, out=tmp_path)
    assert {row.metric for row in run.results()} == {"passages", "built"}
    shown_text = next(call for call in judge.calls if "built" in call[0].text)[-1].text
    assert "\na\n" in shown_text
    assert "\nb\n" not in shown_text


def test_a_narrowing_that_leaves_nothing_is_judged(tmp_path):
    """Where no chunk was good the metric is still judged, on no chunks, and not skipped."""
    judge = ScriptedJudge(by_metric)
    run = evaluate([Case(id="q", question="?", answer="A.", chunks=["b"])], [BUILT, PASSAGES], judge, out=tmp_path)
    assert {row.metric: row.outcome.status for row in run.results()} == {"passages": "scored", "built": "scored"}
    assert "(none)" in judge.calls[-1][-1].text


def test_a_metric_built_on_a_failure_fails_as_such(tmp_path):
    """Where a chunk could not be judged, what builds on it fails as a dependency and asks nothing; both are mended."""
    judge = ScriptedJudge(lambda messages: "no JSON" if "<item" in str(messages) else by_metric(messages))
    run = evaluate(cases(1), [BUILT, PASSAGES], judge, out=tmp_path)
    failed = {row.metric: row.failures[0].kind for row in run.results()}
    assert failed == {"passages": "malformed", "built": "dependency"}
    mended = evaluate(cases(1), [BUILT, PASSAGES], ScriptedJudge(by_metric), out=tmp_path)
    assert {row.outcome.status for row in mended.results()} == {"scored"}


def test_rows_that_are_no_cases_stop_nothing(tmp_path):
    """A bad row is written down with its place, the others are judged."""
    rows = [cases(1)[0], RowFault(place="f.jsonl:2", message="question: missing", id=None), {"answer": "no question"}]
    with pytest.warns(DataWarning, match=r"2 of 3 rows are no cases .*:\nf.jsonl:2: question: missing"):
        run = evaluate(rows, [TONE], ScriptedJudge(by_metric), out=tmp_path)
    assert (run.progress.done, run.progress.unread) == (1, 2)
    with Store.open(tmp_path) as store:
        unread = store.fact("unread")
    assert unread[0] == "f.jsonl:2: question: missing"
    assert unread[1].startswith("cases, row 3: question")


@pytest.mark.parametrize("part", [{"id": "\ud800"}, {"tags": {"t": "\udfff"}}, {"answer": "\ud83d"}])
def test_a_case_that_cannot_be_written_stops_nothing(tmp_path, part):
    """Half a surrogate pair anywhere in a case is told as that case's fault; the others are judged."""
    bad = {"id": "bad", "question": "?", "answer": "A.", **part}
    told: list[str] = []
    run = evaluate([bad, *cases(2)], [TONE], ScriptedJudge(by_metric), out=tmp_path, on_unread=told.append)
    assert (run.progress.done, run.progress.unread) == (2, 1)
    assert "half of a character" in told[0]


def test_cases_are_read_as_they_are_needed(tmp_path):
    """A stream is not read ahead of the workers: memory holds what is in flight."""
    judge = ScriptedJudge(by_metric)
    ahead = []

    def stream():
        for number, case in enumerate(cases(50)):
            ahead.append(number - len(judge.calls))
            yield case

    evaluate(stream(), [TONE], judge, out=tmp_path, concurrency=4)
    assert max(ahead) <= 4


def test_calls_in_flight_are_bounded_over_all_metrics(tmp_path):
    """Never more calls are in flight than were asked for, however many metrics and items there are."""
    flying, most = 0, 0

    class Counting(ScriptedJudge):
        async def _agenerate(self, *args, **kwargs):
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            try:
                return await super()._agenerate(*args, **kwargs)
            finally:
                flying -= 1

    evaluate(cases(12), [TONE, PASSAGES, BUILT], Counting(by_metric, delay=0.002), out=tmp_path, concurrency=3)
    assert most == 3


def test_a_lost_folder_ends_the_run_with_an_error_of_ours(tmp_path):
    """Where the log cannot be written any more the run ends with one StoreError, not a group of tracebacks."""

    def pull(progress):
        with closing(sqlite3.connect(tmp_path / FILE)) as other:
            other.execute("DROP TABLE results")

    with pytest.raises(StoreError):
        evaluate(cases(30), [TONE], ScriptedJudge(by_metric), out=tmp_path, on_progress=pull)


async def test_a_stopped_run_finishes_what_is_in_flight(tmp_path):
    """After the stop no case is begun; those begun are written; the same run then finishes the rest."""
    stop = asyncio.Event()

    def after_three(progress):
        if progress.done == 3:
            stop.set()

    judge = ScriptedJudge(by_metric)
    run = await evaluate_async(
        cases(20), [TONE], judge, out=tmp_path, concurrency=2, on_progress=after_three, stop=stop
    )
    assert run.stopped
    assert len([*run.results()]) == len(judge.calls) < 8
    second_judge = ScriptedJudge(by_metric)
    done = await evaluate_async(cases(20), [TONE], second_judge, out=tmp_path)
    assert len(judge.calls) + len(second_judge.calls) == 20
    assert len([*done.results()]) == 20


class ClosedGate:
    """Lets nothing in."""

    def __init__(self):
        self.reached = asyncio.Event()

    async def __aenter__(self):
        self.reached.set()
        await asyncio.Event().wait()

    async def __aexit__(self, *_):
        raise AssertionError


async def test_a_stopped_run_does_not_wait_for_its_turn(tmp_path):
    """Calls that wait at a gate are given up, so that a run ends even if nothing opens it any more."""
    stop, gate, judge = asyncio.Event(), ClosedGate(), ScriptedJudge(by_metric)
    task = asyncio.create_task(evaluate_async(cases(5), [TONE], judge, out=tmp_path, stop=stop, gate=gate))
    await gate.reached.wait()
    stop.set()
    run = await task
    assert (run.stopped, [*run.results()], judge.calls) == (True, [], [])


async def test_a_run_of_computed_metrics_is_stopped_too(tmp_path):
    """Computed metrics wait for nothing, and still a run of them stops when it is asked to, and goes on later."""
    stop, total = asyncio.Event(), 5_000
    timed_cases = [Case(id=f"q{number}", question="Who?", usage={"latency": number}) for number in range(total)]

    def ask_to_stop(_):
        asyncio.get_running_loop().call_soon(stop.set)

    options = {"out": tmp_path, "stop": stop, "on_progress": ask_to_stop}
    run = await evaluate_async(timed_cases, [COMPUTED_METRICS["latency"]], **options)
    assert run.stopped
    open_count = run.progress.total - run.progress.done
    assert 0 < open_count < total
    last = await evaluate_async(timed_cases, [COMPUTED_METRICS["latency"]], out=tmp_path)
    assert (last.progress.done, last.progress.scored, last.progress.kept) == (total, total, total - open_count)


@settings(max_examples=12)
@given(st.lists(st.sampled_from(["good", "off", "text", "late"]), min_size=1, max_size=12), st.integers(1, 5))
def test_no_mix_of_faults_loses_or_falsifies_a_row(tmp_path_factory, faults, width):
    """Whatever a judge does, each case has exactly one row, scored only where the judge was good."""
    answers = {"good": {"reason": "r", "value": "Polite"}, "off": {"reason": "r", "value": "x"}, "text": "?"}

    def answer(messages):
        kind = faults[int(messages[1].text.split("Question ")[1].split("?")[0])]
        return answers.get(kind, TimeoutError("late"))

    folder = tmp_path_factory.mktemp("run")
    run = evaluate(cases(len(faults)), [TONE], ScriptedJudge(answer), out=folder, concurrency=width)
    rows = {row.sample_id: row for row in run.results()}
    kinds = {"off": "off_scale", "text": "malformed", "late": "timeout"}
    assert len(rows) == len(faults)
    for number, fault in enumerate(faults):
        row = rows[f"q{number}"]
        assert (row.outcome.status == "scored") == (fault == "good")
        assert [failure.kind for failure in row.failures] == ([kinds[fault]] if fault in kinds else [])
        assert json.loads(row.model_dump_json())["outcome"]["status"] in {"scored", "failed"}


def test_callbacks_of_the_config_see_every_call(tmp_path):
    """A tracer given with the config is told of each judgement and each call of the model."""

    class Seen(BaseCallbackHandler):
        chains = 0
        models = 0

        def on_chain_start(self, *_, **__):
            self.chains += 1

        def on_chat_model_start(self, *_, **__):
            self.models += 1

    callbacks = Seen()
    evaluate(cases(3), [TONE], ScriptedJudge(by_metric), out=tmp_path, config={"callbacks": [callbacks]})
    assert (callbacks.chains, callbacks.models) == (3, 3)


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_code_of_a_user_that_ends_the_program_fails_a_row(tmp_path, end):
    """A chat model or a function that calls `sys.exit` fails its judgement, and the run goes on to its end."""

    def compute(case):
        if case.id == "q1":
            raise end
        return 1

    metric = ComputedMetric(
        name="own", description="Own.", needs=["answer"], scale=MeasureScale(low=0.0, high=1.0), compute=compute
    )
    judge = ScriptedJudge(lambda messages: end if "Question 2?" in messages[-1].text else by_metric(messages))
    run = evaluate(cases(20), [TONE, metric], judge, out=tmp_path)
    failures = {(row.sample_id, row.metric): row.failures[0].message for row in run.results() if row.failures}
    assert {*failures} == {("q1", "own"), ("q2", "tone")}
    assert all(type(end).__name__ in message for message in failures.values())
    assert run.progress.scored == 38


def test_a_callback_that_ends_the_program_ends_the_run(tmp_path):
    """The caller gets the exit of a function that judges nothing; what was judged is kept."""
    with pytest.raises(SystemExit):
        evaluate(cases(5), [TONE], ScriptedJudge(by_metric), out=tmp_path, on_result=lambda _: sys.exit(4))
    run = evaluate(cases(5), [TONE], ScriptedJudge(by_metric), out=tmp_path)
    assert run.progress.kept >= 1
