"""Turns among tenants, and times to come again."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from greval.serve.call_limit import FairCallLimit
from greval.serve.middleware.admission import RetrySchedule


async def test_gate_takes_turns_among_tenants():
    """Where one tenant has many calls waiting, another one's is next but one; no more than the width are inside."""
    gate, order = FairCallLimit(1), []

    async def call(tenant):
        async with gate.get_slot(tenant):
            assert gate.in_flight == 1
            order.append(tenant)
            await asyncio.sleep(0)

    await asyncio.gather(*(call(name) for name in ["ana"] * 5 + ["bob", "eve"]))
    assert order == ["ana", "ana", "bob", "eve", "ana", "ana", "ana"]
    assert (gate.in_flight, gate.waiting_count) == (0, 0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=20), st.integers(1, 3))
def test_gate_loses_no_turn(calls, width):
    """Whoever gives up while it waits or while it is inside, all others get through, and nobody stays inside."""

    async def play():
        gate, done = FairCallLimit(width), []

        async def call(tenant, fate):
            async with gate.get_slot(tenant):
                assert gate.in_flight <= width
                await asyncio.sleep(0.001 if fate else 0)
                done.append(fate)

        tasks = [asyncio.create_task(call(*one)) for one in calls]
        for fate in (1, 2):
            await asyncio.sleep(0)
            for task, (_, when) in zip(tasks, calls, strict=True):
                if when == fate:
                    task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (gate.in_flight, gate.waiting_count) == (0, 0)
        assert done.count(0) + done.count(3) == sum(fate in {0, 3} for _, fate in calls)

    asyncio.run(play())


@given(st.lists(st.floats(0.001, 10), min_size=25, max_size=60), st.integers(0, 500), st.integers(1, 400))
def test_appointments_are_spread(gaps, behind, refused):
    """Those that are refused are told times that rise by the usual gap of answers, from one second to a minute."""
    now = [0.0]
    times = RetrySchedule(lambda: now[0])
    for gap in gaps:
        now[0] += gap
        times.record_answer(busy=True)
    told = [times.next_delay(ahead=behind) for _ in range(refused)]
    assert told == sorted(told)
    assert all(1 <= wait <= 60 for wait in told)
    inner = [wait for wait in told if 1.001 < wait < 59.999]
    steps = {round(after - before, 6) for before, after in pairwise(inner)}
    assert len(steps) <= 1
    assert all(step > 0 for step in steps)
