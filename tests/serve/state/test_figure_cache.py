"""Tests of the cache of analysis results."""

from __future__ import annotations

import asyncio

import pytest

from greval.serve.state import figure_cache
from greval.serve.state.figure_cache import FigureCache


class Work:
    """A computation that is counted, ends when it is let go, and may fail."""

    def __init__(self, result=b"{}", error=None):
        self.calls = self.cancelled = 0
        self.free = asyncio.Event()
        self._result = result
        self._error = error

    async def compute(self):
        self.calls += 1
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self._error:
            raise self._error
        return self._result


async def waiting(cache, work, count=1):
    """Give requests that wait for a result that is being computed."""
    tasks = [asyncio.create_task(cache.get_json("a", work.compute)) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


async def test_a_figure_is_computed_once():
    """Requests at once and later ones share a computation, also if the first one is gone."""
    cache, work = FigureCache(), Work()
    first, second = await waiting(cache, work, 2)
    first.cancel()
    await asyncio.wait({first})
    work.free.set()
    assert await second == b"{}"
    assert await cache.get_json("a", work.compute) == b"{}"
    assert (work.calls, work.cancelled) == (1, 0)


async def test_a_figure_that_nobody_waits_for_is_dropped():
    """The computation is cancelled with the last request; a later one begins it again."""
    cache, work = FigureCache(), Work()
    requests = await waiting(cache, work, 2)
    for request in requests:
        request.cancel()
    (second_json,) = await waiting(cache, work)
    assert (work.calls, work.cancelled) == (2, 1)
    work.free.set()
    assert await second_json == b"{}"


async def test_a_failure_is_not_kept():
    """All requests that wait get the error; the next one tries again."""
    cache, work = FigureCache(), Work(error=ValueError())
    work.free.set()
    for request in await waiting(cache, work, 2):
        with pytest.raises(ValueError):  # noqa: PT011 - it has no words
            await request
    with pytest.raises(ValueError):  # noqa: PT011 - as above
        await cache.get_json("a", work.compute)
    assert work.calls == 2


async def test_the_cache_does_not_grow_without_end():
    """Results are dropped when all together are too large, those not used for longest first."""
    cache, calls = FigureCache(), []

    async def compute(n):
        calls.append(n)
        return b"x" * (figure_cache.MAX_BYTES // 2)

    for n in (1, 2, 1, 3, 1, 2):
        await cache.get_json(n, lambda n=n: compute(n))
    assert calls == [1, 2, 3, 2]
