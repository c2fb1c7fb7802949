"""Limits that tenants share fairly: of concurrent judge calls, also by runs in processes, and of large bodies."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

THREAD_BYTES = 64 * 1024
"""The size in bytes from which a body is read in the thread; on a smaller one a thread costs more than the work."""


class FairCallLimit:
    """A limit of calls in flight; when calls wait, tenants take turns (round robin).

    `on_change` is called with the number of calls in flight and of waiting calls when either changes.
    """

    def __init__(self, width: int, on_change: Callable[[int, int], None] | None = None) -> None:
        self.width = width
        self._on_change = on_change or (lambda *_: None)
        self.in_flight = 0
        self._waiters: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def waiting_count(self) -> int:
        """The number of waiting calls."""
        return sum(map(len, self._waiters.values()))

    def get_slot(self, tenant: str) -> TenantSlot:
        """Return the context manager for a tenant's calls; any number of them may enter it at once."""
        return TenantSlot(self, tenant)

    async def acquire(self, tenant: str) -> None:
        """Wait until a call of this tenant may start."""
        # Even if a slot is free, nobody overtakes the calls that wait.
        if self.in_flight < self.width and not self._waiters:
            self.in_flight += 1
            self._on_change(self.in_flight, self.waiting_count)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(tenant, deque()).append(turn)
        self._on_change(self.in_flight, self.waiting_count)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The slot was granted already: pass it on.
                self.release()
            else:
                self._remove_waiter(tenant, turn)
            raise

    def release(self) -> None:
        """Release a slot, and grant it to the next tenant's first waiting call."""
        while self._waiters:
            tenant, line = next(iter(self._waiters.items()))
            turn = line.popleft()
            del self._waiters[tenant]
            if line:
                # Back to the end of the round.
                self._waiters[tenant] = line
            if not turn.done():
                turn.set_result(None)
                break
        else:
            self.in_flight -= 1
        self._on_change(self.in_flight, self.waiting_count)

    def _remove_waiter(self, tenant: str, turn: asyncio.Future[None]) -> None:
        line = self._waiters.get(tenant)
        if line and turn in line:
            line.remove(turn)
            if not line:
                del self._waiters[tenant]
            self._on_change(self.in_flight, self.waiting_count)


class TenantSlot:
    """A context manager that holds a slot of the limit for one tenant."""

    def __init__(self, limit: FairCallLimit, tenant: str) -> None:
        self._gate = limit
        self._tenant = tenant

    async def __aenter__(self) -> None:
        """Wait for a slot."""
        await self._gate.acquire(self._tenant)

    async def __aexit__(self, *_: object) -> None:
        """Release the slot."""
        self._gate.release()


class RequestedSlot:
    """A slot that another process grants: a run asks the server for each of its calls.

    At most `max_calls` slots are held at once. `send` is called with the numbers of slots that are asked for and that
    are returned; `grant` is to be called for each granted slot.
    """

    def __init__(self, max_calls: int, send: Callable[[int, int], None]) -> None:
        self._width = asyncio.Semaphore(max_calls)
        self._send = send
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        """Ask for a slot and wait for it; if the wait is cancelled, none is held."""
        await self._width.acquire()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(turn)
        self._send(1, 0)
        try:
            await turn
        except asyncio.CancelledError:
            self._width.release()
            if not turn.cancelled():
                # It was granted already; else `grant` returns the slot.
                self._send(0, 1)
            raise

    async def __aexit__(self, *_: object) -> None:
        """Return a slot; all slots of a run are interchangeable."""
        self._send(0, 1)
        self._width.release()

    def grant(self) -> None:
        """Pass a granted slot to the first call that still waits, or return it."""
        while self._waiters:
            turn = self._waiters.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._send(0, 1)


class BodyThread:
    """Calls functions on what bodies hold: of small ones at once, of large ones in turn, each tenant after another."""

    def __init__(self) -> None:
        self._turns = FairCallLimit(1)

    async def run(self, tenant: str, size: int, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call a function on what a body of this size holds."""
        if size < THREAD_BYTES:
            return function(*arguments)
        # If several threads read bodies, the event loop would get only a small share of the interpreter.
        async with self._turns.get_slot(tenant):
            return await asyncio.to_thread(function, *arguments)
