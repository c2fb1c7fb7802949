"""What ends a run: caps that are kept, a judge that cannot work, and a stop that waits for nobody."""

from __future__ import annotations

import asyncio

import fault_server as fault
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tone_metrics import PASSAGES, TONE, by_metric, cases
from virtual_time import ManualClock, in_virtual_time, now

from greval import Judge, evaluate, evaluate_async
from greval.errors import StoppedError
from greval.judging.model.budget import (
    ASSUMED_OUTPUT_TOKENS,
    MAX_EXCERPT_CHARS,
    MAX_FAILURES_IN_A_ROW,
    MAX_INITIAL_OUTAGE_SECONDS,
    MAX_REFUSALS_IN_A_ROW,
    MAX_UNPROVEN_CALLS,
    MAX_UNREADABLE_IN_A_ROW,
    UNREADABLE_KINDS,
    RunGuard,
)
from greval.judging.model.failures import format_failure_hint
from greval.judging.model.prices import Price, Prices
from greval.judging.model.reply_cache import Reply
from greval.records import Usage
from greval.records.result import Failure
from greval.testing import ScriptedJudge

GOOD = Reply("{}", Usage(calls=1, input_tokens=100, output_tokens=20))
PRICES = Prices(models={"ScriptedJudge": Price(input=1000, output=1000)}, as_of="2026-11-21", source="test")
A_CALL = 0.12
"""What a call of the scripted judge costs by these prices."""


def failing(kind):
    return Reply("", Usage(calls=1), Failure(kind=kind, message=f"it was {kind}"))


def record_replies(guard, *replies):
    """Let a guard see what came of calls."""
    for reply in replies:
        guard.flying += 1
        guard.record_reply(reply)
    return guard


@pytest.mark.parametrize(
    ("kind", "hint"), [("authentication", "set THE_KEY"), ("quota", "see the provider's billing page")]
)
def test_a_first_refusal_of_the_key_ends_the_run(kind, hint):
    """Where nothing was ever answered one refused call is enough; an empty account is told apart from a wrong key."""
    guard = record_replies(RunGuard(hint="set THE_KEY"), failing(kind))
    assert guard.fatal
    assert hint in guard.why
    assert ("refuses the key" in guard.why) == (kind == "authentication")
    assert f"it was {kind}" in guard.why
    with pytest.raises(StoppedError, match=hint):
        guard.admit_call()


@pytest.mark.parametrize(
    ("answered", "kind", "row"),
    [
        (True, "authentication", MAX_REFUSALS_IN_A_ROW),
        (False, "request", MAX_FAILURES_IN_A_ROW),
        (True, "request", None),
        *((False, kind, None) for kind in ("refusal", "content_filter", "length", "context_window")),
    ],
)
def test_failures_in_a_row_that_end_the_run(answered, kind, row):
    """A key that worked is refused five times first; wrong requests end only a run without any answer."""
    guard = RunGuard(max_outage=(0, 0))
    for _ in range(2 if answered else 1):  # an answer begins the count anew
        record_replies(guard, *[GOOD] * answered, *[failing(kind)] * ((row or 100) - 1))
        assert guard.why is None
    assert record_replies(guard, failing(kind)).fatal == (row is not None)


@pytest.mark.parametrize(("answered", "seconds"), [(False, 5), (True, 60)])
@pytest.mark.parametrize("kind", ["connection", "server", "timeout"])
def test_a_dead_endpoint_ends_the_run_after_some_time(kind, answered, seconds):
    """Many failures at once are no end; those of an endpoint that is away for longer are, from the first one on."""
    clock = ManualClock(100)
    guard = record_replies(RunGuard(max_outage=(5, 60), model="openai:m", clock=clock), *[GOOD] * answered)
    clock.seconds = 200  # nothing was asked meanwhile: that is no failure
    record_replies(guard, *[failing(kind)] * (MAX_FAILURES_IN_A_ROW * 2))
    clock.seconds = 199.9 + seconds
    assert record_replies(guard, failing(kind)).why is None
    clock.seconds = 200 + seconds
    assert record_replies(guard, failing(kind)).fatal
    assert kind in guard.why
    assert guard.why.endswith(format_failure_hint(kind, "openai:m"))


def test_rate_limits_never_end_a_run():
    """However often the provider has too many calls, it is there; failures before are then no row."""
    clock = ManualClock(100)
    guard = record_replies(
        RunGuard(max_outage=(5, 5), clock=clock), *[failing("connection")] * (MAX_FAILURES_IN_A_ROW - 1)
    )
    clock.seconds = 106
    record_replies(guard, *[failing("rate_limit")] * 500, *[failing("connection")] * (MAX_FAILURES_IN_A_ROW - 1))
    assert guard.why is None
    clock.seconds = 111
    assert record_replies(guard, failing("connection")).fatal


@settings(max_examples=6)
@given(st.integers(1, 12), st.floats(0.3, 2.0))
def test_max_cost_is_not_exceeded(tmp_path_factory, width, cap):
    """Where each call costs the same a run spends no more than the cap, and nearly all of it."""
    judge = ScriptedJudge(by_metric, delay=0.001)
    folder = tmp_path_factory.mktemp("run")
    run = evaluate(cases(25), [TONE], judge, out=folder, concurrency=width, max_cost=cap, prices=PRICES)
    spent = A_CALL * len(judge.calls)
    assert spent <= cap + 1e-9
    assert run.progress.cost is None or run.progress.cost == pytest.approx(A_CALL * run.progress.done)
    assert run.stopped
    assert "--max-cost" in run.why
    if width == 1 and len(judge.calls):
        assert spent > cap - A_CALL - 1e-9


@settings(max_examples=25)
@given(st.integers(1, 40), st.floats(1, 20), st.booleans())
def test_a_dear_first_call_goes_out_alone(width, cap, fails):
    """Calls that cost a hundred times what was guessed exceed the cap by one call at most, however many want to go."""
    guard = RunGuard(max_cost=cap, cost=lambda usage: usage.output_tokens and usage.output_tokens / 10_000)
    in_flight = []

    async def worker():
        while True:
            await guard.wait_until_allowed()
            guard.admit_call(0)
            in_flight.append(guard.flying)
            await asyncio.sleep(0.0001)
            bad = fails and len(in_flight) == 1
            guard.record_reply(
                failing("timeout") if bad else Reply("{}", Usage(calls=1, input_tokens=0, output_tokens=10_000))
            )

    async def run():
        return await asyncio.gather(*(worker() for _ in range(width)), return_exceptions=True)

    assert {type(end) for end in asyncio.run(run())} == {StoppedError}
    assert guard.spent <= cap + 1e-9
    assert in_flight[0] == 1
    assert width == 1 or cap < 3 or max(in_flight) > 1


async def test_who_waits_for_the_first_call_is_stopped_with_the_run():
    """A stop ends this wait too."""
    guard = RunGuard(max_cost=1, cost=lambda _: None)
    await guard.wait_until_allowed()
    guard.admit_call()
    wait = asyncio.create_task(guard.wait_until_allowed())
    await asyncio.sleep(0)
    guard.stop("over")
    with pytest.raises(StoppedError, match="over"):
        await wait


def test_calls_of_unknown_cost_do_not_make_the_others_cheap():
    """A mean cost is one of calls whose cost is known: failures that told no tokens are not in it."""
    guard = RunGuard(max_cost=1.0, cost=lambda usage: usage.input_tokens and usage.input_tokens / 1000)
    record_replies(
        guard, Reply("{}", Usage(calls=1, input_tokens=400, output_tokens=1)), *[failing("context_window")] * 50
    )
    guard.admit_call(0)
    with pytest.raises(StoppedError, match="max_cost"):
        guard.admit_call(0)


def test_the_first_calls_are_counted_by_a_guess():
    """Before any came back, as many calls go out as fit by their input and some output."""
    price = 1 / ASSUMED_OUTPUT_TOKENS
    guard = RunGuard(max_cost=2.5, cost=lambda usage: (usage.output_tokens or 0) * price)
    for _ in range(2):
        guard.admit_call(10)
    with pytest.raises(StoppedError):
        guard.admit_call(10)


def test_the_first_reason_counts():
    """Who stops first says why."""
    guard = RunGuard()
    guard.stop("one")
    guard.stop("two", fatal=True)
    assert (guard.why, guard.fatal) == ("one", False)


async def test_a_stop_ends_waits_at_once():
    """Who waits for a turn or a next try gets to know at once, and is not cancelled."""
    guard = RunGuard()
    waits = [asyncio.create_task(guard.sleep(60)) for _ in range(3)]
    await asyncio.sleep(0)
    guard.stop("over")
    ends = await asyncio.gather(*waits, return_exceptions=True)
    assert [str(end) for end in ends] == ["over"] * 3
    assert all(isinstance(end, StoppedError) for end in ends)
    with pytest.raises(StoppedError):
        await guard.sleep(0)


@pytest.mark.parametrize("first", ["stop", "cancel"])
async def test_a_cancellation_is_not_taken_for_a_stop(first):
    """Who is cancelled while the run stops is cancelled, whichever came first."""
    guard = RunGuard()
    wait = asyncio.create_task(guard.sleep(60))
    await asyncio.sleep(0)
    steps = [lambda: guard.stop("over"), wait.cancel]
    for step in steps if first == "stop" else reversed(steps):
        step()
    with pytest.raises(asyncio.CancelledError):
        await wait
    assert wait.cancelled()


@pytest.mark.parametrize(
    "behaviour", [fault.error(503, Retry_After="30"), fault.error(429, Retry_After="30")], ids=["backoff", "pace"]
)
@in_virtual_time
async def test_a_stop_does_not_wait_for_retries(tmp_path, behaviour):
    """A run whose calls wait to be made again, or for the provider's limit, ends at once where it is stopped."""
    stop, start = asyncio.Event(), now()
    asyncio.get_running_loop().call_later(0.5, stop.set)
    async with fault.FaultServer(behaviour) as server:
        judge = Judge("openai:fake", base_url=server.url, max_retries=3)
        run = await evaluate_async(cases(30), [TONE], judge, out=tmp_path, concurrency=4, stop=stop)
    assert now() - start == 0.5
    assert 0 < server.calls < 30
    assert run.stopped
    assert not run.fatal
    assert run.progress.done == 0


@in_virtual_time
async def test_a_cancelled_run_is_cancelled(tmp_path):
    """Cancelling a run, also one that was asked to stop, ends it as a cancelled task."""
    stop, start = asyncio.Event(), now()
    async with fault.FaultServer(fault.hangs()) as server:
        judge = Judge("openai:fake", base_url=server.url)
        run = asyncio.create_task(evaluate_async(cases(9), [TONE], judge, out=tmp_path, stop=stop))
        await asyncio.sleep(1)
        assert server.calls
        stop.set()
        await asyncio.sleep(1)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert now() - start == 2


@in_virtual_time
async def test_a_dead_endpoint_ends_a_run(tmp_path):
    """Where nobody is there a run of many cases ends by itself, in seconds."""
    async with fault.FaultServer() as server:
        address = server.url
    start = now()
    judge = Judge("openai:fake", base_url=address, max_retries=2)
    run = await evaluate_async(cases(3000), [TONE], judge, out=tmp_path)
    assert run.fatal
    assert "calls in a row failed" in run.why
    assert MAX_INITIAL_OUTAGE_SECONDS <= now() - start < 2 * MAX_INITIAL_OUTAGE_SECONDS


FIRST, LATER = MAX_UNREADABLE_IN_A_ROW
MALFORMED = Failure(kind="malformed", message="no JSON object was found", raw="I think it is fine.")
NO_VERDICT = fault.says("I think that this answer is rather fine, all in all.")


def record_answers(guard, *answers, metric="tone"):
    """Let a guard see what was read of answers: None is a verdict."""
    for answer in answers:
        guard.record_answer(metric, answer)
    return guard


@pytest.mark.parametrize("width", [1, 8, 50])
def test_a_judge_that_gives_no_verdict_ends_the_run_after_a_few_dozen_calls(fault_server, tmp_path, width):
    """However many calls want to go out and however many cases there are; what the judge said is in the reason."""
    fault_server.plan = NO_VERDICT
    fault_server.latency = 0.05  # so that as many are in flight as may be
    judge = Judge("openai:fake", base_url=fault_server.url)
    run = evaluate(cases(2000), [TONE], judge, out=tmp_path, concurrency=width)
    assert run.fatal
    assert FIRST <= fault_server.calls < FIRST + MAX_UNPROVEN_CALLS
    assert fault_server.most <= MAX_UNPROVEN_CALLS
    assert "40 answers of the judge in a row held no verdict that can be read" in run.why
    assert "began 'I think that this answer is rather fine, all in all.'" in run.why
    assert "greval judge check" in run.why
    assert {row.failures[0].kind for row in run.results()} <= {"malformed"}  # others were not asked twice


def test_the_run_goes_on_with_a_judge_that_can(fault_server, tmp_path):
    """What was failed and what was never asked is asked by the same command once the judge answers."""
    fault_server.plan = NO_VERDICT
    judge = Judge("openai:fake", base_url=fault_server.url)
    assert evaluate(cases(60), [TONE], judge, out=tmp_path).fatal
    fault_server.plan = fault.ok()
    run = evaluate(cases(60), [TONE], judge, out=tmp_path)
    assert (run.why, run.progress.scored) == (None, 60)


def test_a_few_stubborn_cases_of_a_judge_that_worked_end_nothing(fault_server, tmp_path):
    """A second command on a run that holds verdicts asks for what failed, and there every answer may be bad."""
    bad = {f"answer {n}" for n in range(FIRST)}

    def plan(body):
        return NO_VERDICT if any(f"{one}\n" in body["messages"][1]["content"] for one in bad) else fault.ok()

    rows = [{"id": f"q{n}", "question": "Well?", "answer": f"answer {n}\n"} for n in reversed(range(FIRST + 5))]
    fault_server.plan = plan
    judge = Judge("openai:fake", base_url=fault_server.url)
    first = evaluate(rows, [TONE], judge, out=tmp_path, concurrency=1, retry_failed=False)
    assert (first.why, first.progress.failed) == (None, FIRST)
    first_calls = fault_server.calls
    second_run = evaluate(rows, [TONE], judge, out=tmp_path, concurrency=1)
    assert (second_run.why, second_run.progress.failed) == (None, FIRST)
    assert fault_server.calls - first_calls > FIRST


def test_one_metric_that_cannot_be_read_ends_the_run_beside_one_that_can(tmp_path):
    """Each metric has a row of its own: verdicts of another one do not hide that it has none."""

    def answer(messages):
        return by_metric(messages) if "tone" in messages[0].text.lower()[:400] else "no verdict"

    judge = ScriptedJudge(answer)
    run = evaluate(cases(300), [TONE, PASSAGES], judge, out=tmp_path, concurrency=1)
    assert run.fatal
    assert "the last on passages" in run.why.lower()
    assert len(judge.calls) < 4 * FIRST


@pytest.mark.parametrize("kind", ["refusal", "content_filter", "context_window", "timeout", "rate_limit"])
def test_what_is_about_one_case_or_the_endpoint_is_no_unreadable_answer(kind):
    """A refusal neither adds to the row nor ends it."""
    lost = Failure(kind=kind, message="lost")
    assert record_answers(RunGuard(), *[lost] * (LATER * 2)).why is None
    assert record_answers(RunGuard(), *[MALFORMED] * (FIRST - 1), lost, MALFORMED).fatal


def test_metrics_count_together_until_a_first_verdict():
    """Five metrics of a judge that can do none of them cost no more calls than one."""
    guard = RunGuard()
    for n in range(FIRST):
        assert guard.why is None
        record_answers(guard, MALFORMED, metric=f"m{n % 5}")
    assert guard.fatal


def test_a_judge_that_never_judged_the_case_ends_no_single_call():
    """Outside a run there is nothing to end."""
    assert record_answers(RunGuard(watchful=False), *[MALFORMED] * (LATER + 1)).why is None


@given(
    st.sampled_from(sorted(UNREADABLE_KINDS)),
    st.lists(st.tuples(st.booleans(), st.sampled_from([1, FIRST - 1, FIRST, 250, LATER])), max_size=5),
    st.booleans(),
)
def test_a_run_ends_exactly_where_the_row_is_long_enough(kind, parts, before):
    """For any sequence of verdicts and answers without one: the row since the last verdict counts, and nothing else."""
    guard = RunGuard()
    guard.was_read = lambda _: before
    row, proven, over = 0, before, False
    for good, count in parts:
        for _ in range(count):
            record_answers(guard, None if good else Failure(kind=kind, message="bad", raw="so"))
            row, proven = (0, True) if good else (row + 1, proven)
            over = over or row >= (LATER if proven else FIRST)
            assert (guard.why is not None) == over


def test_what_the_judge_said_is_told_safely(monkeypatch):
    """On one line, without keys or control characters, and cut; an empty answer is told as one."""
    monkeypatch.setenv("MY_API_KEY", "a-very-private-word")
    answer = "a-very-private-word\x1b[31m\n\u202e " + "long " * 100
    why = record_answers(RunGuard(), *[Failure(kind="malformed", message="m", raw=answer)] * FIRST).why
    assert "private" not in why
    assert why.isprintable()
    assert len(why) < 4 * MAX_EXCERPT_CHARS + 200
    assert "which was empty" in record_answers(RunGuard(), *[Failure(kind="malformed", message="m")] * FIRST).why
