"""Tests of the limit of judge calls: tenants take turns, and runs in other threads leave no slot taken."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import until

from greval.serve.call_limit import FairCallLimit, ThreadSlot


async def in_thread(work):
    """Run a coroutine in a loop of another thread, as a run does."""
    return await asyncio.to_thread(lambda: asyncio.run(work()))


async def emptied(gate):
    """Wait until nobody is in the gate or before it."""
    await asyncio.to_thread(until, lambda: not gate.in_flight and not gate.waiting_count)


async def test_all_together_keep_to_the_limit():
    """Two runs in two threads never have more calls in flight than the server allows, nor each more than its own."""
    gate, most = FairCallLimit(3), {"all": 0, "ana": 0, "ben": 0}
    flying = dict.fromkeys(most, 0)

    def calls(name):
        lane = ThreadSlot(gate.get_slot(name), asyncio.get_running_loop(), 2)

        async def call():
            async with lane:
                for one in ("all", name):
                    flying[one] += 1
                    most[one] = max(most[one], flying[one])
                await asyncio.sleep(0.002)
                for one in ("all", name):
                    flying[one] -= 1

        async def run():
            await asyncio.gather(*(call() for _ in range(60)))

        return run

    await asyncio.gather(*(in_thread(calls(name)) for name in ("ana", "ben")))
    await emptied(gate)
    assert (most["ana"], most["ben"], most["all"]) == (2, 2, 3)


async def test_who_stops_waiting_takes_no_turn():
    """Cancelled at any moment, before, while and after its turn comes, a call leaves no turn taken."""
    gate, rng = FairCallLimit(2), random.Random(7)
    lane = ThreadSlot(gate.get_slot("ana"), asyncio.get_running_loop(), 8)

    async def call():
        async with lane:
            await asyncio.sleep(rng.random() * 0.004)

    async def run():
        tasks = [asyncio.create_task(call()) for _ in range(300)]
        for task in rng.sample(tasks, 200):
            await asyncio.sleep(rng.random() * 0.002)
            task.cancel()
        await asyncio.wait(tasks)
        return sum(task.cancelled() for task in tasks)

    assert await in_thread(run) > 50
    await emptied(gate)


async def test_what_goes_wrong_at_the_gate_is_heard_of():
    """An error of the gate ends the wait for it, in the thread that waits."""

    class Broken:
        async def __aenter__(self):
            raise ValueError("no way in")

        async def __aexit__(self, *_):
            raise AssertionError

    lane = ThreadSlot(Broken(), asyncio.get_running_loop(), 1)

    async def run():
        for _ in range(2):  # the second finds the first's place free again
            with pytest.raises(ValueError, match="no way in"):
                async with lane:
                    raise AssertionError

    await in_thread(run)


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
