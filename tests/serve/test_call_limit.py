"""Tests of the limit of judge calls: tenants take turns, and runs in other processes leave no slot taken."""

from __future__ import annotations

import asyncio
import random
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from greval.serve.call_limit import FairCallLimit, GrantedSlots, RequestedSlot


def connected(gate, tenant, width):
    """Give a slot that another process would ask for, with the server's side of it."""

    def grant():
        slot.grant()

    slots = GrantedSlots(partial(gate.get_slot, tenant), grant)
    slot = RequestedSlot(width, slots.receive)
    return slot


async def emptied(gate):
    """Wait until nobody is in the gate or before it."""
    while gate.in_flight or gate.waiting_count:  # noqa: ASYNC110 - the gate tells nobody
        await asyncio.sleep(0)


async def test_all_together_keep_to_the_limit():
    """Two runs never have more calls in flight than the server allows, nor each more than its own."""
    gate, most = FairCallLimit(3), {"all": 0, "ana": 0, "ben": 0}
    flying = dict.fromkeys(most, 0)

    async def call(slot, name):
        async with slot:
            for key in ("all", name):
                flying[key] += 1
                most[key] = max(most[key], flying[key])
            await asyncio.sleep(0.002)
            for key in ("all", name):
                flying[key] -= 1

    slots = {name: connected(gate, name, 2) for name in ("ana", "ben")}
    await asyncio.gather(*(call(slots[name], name) for name in slots for _ in range(60)))
    await emptied(gate)
    assert (most["ana"], most["ben"], most["all"]) == (2, 2, 3)


async def test_a_process_that_ends_gives_all_slots_back():
    """What it asked for and what it held is free again, and nobody waits for it."""
    gate = FairCallLimit(2)
    slots = GrantedSlots(partial(gate.get_slot, "ana"), lambda: None)
    slots.receive(5, 0)
    await asyncio.sleep(0)
    assert (gate.in_flight, gate.waiting_count) == (2, 3)
    await slots.close()
    assert (gate.in_flight, gate.waiting_count) == (0, 0)


async def test_a_cancelled_call_takes_no_turn():
    """Cancelled at any moment, before, while and after its turn comes, a call leaves no turn taken."""
    gate, rng = FairCallLimit(2), random.Random(7)
    slot = connected(gate, "ana", 8)

    async def call():
        async with slot:
            await asyncio.sleep(rng.random() * 0.004)

    tasks = [asyncio.create_task(call()) for _ in range(300)]
    for task in rng.sample(tasks, 200):
        await asyncio.sleep(rng.random() * 0.002)
        task.cancel()
    await asyncio.wait(tasks)
    assert sum(task.cancelled() for task in tasks) > 20
    await emptied(gate)


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

        tasks = [asyncio.create_task(call(*arguments)) for arguments in calls]
        for fate in (1, 2):
            await asyncio.sleep(0)
            for task, (_, when) in zip(tasks, calls, strict=True):
                if when == fate:
                    task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (gate.in_flight, gate.waiting_count) == (0, 0)
        assert done.count(0) + done.count(3) == sum(fate in {0, 3} for _, fate in calls)

    asyncio.run(play())
