"""Tasks of a run: the first error is the run's, and what runs beside ends with it."""

from __future__ import annotations

import asyncio
import gc

import pytest
from virtual_time import in_virtual_time

from greval._util.concurrency import GC_THRESHOLD, reduce_collections, run_in_background, run_workers
from greval.errors import StoreError


async def fails(error):
    raise error


async def lasts(ended):
    try:
        await asyncio.sleep(60)
    finally:
        ended.append(1)


async def test_the_first_error_ends_all():
    """One worker's error ends the others and is raised as itself, also out of groups in groups."""
    ended = []
    with pytest.raises(StoreError, match="full"):
        await run_workers([lasts(ended), run_workers([lasts(ended), fails(StoreError("full"))])])
    assert len(ended) == 2


async def test_all_come_to_their_end():
    """Without an error all workers end by themselves."""
    done = []

    async def works(n):
        await asyncio.sleep(0)
        done.append(n)

    await run_workers(works(n) for n in range(5))
    assert sorted(done) == [0, 1, 2, 3, 4]


async def broken(ended):
    async with run_in_background(lasts(ended)):
        await asyncio.sleep(0)
        raise ValueError("ours")


async def test_what_goes_on_beside_ends_with_the_run():
    """It is left when the run ends, also where that ends with an error."""
    ended = []
    async with run_in_background(lasts(ended)):
        await asyncio.sleep(0)
    with pytest.raises(ValueError, match="ours"):
        await broken(ended)
    assert len(ended) == 2


@in_virtual_time
async def test_an_error_in_the_background_is_raised():
    """An error beside the run is the run's error."""
    with pytest.raises(StoreError, match="no space"):
        async with run_in_background(fails(StoreError("no space"))):
            await asyncio.sleep(0.01)


@in_virtual_time
async def test_a_cancellation_while_it_ends_is_kept():
    """Who is cancelled while what runs beside is still ending is cancelled."""

    async def stubborn():
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)

    async def run():
        async with run_in_background(stubborn()):
            await asyncio.sleep(0)

    task = asyncio.create_task(run())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.05)


def test_collections_are_as_before_afterwards():
    """Within a run collections are rare, afterwards they are as they were; a run in a run changes nothing."""
    gc.unfreeze()  # a test of the server in the same process loads what freezes all objects
    before = gc.get_threshold()
    with reduce_collections():
        assert gc.get_threshold()[0] == GC_THRESHOLD
        assert gc.get_freeze_count() > 0
        with reduce_collections():
            pass
        assert gc.get_threshold()[0] == GC_THRESHOLD
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
