"""A limit of calls in flight for the whole server, in which tenants take turns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class FairGate:
    """Lets so many calls be in flight; where more wait, the next one is of the next tenant.

    Args:
        width: The most calls in flight.
        told: Called with the calls in flight and those that wait where either changes.

    Example:
        >>> async def call():
        ...     gate = FairGate(1)
        ...     async with gate.lane("ana"):
        ...         return gate.inside
        >>> asyncio.run(call())
        1
    """

    def __init__(self, width: int, told: Callable[[int, int], None] | None = None) -> None:
        """Begin with nobody inside."""
        self.width = width
        self._told = told or (lambda *_: None)
        self.inside = 0
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(map(len, self._lines.values()))

    def lane(self, tenant: str) -> Lane:
        """Give what a tenant's calls enter, any number of them at once."""
        return Lane(self, tenant)

    async def enter(self, tenant: str) -> None:
        """Wait for a turn."""
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
                self.leave()  # the turn had come, and nobody takes it
            else:
                self._forget(tenant, turn)
            raise

    def leave(self) -> None:
        """Give the turn to the next tenant's first call that waits."""
        while self._lines:
            tenant, line = next(iter(self._lines.items()))
            turn = line.popleft()
            del self._lines[tenant]
            if line:
                self._lines[tenant] = line  # behind the others
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
    """A tenant's way through the gate, for `async with`."""

    def __init__(self, gate: FairGate, tenant: str) -> None:
        """Keep whose turn it is."""
        self._gate = gate
        self._tenant = tenant

    async def __aenter__(self) -> None:
        """Wait for a turn."""
        await self._gate.enter(self._tenant)

    async def __aexit__(self, *_: object) -> None:
        """Give the turn to the next one."""
        self._gate.leave()
