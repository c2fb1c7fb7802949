"""Cache of analysis results: each is computed once for all requests that wait for it, and kept for later ones."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass

MAX_BYTES = 32 * 1024 * 1024
"""The most bytes of all results that are kept."""


@dataclass
class _Computation:
    """A result that is being computed, and the number of requests that wait for it."""

    task: asyncio.Task[bytes]
    waiters: int = 0


class FigureCache:
    """An LRU cache of analysis results as JSON.

    Requests for the same result share its computation, which is cancelled when none of them waits any more.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0
        self._computed: dict[Hashable, _Computation] = {}

    async def get_json(self, key: Hashable, compute: Callable[[], Coroutine[None, None, bytes]]) -> bytes:
        """Return an analysis result as JSON, from the cache if it is there; a failure is not kept.

        The key holds everything that the result depends on.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        computation = self._computed.get(key) or self._start(key, compute)
        computation.waiters += 1
        try:
            # Shielded, because other requests may wait for the same result.
            return await asyncio.shield(computation.task)
        finally:
            computation.waiters -= 1
            if not computation.waiters:
                computation.task.cancel()
                self._forget(key, computation)

    def begin(self, key: Hashable, compute: Callable[[], Coroutine[None, None, bytes]]) -> None:
        """Begin to compute a result in advance; the request that begins it may end before."""
        if key not in self._kept and key not in self._computed:
            self._start(key, compute)

    def _start(self, key: Hashable, compute: Callable[[], Coroutine[None, None, bytes]]) -> _Computation:
        computation = self._computed[key] = _Computation(asyncio.create_task(compute()))

        def finish(task: asyncio.Task[bytes]) -> None:
            self._forget(key, computation)
            if not task.cancelled() and not task.exception():
                self._keep(key, task.result())

        computation.task.add_done_callback(finish)
        return computation

    def _forget(self, key: Hashable, computation: _Computation) -> None:
        """Take a computation out, unless a later one has its place."""
        if self._computed.get(key) is computation:
            del self._computed[key]

    def _keep(self, key: Hashable, result: bytes) -> None:
        """Keep a result, and drop those that were not used for longest."""
        self._kept[key] = result
        self._size += len(result)
        while self._size > MAX_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped)
