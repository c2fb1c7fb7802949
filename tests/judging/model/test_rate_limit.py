"""The pace of calls: limits a minute, turns, refusals, and what a provider asks for in its headers."""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import fault_server as fault
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tone_metrics import PASSAGES, TONE, cases
from virtual_time import in_virtual_time, now

from greval import Judge, evaluate_async
from greval.judging.model import rate_limit as pacing
from greval.judging.model.client import JudgeClient
from greval.judging.model.rate_limit import MAX_UNPROVEN_CALLS, PAUSE_AFTER_REFUSALS, RateBucket, RateLimiter
from greval.judging.model.wait_times import MAX_PAUSE_SECONDS, parse_wait
from greval.runs.runnable import compile_metric

ROUNDING = 1e-6


class Owner:
    """Whoever sets a limit."""


OWNER = Owner()


def taken(bucket, gaps, amount=1):
    """Give when things are taken: each after its gap, and not before the bucket lets it."""
    now, times = 1000.0, []
    for gap in gaps:
        now += gap
        now += bucket.compute_wait(now)
        bucket.take(amount, now)
        times.append(now)
    return times


@given(st.integers(1, 40), st.lists(st.sampled_from([0, 0, 0, 0.1, 1, 7, 61]), min_size=100, max_size=140))
def test_no_minute_has_more_than_its_limit(limit, gaps):
    """Whenever things are taken, no half-open minute holds more than the limit."""
    times = taken(RateBucket(limit), gaps)
    for first, last in zip(times, times[limit:], strict=False):
        assert last - first >= 60 - ROUNDING


@settings(max_examples=20)
@given(st.integers(100, 3000), st.lists(st.tuples(st.integers(1, 500), st.floats(0, 90)), max_size=6))
def test_no_minute_has_more_than_a_high_limit(limit, pauses):
    """The same where a second's worth may be taken at once, and after pauses."""
    gaps = [0.0] * (2 * limit)
    for position, pause in pauses:
        gaps[position % len(gaps)] = pause
    times = taken(RateBucket(limit), gaps)
    for first, last in zip(times, times[limit:], strict=False):
        assert last - first >= 60 - ROUNDING


@pytest.mark.parametrize("limit", [1, 7, 60, 600, 10_000])
def test_the_even_rate_is_reached(limit):
    """Who takes whenever it may gets the limit, but for what is spared for a second's worth at once."""
    times = taken(RateBucket(limit), [0.0] * (5 * limit))
    assert times[-1] - times[0] <= 5 * 60 * 1.02
    assert times[max(0, limit // 60 - 1)] - times[0] < ROUNDING


@given(st.integers(1000, 100_000), st.lists(st.integers(1, 9000), min_size=30, max_size=80))
def test_large_takes_exceed_by_the_last_one_at_most(limit, amounts):
    """Tokens are taken a call at a time: a minute holds no more than the limit and one call."""
    bucket, now, spent = RateBucket(limit), 0.0, []
    for amount in amounts:
        now += bucket.compute_wait(now)
        bucket.take(amount, now)
        spent.append((now, amount))
    for position, (start, _) in enumerate(spent):
        within = [amount for when, amount in spent[position:] if when < start + 60 - ROUNDING]
        assert sum(within[:-1]) <= limit + ROUNDING


def test_what_was_not_used_is_given_back():
    """A call that cost less than was counted on lets the next one out earlier; giving back earns no credit."""
    bucket = RateBucket(60)
    bucket.take(30, 0.0)
    assert bucket.compute_wait(0.0) == pytest.approx(30)
    bucket.take(-20, 0.0)
    assert bucket.compute_wait(0.0) == pytest.approx(10)
    bucket.take(-500, 0.0)
    assert bucket.compute_wait(0.0) == 0
    bucket.take(1, 0.0)
    assert bucket.compute_wait(0.0) == pytest.approx(1)


@in_virtual_time
async def test_tokens_of_answers_count():
    """What answers cost beyond what was counted on holds the next call up; what they did not cost does not."""
    pace, start = RateLimiter(now), now()
    pace.set_limits(OWNER, requests=None, tokens=6000)
    burst, rate = 100, (6000 - 99) / 60
    await pace.acquire(10)
    pace.record_answer(140)
    assert now() == start
    await pace.acquire(0)
    waited = now() - start
    assert waited == pytest.approx((150 - (burst - 1)) / rate)
    await pace.acquire(900)
    pace.record_answer(-900)
    await pace.acquire(0)
    assert now() - start == waited


@in_virtual_time
async def test_a_server_with_room_for_few_calls_gets_no_more():
    """Answers do not raise the number of calls that the server works on at a time."""
    pace, most, flying = RateLimiter(now), 2, []
    pace.max_in_flight = most

    async def call():
        await pace.acquire()
        flying.append(pace.flying)
        await asyncio.sleep(1)
        pace.record_answer()
        pace.release()

    start = now()
    await asyncio.gather(*(call() for _ in range(6)))
    assert max(flying) == most
    assert now() - start == 3


@in_virtual_time
async def test_calls_go_out_in_the_order_of_coming():
    """Who waits is not passed by, not even by who comes right when a turn is over."""
    pace = RateLimiter()
    pace.width = 1
    await pace.acquire()
    order = []

    async def first():
        await pace.acquire()
        order.append("first")
        await pace.acquire()
        order.append("newcomer")

    async def other(name):
        await pace.acquire()
        order.append(name)

    tasks = [asyncio.create_task(first()), *(asyncio.create_task(other(name)) for name in ("second", "third"))]
    await asyncio.sleep(0.01)
    assert order == []
    pace.width = 9
    pace.release()
    await asyncio.gather(*tasks)
    assert order == ["first", "second", "third", "newcomer"]


@in_virtual_time
async def test_who_stops_waiting_leaves_the_way_free():
    """A waiting call that is cancelled holds up no other."""
    pace = RateLimiter()
    pace.width = 1
    await pace.acquire()
    waiting = [asyncio.create_task(pace.acquire()) for _ in range(3)]
    await asyncio.sleep(0.01)
    for task in waiting[:2]:
        task.cancel()
    pace.release()
    await asyncio.wait_for(waiting[2], 1)
    assert pace.flying == 1


@in_virtual_time
async def test_refusals_halve_and_answers_add_one():
    """Refusals within a second halve the width once; a round of answers adds one."""
    pace = RateLimiter(now)
    for _ in range(16):
        await pace.acquire()
    for _ in range(16):
        pace.record_refusal(None)
    assert pace.width == 8
    await asyncio.sleep(0.99)
    pace.record_refusal(None)
    assert pace.width == 8
    await asyncio.sleep(0.01)
    pace.record_refusal(None)
    assert pace.width == 4
    for _ in range(4):
        pace.record_answer()
    assert pace.width == pytest.approx(5, abs=0.15)
    pace.flying = 0
    await asyncio.sleep(1)
    pace.record_refusal(None)
    assert pace.width == 1


def noting(plan, times):
    """Note when requests come, and answer by a list of functions to behaviours, the last one for all others."""

    def answer(_):
        times.append(now())
        return plan[min(len(times), len(plan)) - 1]()

    return answer


@asynccontextmanager
async def asked(*plan):
    """Give a judge whose server, in the time of the running loop, behaves so, and when its requests came."""
    times = []
    async with fault.FaultServer(noting(plan, times)) as server:
        yield Judge("openai:fake", base_url=server.url, max_retries=0), times


@in_virtual_time
async def test_a_pause_that_was_asked_for_holds_for_all_calls():
    """After refusals in a row nothing goes to that provider for as long as it asked, whoever calls."""
    refusal = lambda: fault.error(429, Retry_After="30", Retry_After_Ms="400")  # noqa: E731
    async with asked(*[refusal] * PAUSE_AFTER_REFUSALS, fault.ok) as (judge, times):
        first = await compile_metric(TONE, judge).abatch(cases(PAUSE_AFTER_REFUSALS))
        assert {result.failures[0].kind for result in first} == {"rate_limit"}
        await compile_metric(PASSAGES, judge).ainvoke(cases(1)[0])
    assert len({*times[:PAUSE_AFTER_REFUSALS]}) == 1
    assert times[-1] - times[-2] == pytest.approx(0.4)


@in_virtual_time
async def test_a_refusal_among_answers_holds_up_no_other_call():
    """One call that was refused waits for itself; the others go on, and answers begin the count anew."""
    refusal = lambda: fault.error(429, Retry_After="5")  # noqa: E731
    async with asked(refusal, refusal, fault.ok, refusal, refusal, fault.ok) as (judge, times):
        for case in cases(6):
            await compile_metric(TONE, judge).ainvoke(case)
    assert len(times) == 6
    assert len({*times}) == 1


@pytest.mark.parametrize(
    ("what", "left", "pause"), [("requests", "0", 0.4), ("tokens", "0", 0.4), ("tokens", "9", 0.0)]
)
@in_virtual_time
async def test_a_last_call_is_followed_by_the_wait_that_its_answer_tells(what, left, pause):
    """Where a good answer says that nothing is left, the next call waits until there is again."""

    def last():
        async def answer(request, body):
            response = await fault.ok()(request, body)
            response.headers.update({f"x-ratelimit-remaining-{what}": left, f"x-ratelimit-reset-{what}": "400ms"})
            return response

        return answer

    async with asked(last, fault.ok) as (judge, times):
        for case in cases(2):
            assert (await compile_metric(TONE, judge).ainvoke(case)).judgements
    assert times[1] - times[0] == pytest.approx(pause)


@in_virtual_time
async def test_one_address_and_key_have_one_pace(monkeypatch, tmp_path):
    """A refusal of one run's metric holds up another run's other metric in the same loop, but not another key's."""
    refusal = lambda: fault.error(429, Retry_After="2")  # noqa: E731
    async with asked(*[refusal] * PAUSE_AFTER_REFUSALS, fault.ok) as (judge, times):
        monkeypatch.setenv("OPENAI_API_KEY", "first-key")
        await evaluate_async(cases(PAUSE_AFTER_REFUSALS), [TONE], judge, out=tmp_path / "a", retry_failed=False)
        ours = (await JudgeClient(judge).ready()).pace
        monkeypatch.setenv("OPENAI_API_KEY", "second-key")
        await evaluate_async(cases(1), [PASSAGES], judge, out=tmp_path / "b")
        assert times[-1] == times[PAUSE_AFTER_REFUSALS - 1]
        assert (await JudgeClient(judge).ready()).pace is not ours
        monkeypatch.setenv("OPENAI_API_KEY", "first-key")
        await evaluate_async(cases(1), [PASSAGES], judge.model_copy(update={"temperature": 1.0}), out=tmp_path / "c")
        assert times[-1] - times[PAUSE_AFTER_REFUSALS - 1] == pytest.approx(2)


@in_virtual_time
async def test_few_calls_are_out_before_the_first_answer(tmp_path):
    """Until a first answer came a run has no more than 16 calls in flight, whatever its width; then it uses it."""
    out = []

    async def slow(request, body):
        await asyncio.sleep(3)
        out.append(server.calls)
        return await fault.ok()(request, body)

    async with fault.FaultServer(slow) as server:
        judge = Judge("openai:fake", base_url=server.url, max_retries=0)
        await evaluate_async(cases(60), [TONE], judge, out=tmp_path, concurrency=40)
    assert out[0] == MAX_UNPROVEN_CALLS == 16
    assert server.most > MAX_UNPROVEN_CALLS


async def test_no_key_is_in_a_pace(monkeypatch):
    """Neither a pace nor the table of them holds a key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-hidden-0123")
    line = await JudgeClient(Judge("openai:fake", base_url="http://127.0.0.1:9/v1")).ready()
    assert "hidden" not in repr(line.pace) + repr(vars(line.pace)) + repr(pacing._RATE_LIMITERS)


@given(st.integers(0, 5), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_times_are_read_part_by_part(hours, minutes, seconds, millis):
    """Hours, minutes, seconds and milliseconds count as what they are, each alone and together."""
    parts = {
        f"{hours}h": 3600 * hours,
        f"{minutes}m": 60 * minutes,
        f"{seconds}s": seconds,
        f"{millis}ms": millis / 1e3,
    }
    for text, value in parts.items():
        assert parse_wait(text) == pytest.approx(value)
    assert parse_wait("".join(parts)) == pytest.approx(sum(parts.values()))


LIKE_A_DATE = r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} \d\d:\d\d:\d\d( GMT| [+-]\d{4,6})?"


@given(st.text() | st.from_regex(LIKE_A_DATE, fullmatch=True))
def test_any_header_is_read_or_passed_over(text):
    """No text that a server may send breaks a run."""
    seconds = parse_wait(text)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    "form", ["%a, %d %b %Y %H:%M:%S GMT", "%a, %d %b %Y %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S"]
)
def test_dates(monkeypatch, form):
    """A date in the future is the seconds until then, in UTC if it names no zone; one in the past is no wait."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        wait = parse_wait((datetime.now(UTC) + timedelta(hours=2)).strftime(form))
    time.tzset()
    assert 3600 < (wait or 0) <= 7200
    assert parse_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0


@in_virtual_time
async def test_no_pause_is_longer_than_five_minutes():
    """A server that asks for days is asked again after five minutes."""
    pace, start = RateLimiter(now), now()
    pace.pause(1e9)
    await pace.acquire()
    assert now() - start == MAX_PAUSE_SECONDS == 300


async def test_a_limit_lives_as_long_as_who_set_it():
    """Of several limits the lowest counts; when its owner is gone the next one finds no limit left behind."""
    pace, strict, mild = RateLimiter(), Owner(), Owner()
    for owner, limit in ((mild, 6000), (strict, 60), (mild, 6000)):
        pace.set_limits(owner, requests=limit, tokens=None)
    assert pace._requests.per_minute == 60
    del strict
    gc.collect()
    pace.set_limits(mild, requests=6000, tokens=None)
    assert pace._requests.per_minute == 6000
    pace.set_limits(mild, requests=None, tokens=None)
    assert pace._requests is None


@in_virtual_time
async def test_tokens_of_a_refused_call_are_given_back():
    """A refusal spends no tokens: the limit of tokens is not eaten up by them."""
    pace, start = RateLimiter(now), now()
    pace.set_limits(OWNER, requests=None, tokens=600)
    for _ in range(5):
        await pace.acquire(600)
        pace.release()
        pace.record_refusal(0, 600)
    assert now() == start
