"""Tests of the cache of analysis results."""

from __future__ import annotations

from greval.serve.state import figure_cache
from greval.serve.state.figure_cache import FigureCache


async def test_the_cache_does_not_grow_without_end():
    """Results are kept, and dropped when all together are too large, those not used for longest first."""
    cache, calls = FigureCache(), []

    async def compute(n):
        calls.append(n)
        return b"x" * (figure_cache.MAX_BYTES // 2)

    for n in (1, 2, 1, 3, 1, 2):
        await cache.get_json(n, lambda n=n: compute(n))
    assert calls == [1, 2, 3, 2]
