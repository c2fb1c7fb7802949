"""How many requests are served at once: who comes beyond that is told when to come again, and waits in no queue."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from greval.serve.middleware.request_kinds import Scope, is_following, is_light
from greval.serve.problems import ServeError
from greval.serve.service import Service

SHARE = 0.75
LONGEST_WAIT = 60.0
MEMORY = 0.95
"""How much of the mean time between two answers stays where a new one is taken in."""
FIRST_GUESS = 0.05
LONGEST_GAP = 5.0


class Admission:
    """Gives each request a place until it is answered: as many as calls in flight and requests that wait for them.

    With keys no tenant takes more than three quarters of the places. Streams that follow a run have as many places
    of their own: they last, and cost little.
    """

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        """Begin with all places free."""
        settings = service.settings
        self._app = app
        self._places = max(1, (settings.limits.calls + settings.limits.waiting) // settings.workers)
        self._own = max(1, int(self._places * SHARE)) if settings.keys else self._places
        self._taken: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        self._appointments = Appointments()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's callables
        """Serve where there is a place."""
        if scope["type"] != "http" or is_light(scope):
            await self._app(scope, receive, send)
            return
        following = is_following(scope)
        taken, name = self._taken[following], scope["state"]["tenant"].name
        self._room(taken, name)
        taken[name] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            taken[name] -= 1
            if not taken[name]:
                del taken[name]
            if not following:
                self._appointments.ended(busy=bool(taken))

    def _room(self, taken: Counter[str], name: str) -> None:
        """Refuse where there is no place, with the time to come again."""
        full = taken.total() >= self._places
        if full or taken[name] >= self._own:
            wait = math.ceil(self._appointments.next(behind=taken.total()))
            told = f"{'the server' if full else 'what this key may have of the server'} is taken; ask again in {wait} s"
            raise ServeError(429, told, headers={"Retry-After": str(wait)})


class Appointments:
    """Gives those that are refused different times to come again, as far apart as answers are.

    Told the same time, all of them would come at once, and most of them be refused again.

    Args:
        clock: Gives the time in seconds.

    Example:
        >>> times = Appointments(lambda: 0.0)
        >>> [round(times.next(behind=20), 2) for _ in range(3)]
        [1.0, 1.05, 1.1]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a guess."""
        self._clock = clock
        self._gap = FIRST_GUESS
        self._last = -math.inf
        self._given = -math.inf

    def ended(self, *, busy: bool) -> None:
        """Take note of an answer, and of whether others are still waited for: else the next gap tells nothing."""
        now = self._clock()
        if self._last > -math.inf:
            self._gap = MEMORY * self._gap + (1 - MEMORY) * min(now - self._last, LONGEST_GAP)
        self._last = now if busy else -math.inf

    def next(self, *, behind: int) -> float:
        """Give the seconds after which one that comes behind so many may come again, a minute at most."""
        now = self._clock()
        self._given = min(max(self._given + self._gap, now + behind * self._gap), now + LONGEST_WAIT)
        return min(max(1.0, self._given - now), LONGEST_WAIT)
