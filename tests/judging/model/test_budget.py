"""What ends a run: caps that are kept, a judge that cannot work, and a stop that waits for nobody."""

from __future__ import annotations

import asyncio

import fault_server as fault
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tone_metrics import TONE, by_metric, cases
from virtual_time import ManualClock, in_virtual_time, now

from greval import Judge, evaluate, evaluate_async
from greval.errors import StoppedError
from greval.judging.model.budget import (
    ASSUMED_OUTPUT_TOKENS,
    MAX_FAILURES_IN_A_ROW,
    MAX_INITIAL_OUTAGE_SECONDS,
    MAX_REFUSALS_IN_A_ROW,
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


def told(guard, *replies):
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
    guard = told(RunGuard(hint="set THE_KEY"), failing(kind))
    assert guard.fatal
    assert hint in guard.why
    assert ("refuses the key" in guard.why) == (kind == "authentication")
    assert f"it was {kind}" in guard.why
    with pytest.raises(StoppedError, match=hint):
        guard.admit_call()


def test_a_key_that_worked_is_given_up_after_five():
    """Once a call was answered, five refusals in a row are needed; an answer begins the count anew."""
    guard = told(RunGuard(), GOOD, *[failing("authentication")] * (MAX_REFUSALS_IN_A_ROW - 1))
    assert guard.why is None
    told(guard, GOOD, *[failing("authentication")] * (MAX_REFUSALS_IN_A_ROW - 1))
    assert guard.why is None
    assert told(guard, failing("authentication")).fatal


def test_wrong_requests_without_any_answer_end_the_run():
    """Twenty wrong requests in a row with no answer at all end it; after an answer they are single cases."""
    guard = told(RunGuard(), *[failing("request")] * (MAX_FAILURES_IN_A_ROW - 1))
    assert guard.why is None
    assert told(guard, failing("request")).fatal
    assert told(RunGuard(), GOOD, *[failing("request")] * (MAX_FAILURES_IN_A_ROW * 5)).why is None


@pytest.mark.parametrize("kind", ["refusal", "content_filter", "length", "context_window"])
def test_what_a_judge_says_of_a_case_ends_nothing(kind):
    """A judge that answers, with whatever, works."""
    assert told(RunGuard(max_outage=(0, 0)), *[failing(kind)] * 100).why is None


@pytest.mark.parametrize("kind", ["connection", "server", "timeout"])
def test_a_dead_endpoint_ends_the_run_after_some_time(kind):
    """Twenty failures at once are no end; those of an endpoint that is away for longer are."""
    clock = ManualClock(100)
    guard = told(
        RunGuard(max_outage=(5, 60), model="openai:m", clock=clock), *[failing(kind)] * (MAX_FAILURES_IN_A_ROW * 2)
    )
    assert guard.why is None
    clock.seconds = 104.9
    assert told(guard, failing(kind)).why is None
    clock.seconds = 105
    assert told(guard, failing(kind)).fatal
    assert kind in guard.why
    assert guard.why.endswith(format_failure_hint(kind, "openai:m"))


def test_an_endpoint_that_worked_may_be_away_longer():
    """After an answer the longer time counts, from the first failure on."""
    clock = ManualClock(100)
    guard = told(RunGuard(max_outage=(0, 60), clock=clock), GOOD)
    clock.seconds = 200  # nothing was asked meanwhile: that is no failure
    told(guard, *[failing("connection")] * (MAX_FAILURES_IN_A_ROW + 1))
    clock.seconds = 259
    assert told(guard, failing("connection")).why is None
    clock.seconds = 260
    assert told(guard, failing("connection")).fatal


def test_rate_limits_never_end_a_run():
    """However often the provider has too many calls, it is there; failures before are then no row."""
    clock = ManualClock(100)
    guard = told(RunGuard(max_outage=(5, 5), clock=clock), *[failing("connection")] * (MAX_FAILURES_IN_A_ROW - 1))
    clock.seconds = 106
    told(guard, *[failing("rate_limit")] * 500, *[failing("connection")] * (MAX_FAILURES_IN_A_ROW - 1))
    assert guard.why is None
    clock.seconds = 111
    assert told(guard, failing("connection")).fatal


@settings(max_examples=6)
@given(st.integers(1, 12), st.integers(1, 20))
def test_max_calls_is_kept_exactly(tmp_path_factory, width, cap):
    """Whatever the width, a run makes as many calls as the cap allows and no more."""
    judge = ScriptedJudge(by_metric, delay=0.001)
    folder = tmp_path_factory.mktemp("run")
    run = evaluate(cases(14), [TONE], judge, out=folder, concurrency=width, max_calls=cap)
    assert len(judge.calls) == min(cap, 14)
    assert run.stopped == (cap < 14)
    assert len([*run.results()]) == min(cap, 14)
    assert not run.fatal
    rest = ScriptedJudge(by_metric)
    evaluate(cases(14), [TONE], rest, out=folder)
    assert len(judge.calls) + len(rest.calls) == 14


@in_virtual_time
async def test_max_calls_counts_attempts(tmp_path):
    """Calls that are made again count too."""
    async with fault.FaultServer(fault.error(503, Retry_After="0")) as server:
        judge = Judge("openai:fake", base_url=server.url, max_retries=3)
        run = await evaluate_async(cases(9), [TONE], judge, out=tmp_path, concurrency=3, max_calls=5)
    assert server.calls == 5
    assert "--max-calls" in run.why


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


@pytest.mark.parametrize("width", [8, 64])
def test_a_cap_holds_for_dear_calls_side_by_side(tmp_path, width):
    """However many calls want to go out at once, those whose price nobody knows yet wait for the first."""
    judge = ScriptedJudge(by_metric, delay=0.01)
    run = evaluate(cases(200), [TONE], judge, out=tmp_path, concurrency=width, max_cost=1.0, prices=PRICES)
    assert A_CALL * len(judge.calls) <= 1.0 + 1e-9
    assert run.stopped


@settings(max_examples=25)
@given(st.integers(1, 40), st.floats(1, 20), st.booleans())
def test_a_dear_first_call_goes_out_alone(width, cap, fails):
    """Calls that cost a hundred times what was guessed exceed the cap by one call at most, however many want to go."""
    guard = RunGuard(max_cost=cap, cost=lambda usage: usage.output_tokens and usage.output_tokens / 10_000)
    made = []

    async def worker():
        while True:
            await guard.wait_until_allowed()
            guard.admit_call(0)
            made.append(guard.flying)
            await asyncio.sleep(0.0001)
            bad = fails and len(made) == 1
            guard.record_reply(
                failing("timeout") if bad else Reply("{}", Usage(calls=1, input_tokens=0, output_tokens=10_000))
            )

    async def run():
        return await asyncio.gather(*(worker() for _ in range(width)), return_exceptions=True)

    assert {type(end) for end in asyncio.run(run())} == {StoppedError}
    assert guard.spent <= cap + 1e-9
    assert made[0] == 1
    assert width == 1 or cap < 3 or max(made) > 1


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
    told(guard, Reply("{}", Usage(calls=1, input_tokens=400, output_tokens=1)), *[failing("context_window")] * 50)
    guard.admit_call(0)
    with pytest.raises(StoppedError, match="max-cost"):
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
async def test_calls_in_flight_come_to_their_end(tmp_path):
    """What is out when the run is stopped is waited for and written down."""
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.75, stop.set)
    async with fault.FaultServer(latency=0.5) as server:
        judge = Judge("openai:fake", base_url=server.url)
        run = await evaluate_async(cases(30), [TONE], judge, out=tmp_path, concurrency=4, stop=stop)
    assert server.calls == 1 + 4  # the first call of a judge is alone
    assert [row.outcome.status for row in run.results()] == ["scored"] * 5


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
    async with fault.FaultServer() as gone:
        address = gone.url
    start = now()
    judge = Judge("openai:fake", base_url=address, max_retries=2)
    run = await evaluate_async(cases(3000), [TONE], judge, out=tmp_path)
    assert run.fatal
    assert "calls in a row failed" in run.why
    assert MAX_INITIAL_OUTAGE_SECONDS <= now() - start < 2 * MAX_INITIAL_OUTAGE_SECONDS
