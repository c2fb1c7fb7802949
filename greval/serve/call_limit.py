"""A limit of concurrent judge calls for the whole server, shared fairly between tenants, also from other threads."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager


class FairCallLimit:
    """A limit of calls in flight; when calls wait, tenants take turns (round robin).

    `on_change` is called with the number of calls in flight and of waiting calls when either changes.

    Example:
        >>> async def call():
        ...     limit = FairCallLimit(1)
        ...     async with limit.get_slot("ana"):
        ...         return limit.in_flight
        >>> asyncio.run(call())
        1
    """

    def __init__(self, width: int, on_change: Callable[[int, int], None] | None = None) -> None:
        """Start with no calls in flight."""
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
                self.release()  # the slot was granted already: pass it on
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
                self._waiters[tenant] = line  # back to the end of the round
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
        """Store the limit and the tenant."""
        self._gate = limit
        self._tenant = tenant

    async def __aenter__(self) -> None:
        """Wait for a slot."""
        await self._gate.acquire(self._tenant)

    async def __aexit__(self, *_: object) -> None:
        """Release the slot."""
        self._gate.release()


class ThreadSlot:
    """A slot of a limit that belongs to the server's event loop, entered from the loop of another thread.

    A job has a thread and a loop of its own, so that reading cases, computing and writing delay no request. It holds at
    most `max_calls` slots at once.
    """

    def __init__(
        self, slot: AbstractAsyncContextManager[object], server_loop: asyncio.AbstractEventLoop, max_calls: int
    ) -> None:
        """Start with no slot held."""
        self._slot = slot
        self._server_loop = server_loop
        self._width = asyncio.Semaphore(max_calls)
        self._held: list[Future[None]] = []

    async def __aenter__(self) -> None:
        """Wait for a slot; if the wait is cancelled, none is taken."""
        await self._width.acquire()
        try:
            self._held.append(await self._wait_for_slot())
        except BaseException:
            self._width.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        """Release a slot; all slots of one tenant are interchangeable."""
        self._held.pop().cancel()
        self._width.release()

    async def _wait_for_slot(self) -> Future[None]:
        here = asyncio.get_running_loop()
        came: asyncio.Future[None] = here.create_future()

        def report(error: Exception | None) -> None:
            here.call_soon_threadsafe(_resolve_future, came, error)

        holding = asyncio.run_coroutine_threadsafe(self._hold_slot(report), self._server_loop)
        try:
            await came
        except asyncio.CancelledError:
            holding.cancel()
            raise
        return holding

    async def _hold_slot(self, report: Callable[[Exception | None], None]) -> None:
        """Hold the slot in the server's loop until this is cancelled: the limit may be used from that loop only."""
        try:
            async with self._slot:
                report(None)
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - any error must reach the waiting caller
            report(error)


def _resolve_future(came: asyncio.Future[None], error: Exception | None) -> None:
    if came.done():
        return
    if error is None:
        came.set_result(None)
    else:
        came.set_exception(error)
