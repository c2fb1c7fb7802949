"""Cache of analysis results: each is computed once for all requests that wait for it, and kept for later ones."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from contextlib import suppress

from greval.serve.state.shared_work import SharedWork

MAX_BYTES = 32 * 1024 * 1024
"""The most bytes of all results that are kept."""


class FigureCache:
    """An LRU cache of analysis results as JSON.

    Requests for the same result share its computation, which is cancelled when none of them waits any more.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0
        self._computations: SharedWork[Hashable, bytes] = SharedWork()
        self._begun: set[asyncio.Task[None]] = set()

    async def get_json(self, key: Hashable, compute: Callable[[], Coroutine[None, None, bytes]]) -> bytes:
        """Return an analysis result as JSON, from the cache if it is there; a failure is not kept.

        The key holds everything that the result depends on.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]

        async def compute_and_keep() -> bytes:
            result = await compute()
            self._keep(key, result)
            return result

        async with self._computations.use(key, compute_and_keep) as result:
            return result

    def begin(self, key: Hashable, compute: Callable[[], Coroutine[None, None, bytes]]) -> None:
        """Begin to compute a result in advance; the request that begins it may end before."""

        async def prepare() -> None:
            # The request that needs it reports why it cannot be computed.
            with suppress(Exception):
                await self.get_json(key, compute)

        task = asyncio.create_task(prepare())
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)

    def _keep(self, key: Hashable, result: bytes) -> None:
        """Keep a result, and drop those that were not used for longest."""
        self._kept[key] = result
        self._size += len(result)
        while self._size > MAX_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped)
