"""Tests of work that several requests share."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from greval.serve.state.shared_work import SharedWork


class Work:
    """Work that is counted, ends when it is let go, and may fail."""

    def __init__(self, error=None):
        self.discarded = []
        self.shared = SharedWork(self.discarded.append)
        self.begun = self.cancelled = 0
        self.free = asyncio.Event()
        self._error = error

    async def begin(self):
        self.begun += 1
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self._error:
            raise self._error
        return self.begun

    async def use(self, until=None):
        async with self.shared.use("key", self.begin) as result:
            if until:
                await until.wait()
            return result

    async def start(self, count=1, until=None):
        """Return requests that use the work."""
        requests = [asyncio.create_task(self.use(until)) for _ in range(count)]
        for _ in range(5):
            await asyncio.sleep(0)
        return requests


async def test_work_is_done_once_and_its_result_goes_with_the_last_request():
    """Requests at once share it, also if the first one is gone; a later one begins it anew."""
    work, sent = Work(), asyncio.Event()
    first, second, third = await work.start(3, sent)
    first.cancel()
    await asyncio.wait({first})
    work.free.set()
    await asyncio.sleep(0.01)
    assert (work.discarded, [*work.shared.keys]) == ([], ["key"])
    sent.set()
    assert (await second, await third, work.discarded, [*work.shared.keys]) == (1, 1, [1], [])
    assert await work.use() == 2


async def test_work_that_nobody_waits_for_is_cancelled():
    """It is cancelled with the last request; a later one begins it again."""
    work = Work()
    for request in await work.start(2):
        request.cancel()
        with suppress(asyncio.CancelledError):
            await request
    (later,) = await work.start()
    assert (work.begun, work.cancelled) == (2, 1)
    work.free.set()
    assert await later == 2


async def test_a_failure_is_not_kept():
    """All requests that wait get the error; the next one tries again, and nothing is discarded."""
    work = Work(ValueError("odd"))
    work.free.set()
    for request in (*await work.start(2), *await work.start()):
        with pytest.raises(ValueError, match="odd"):
            await request
    assert (work.begun, work.discarded) == (2, [])
