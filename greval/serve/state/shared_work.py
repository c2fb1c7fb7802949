"""Work that several requests share: the first of them begins it, and the last one ends it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, KeysView
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

Key = TypeVar("Key")
T = TypeVar("T")


class SharedWork(Generic[Key, T]):
    """Work that is done once for all requests that use its result at the same time, each piece under a key.

    When no request uses it any more, it is cancelled, or `discard` is called with its result.
    """

    def __init__(self, discard: Callable[[T], object] = lambda _: None) -> None:
        self._discard = discard
        self._tasks: dict[Key, asyncio.Task[T]] = {}
        self._users: Counter[Key] = Counter()

    @property
    def keys(self) -> KeysView[Key]:
        """The keys of the work that is in use."""
        return self._tasks.keys()

    @asynccontextmanager
    async def use(self, key: Key, begin: Callable[[], Coroutine[None, None, T]]) -> AsyncIterator[T]:
        """Yield the result of the work with a key, which `begin` begins if no request uses it yet."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(begin())
        self._users[key] += 1
        try:
            # Shielded, because other requests may wait for the same work.
            yield await asyncio.shield(task)
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._tasks[key]
                task.cancel()
                if task.done() and not task.cancelled() and not task.exception():
                    self._discard(task.result())
