"""Middleware that limits concurrent requests: excess requests get 429 with Retry-After instead of queueing."""

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
"""The weight of the old value when a new gap enters the exponential moving average of gaps between answers."""
FIRST_GUESS = 0.05
LONGEST_GAP = 5.0


class Admission:
    """Middleware that limits the requests served at once: as many as calls in flight plus requests that wait for them.

    With keys, no tenant takes more than three quarters of the capacity. Event streams of runs are counted apart, with
    the same limit, because they last long and cost little.
    """

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        """Start with no request in progress."""
        settings = service.settings
        self._app = app
        self._places = max(1, (settings.limits.calls + settings.limits.waiting) // settings.workers)
        self._own = max(1, int(self._places * SHARE)) if settings.keys else self._places
        self._taken: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        self._appointments = Appointments()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's callables
        """Serve the request if there is capacity for it."""
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
        """Raise `ServeError` (429) with a Retry-After time if there is no capacity."""
        full = taken.total() >= self._places
        if full or taken[name] >= self._own:
            wait = math.ceil(self._appointments.next(behind=taken.total()))
            told = f"{'the server' if full else 'what this key may have of the server'} is taken; ask again in {wait} s"
            raise ServeError(429, told, headers={"Retry-After": str(wait)})


class Appointments:
    """A schedule of Retry-After times: refused requests get different times, as far apart as answers are.

    If all were given the same time, they would all return at once, and most would be refused again.

    Args:
        clock: Returns the time in seconds.

    Example:
        >>> times = RetrySchedule(lambda: 0.0)
        >>> [round(times.next_delay(ahead=20), 2) for _ in range(3)]
        [1.0, 1.05, 1.1]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with an initial guess of the gap."""
        self._clock = clock
        self._gap = FIRST_GUESS
        self._last = -math.inf
        self._given = -math.inf

    def ended(self, *, busy: bool) -> None:
        """Record an answer, and whether other requests are in progress: if none is, the next gap is not counted."""
        now = self._clock()
        if self._last > -math.inf:
            self._gap = MEMORY * self._gap + (1 - MEMORY) * min(now - self._last, LONGEST_GAP)
        self._last = now if busy else -math.inf

    def next(self, *, behind: int) -> float:
        """Return the seconds after which a request behind this number of others may retry, at most a minute."""
        now = self._clock()
        self._given = min(max(self._given + self._gap, now + behind * self._gap), now + LONGEST_WAIT)
        return min(max(1.0, self._given - now), LONGEST_WAIT)
