"""The clock of work: what waits is counted apart, in tasks, in threads and in nested measurements."""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext

import pytest
from virtual_time import in_virtual_time

from greval._util.concurrency import count_as_waiting, count_as_work, measure_work, run_in_turn


@in_virtual_time
async def test_waiting_is_no_work():
    """The time in a block of waiting is not worked, except for the work within it."""
    with measure_work() as spent:
        await asyncio.sleep(1)
        with count_as_waiting():
            await asyncio.sleep(2)
            with count_as_work():
                await asyncio.sleep(4)
    assert (spent.worked, spent.waited) == (5, 2)


@in_virtual_time
async def test_an_inner_measurement_is_a_part_of_the_outer_one():
    """Each has the times of its own block, also if the outer one waits for all of the inner one."""
    with measure_work() as outer:
        await asyncio.sleep(1)
        with measure_work() as inner, count_as_waiting():
            await asyncio.sleep(2)
    assert (inner.worked, inner.waited, outer.worked, outer.waited) == (0, 2, 1, 2)


@in_virtual_time
async def test_concurrent_work_has_clocks_of_its_own():
    """What one task waits for is not counted for another, and a wait in several parts of one task only once."""

    async def work(seconds, lock):
        with measure_work() as spent:
            with count_as_waiting():
                await lock.acquire()
            await asyncio.gather(asyncio.sleep(seconds), wait())
            lock.release()
        return spent.worked, spent.waited

    async def wait():
        with count_as_waiting():
            await asyncio.sleep(0)

    lock = asyncio.Lock()
    assert await asyncio.gather(*(work(seconds, lock) for seconds in (1, 2, 4))) == [(1, 0), (2, 1), (4, 3)]


@in_virtual_time
async def test_a_function_in_a_thread_is_measured_from_its_turn():
    """The time until the lock is free is waited for, and the time of the function is worked."""
    loop, lock = asyncio.get_running_loop(), threading.RLock()

    async def work(seconds):
        with measure_work() as spent:
            await run_in_turn(lock, loop.spend, seconds)
        return spent.worked

    assert await asyncio.gather(*(work(seconds) for seconds in (1, 2, 4))) == [1, 2, 4]


async def test_without_a_measurement_nothing_is_counted():
    """Code that waits needs not know whether someone measures, and its errors come through."""
    with count_as_waiting(), count_as_work(), pytest.raises(ZeroDivisionError):
        await run_in_turn(nullcontext(), divmod, 1, 0)
    with pytest.raises(ZeroDivisionError), measure_work() as spent, count_as_waiting():
        divmod(1, 0)
    assert spent.worked >= 0
    with measure_work() as later:
        pass
    assert later.waited == 0
