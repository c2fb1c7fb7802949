"""A thread in which large request bodies are checked and read one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from greval.serve.call_limit import FairCallLimit

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

THREAD_BYTES = 64 * 1024
"""The size in bytes from which a body is read in the thread; on a smaller one a thread costs more than the work."""


class BodyThread:
    """Calls functions on what bodies hold: of small ones at once, of large ones in turn, each tenant after another."""

    def __init__(self) -> None:
        """Start with nothing to read."""
        self._turns = FairCallLimit(1)

    async def run(self, tenant: str, size: int, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call a function on what a body of this size holds."""
        if size < THREAD_BYTES:
            return function(*arguments)
        # If several threads read bodies, the event loop would get only a small share of the interpreter.
        async with self._turns.get_slot(tenant):
            return await asyncio.to_thread(function, *arguments)
