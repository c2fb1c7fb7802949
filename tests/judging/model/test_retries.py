"""Retries: only failures that may pass, never more often than was said, and not sooner than was asked for."""

from __future__ import annotations

import asyncio
from typing import get_args

import fault_server as fault
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tone_metrics import TONE, cases
from virtual_time import in_virtual_time, now

from greval import Judge
from greval._util.concurrency import measure_work
from greval.errors import StoppedError
from greval.judging.model.reply_cache import Reply
from greval.judging.model.wait_times import (
    FIRST_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
    TRANSIENT_FAILURES,
    call_with_retries,
)
from greval.records.result import Failure, FailureKind, Usage
from greval.runs.runnable import compile_metric

KINDS = get_args(FailureKind)


def failing(kind, pause=None):
    """Give the reply of a call that failed so; None gives a good one."""
    return Reply("", Usage(calls=1), Failure(kind=kind, message="no") if kind else None, pause=pause)


def tried(replies, retries):
    """Make calls with these replies, the last one for ever; give the last reply, the calls, and the waits."""
    attempts, slept = [], []

    async def attempt():
        attempts.append(replies[min(len(attempts), len(replies) - 1)])
        return attempts[-1]

    async def sleep(seconds):
        slept.append(seconds)

    return asyncio.run(call_with_retries(retries, attempt, sleep)), attempts, slept


@given(st.lists(st.sampled_from([*KINDS, None]), min_size=1, max_size=9), st.integers(0, 6))
def test_exactly_what_may_pass_is_made_again(kinds, retries):
    """A call is made until it succeeds or fails for good, never more than the retries and one."""
    last, attempts, slept = tried([failing(kind) for kind in kinds], retries)
    ends = next((n for n, kind in enumerate(kinds, 1) if kind not in TRANSIENT_FAILURES), retries + 1)
    assert len(attempts) == min(ends, retries + 1)
    assert last is attempts[-1]
    assert len(slept) == len(attempts) - 1


@given(st.sampled_from(sorted(TRANSIENT_FAILURES)), st.floats(0.01, 250), st.integers(1, 6))
def test_the_pause_that_was_asked_for_is_waited_for(kind, pause, retries):
    """Each wait is at least as long as the provider asked, also beyond the ceiling of our own."""
    _, _, slept = tried([failing(kind, pause)], retries)
    assert len(slept) == retries
    assert all(pause <= seconds <= pause + MAX_BACKOFF_SECONDS for seconds in slept)


def test_waits_grow_and_spread():
    """Without such a wish the waits are random, below a ceiling that doubles."""
    _, _, slept = tried([failing("server")], 6)
    assert all(0 <= seconds <= FIRST_BACKOFF_SECONDS * 2**n for n, seconds in enumerate(slept))
    assert len({*slept}) == len(slept)


async def test_a_stop_while_waiting_goes_through():
    """Where the wait is ended because the run stopped, that is raised and no call is made."""
    attempts = []

    async def attempt():
        attempts.append(1)
        return failing("server")

    async def stopped(_):
        raise StoppedError("over")

    with pytest.raises(StoppedError, match="over"):
        await call_with_retries(3, attempt, stopped)
    assert len(attempts) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        fault.error(429, Retry_After="0"),
        fault.error(503),
        fault.error(500),
        fault.error(408),
        fault.resets(),
        fault.breaks_off(),
    ],
    ids=["429", "503", "500", "408", "reset", "a body that breaks off"],
)
def test_over_http_what_may_pass_is_asked_again(fault_server, behaviour):
    """The call is made again once, and what it gives counts, with the calls of both in the usage."""
    fault_server.plan = [behaviour, fault.ok()]
    result = compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url, max_retries=1)).invoke(cases(1)[0])
    assert result.outcome.status == "scored"
    assert (fault_server.calls, result.usage.calls, result.usage.input_tokens) == (2, 2, 100)
    fault_server.plan = behaviour
    result = compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url, max_retries=1)).invoke(cases(1)[0])
    assert result.failures[0].kind in TRANSIENT_FAILURES
    assert (fault_server.calls, result.usage.calls) == (4, 2)


@in_virtual_time
async def test_the_pause_before_a_retry_is_waiting():
    """Only the calls are work: an answer that is asked for again takes its own time and that of the refusal."""
    replies = iter([fault.error(503, Retry_After="30"), fault.ok()])
    async with fault.FaultServer(lambda _: next(replies), latency=1.5) as server:
        runnable = compile_metric(TONE, Judge("openai:fake", base_url=server.url, max_retries=1))
        with measure_work() as spent:
            await runnable.ainvoke(cases(1)[0])
    assert spent.worked == 3
    assert 30 <= spent.waited <= 30 + FIRST_BACKOFF_SECONDS


@pytest.mark.parametrize("silence", [fault.hangs(), fault.trickles()], ids=["silent", "a trickle"])
@in_virtual_time
async def test_a_hanging_call_costs_one_timeout(silence):
    """A call that hangs is given up after its timeout and asked again."""
    times = []

    def plan(_):
        times.append(now())
        return fault.ok() if len(times) > 1 else silence

    async with fault.FaultServer(plan) as server:
        judge = Judge("openai:fake", base_url=server.url, timeout=4, max_retries=1)
        result = await compile_metric(TONE, judge).ainvoke(cases(1)[0])
    assert 4 <= times[1] - times[0] <= 4 + FIRST_BACKOFF_SECONDS
    assert now() == times[1]
    assert (result.outcome.status, server.calls, result.usage.calls) == ("scored", 2, 2)
