"""Middleware that limits concurrent requests: excess requests get 429 with Retry-After instead of queueing."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from greval.serve.middleware.request_kinds import Scope, is_event_stream, is_exempt_from_admission
from greval.serve.problems import ServeError
from greval.serve.service import Service

TENANT_SHARE = 0.75
MAX_DELAY = 60.0
SMOOTHING = 0.95
"""The weight of the old value when a new gap enters the exponential moving average of gaps between answers."""
INITIAL_GAP = 0.05
MAX_GAP = 5.0


class AdmissionMiddleware:
    """Middleware that limits the requests served at once: as many as calls in flight plus requests that wait for them.

    With keys, no tenant takes more than three quarters of the capacity. Event streams of runs are counted apart, with
    the same limit, because they last long and cost little.
    """

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        """Start with no request in progress."""
        settings = service.settings
        self._app = app
        self._capacity = max(1, (settings.limits.calls + settings.limits.waiting) // settings.workers)
        self._own = max(1, int(self._capacity * TENANT_SHARE)) if settings.keys else self._capacity
        self._taken: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        self._retry_schedule = RetrySchedule()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's callables
        """Serve the request if there is capacity for it."""
        if scope["type"] != "http" or is_exempt_from_admission(scope):
            await self._app(scope, receive, send)
            return
        following = is_event_stream(scope)
        taken, name = self._taken[following], scope["state"]["tenant"].name
        self._check_capacity(taken, name)
        taken[name] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            taken[name] -= 1
            if not taken[name]:
                del taken[name]
            if not following:
                self._retry_schedule.record_answer(busy=bool(taken))

    def _check_capacity(self, taken: Counter[str], name: str) -> None:
        """Raise `ServeError` (429) with a Retry-After time if there is no capacity."""
        full = taken.total() >= self._capacity
        if full or taken[name] >= self._own:
            wait = math.ceil(self._retry_schedule.next_delay(ahead=taken.total()))
            told = f"{'the server' if full else 'what this key may have of the server'} is taken; ask again in {wait} s"
            raise ServeError(429, told, headers={"Retry-After": str(wait)})


class RetrySchedule:
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
        self._gap = INITIAL_GAP
        self._last = -math.inf
        self._given = -math.inf

    def record_answer(self, *, busy: bool) -> None:
        """Record an answer, and whether other requests are in progress: if none is, the next gap is not counted."""
        now = self._clock()
        if self._last > -math.inf:
            self._gap = SMOOTHING * self._gap + (1 - SMOOTHING) * min(now - self._last, MAX_GAP)
        self._last = now if busy else -math.inf

    def next_delay(self, *, ahead: int) -> float:
        """Return the seconds after which a request behind this number of others may retry, at most a minute."""
        now = self._clock()
        self._given = min(max(self._given + self._gap, now + ahead * self._gap), now + MAX_DELAY)
        return min(max(1.0, self._given - now), MAX_DELAY)
