"""A run in a thread of its own keeps to the server's limit of calls, and leaves nothing taken behind."""

from __future__ import annotations

import asyncio
import random

import pytest
from waiting import until

from greval.serve.call_limit import FairCallLimit
from greval.serve.jobs.thread_slot import ThreadSlot


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
