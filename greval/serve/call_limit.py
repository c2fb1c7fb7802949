"""The limit of concurrent judge calls that tenants share fairly, also with runs in processes of their own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager


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


class GrantedSlots:
    """The slots of another process: each is held from its grant until the process returns one.

    `open_slot` returns the context manager of a slot, and `grant` signals to the process that it has one more.
    """

    def __init__(self, open_slot: Callable[[], AbstractAsyncContextManager[object]], grant: Callable[[], None]) -> None:
        self._open_slot = open_slot
        self._grant = grant
        self._returned = asyncio.Semaphore(0)
        self._slots: set[asyncio.Task[None]] = set()

    def receive(self, asked: int, returned: int) -> None:
        """Take in that the process asks for slots and returns some."""
        for _ in range(returned):
            self._returned.release()
        for _ in range(asked):
            slot = asyncio.create_task(self._hold_slot())
            self._slots.add(slot)
            slot.add_done_callback(self._slots.discard)

    async def close(self) -> None:
        """Return all slots, because the process has ended."""
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)

    async def _hold_slot(self) -> None:
        async with self._open_slot():
            self._grant()
            await self._returned.acquire()


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

    def get_slot(self, _: str) -> RequestedSlot:
        """Return this slot for the calls of any tenant: the process has only one."""
        return self

    def grant(self) -> None:
        """Pass a granted slot to the first call that still waits, or return it."""
        while self._waiters:
            turn = self._waiters.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._send(0, 1)
