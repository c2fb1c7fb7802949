"""A limit of concurrent judge calls for the whole server, shared fairly between tenants."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class FairGate:
    """A limit of calls in flight; when calls wait, tenants take turns (round robin).

    Args:
        width: The most calls in flight.
        on_change: Called with the number of calls in flight and of waiting calls when either changes.

    Example:
        >>> async def call():
        ...     limit = FairCallLimit(1)
        ...     async with limit.get_slot("ana"):
        ...         return limit.inside
        >>> asyncio.run(call())
        1
    """

    def __init__(self, width: int, told: Callable[[int, int], None] | None = None) -> None:
        """Start with no calls in flight."""
        self.width = width
        self._told = told or (lambda *_: None)
        self.inside = 0
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return sum(map(len, self._lines.values()))

    def lane(self, tenant: str) -> Lane:
        """Return the context manager for a tenant's calls; any number of them may enter it at once."""
        return Lane(self, tenant)

    async def enter(self, tenant: str) -> None:
        """Wait until a call of this tenant may start."""
        if self.inside < self.width and not self._lines:
            self.inside += 1
            self._told(self.inside, self.waiting)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(tenant, deque()).append(turn)
        self._told(self.inside, self.waiting)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # the slot was granted already: pass it on
            else:
                self._forget(tenant, turn)
            raise

    def leave(self) -> None:
        """Release a slot, and grant it to the next tenant's first waiting call."""
        while self._lines:
            tenant, line = next(iter(self._lines.items()))
            turn = line.popleft()
            del self._lines[tenant]
            if line:
                self._lines[tenant] = line  # back to the end of the round
            if not turn.done():
                turn.set_result(None)
                break
        else:
            self.inside -= 1
        self._told(self.inside, self.waiting)

    def _forget(self, tenant: str, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(tenant)
        if line and turn in line:
            line.remove(turn)
            if not line:
                del self._lines[tenant]
            self._told(self.inside, self.waiting)


class Lane:
    """A context manager that holds a slot of the limit for one tenant."""

    def __init__(self, gate: FairGate, tenant: str) -> None:
        """Store the limit and the tenant."""
        self._gate = gate
        self._tenant = tenant

    async def __aenter__(self) -> None:
        """Wait for a slot."""
        await self._gate.enter(self._tenant)

    async def __aexit__(self, *_: object) -> None:
        """Release the slot."""
        self._gate.leave()
