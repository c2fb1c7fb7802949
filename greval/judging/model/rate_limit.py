"""Rate limiting of the calls to one provider with one key: configured limits, rate-limit headers and refusals.

All metrics and runs of an event loop that call one address with one key share one `RateLimiter`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from math import inf
from weakref import WeakKeyDictionary

from greval.judging.model.failures import list_models, list_secrets
from greval.judging.model.wait_times import MAX_PAUSE_SECONDS, MAX_WAIT_SECONDS, parse_wait

MAX_UNPROVEN_CALLS = 16
"""The most calls in flight before the first answer, which limits the failed calls for a wrong key or address."""
MINUTE_SECONDS = 60.0
MAX_WARNINGS = 3
"""The most warnings on one provider's waiting times."""
_LOG = logging.getLogger("greval")
PAUSE_AFTER_REFUSALS = 3
"""Consecutive refusals that pause all calls. A single refusal between answers delays only its own call."""
PAUSE_MARGIN_SECONDS, MIN_MARGIN_PAUSE = 1.0, 5.0
"""Seconds that are added to a pause of some seconds up to a minute.

A provider names the time at which the first of several calls is allowed again, and the others wait for the same.
"""
CUT_INTERVAL_SECONDS = 1.0
"""The least seconds between two cuts of the concurrency, so that calls that were sent together cut it only once."""


class RateBucket:
    """A limit of units a minute, spread evenly over time, with a burst of some seconds' worth (one by default).

    A single larger amount may exceed the burst. If units are taken one at a time, the limit holds in any window of a
    minute; with larger amounts it is exceeded by at most the last one. This is the generic cell rate algorithm
    (ITU-T I.371): `_due` is the time at which the next unit is due at the even rate.
    """

    def __init__(self, per_minute: float, burst_seconds: float = 1.0) -> None:
        """Compute the rate and the burst from the limit."""
        self.per_minute = per_minute
        burst = max(1.0, per_minute * burst_seconds // MINUTE_SECONDS)
        self._rate = (per_minute - burst + 1) / MINUTE_SECONDS
        self._slack = (burst - 1) / self._rate
        self._due = -inf

    def compute_wait(self, now: float) -> float:
        """Return the seconds until the next amount may be taken."""
        return max(0.0, self._due - self._slack - now)

    def take(self, amount: float, now: float) -> None:
        """Take an amount. A negative amount returns what was taken in excess."""
        self._due = max(self._due, now) + amount / self._rate if amount > 0 else self._due + amount / self._rate


class RateLimiter:
    """A rate limiter for the calls to one provider with one key.

    It keeps the limits of requests and tokens a minute, pauses if the provider refuses several calls in a row and
    asks for a pause, and adapts the number of calls in flight: a rate-limit refusal halves it, each round of answers
    adds one (additive increase, multiplicative decrease; Chiu and Jain 1989). `max_in_flight` is the most calls that
    the server works on at a time, if that is known. The clock is that of the event loop.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without limits."""
        self._clock = clock
        self.flying = 0
        self.width = inf
        self.max_in_flight = inf
        self.proven = False
        self._owners: WeakKeyDictionary[object, tuple[float | None, float | None]] = WeakKeyDictionary()
        self._requests: RateBucket | None = None
        self._tokens: RateBucket | None = None
        self._paused_until = -inf
        self._cut_at = -inf
        self._refused = 0
        self._turn = asyncio.Lock()
        self._queued = 0
        self._room = asyncio.Event()
        self._warnings: set[str] = set()

    def set_limits(self, owner: object, *, requests: float | None, tokens: float | None) -> None:
        """Set the limits a minute of an owner, valid while it is alive. With several owners the lowest limits apply."""
        self._owners[owner] = requests, tokens
        lowest = [min(filter(None, limits), default=None) for limits in zip(*self._owners.values(), strict=True)]
        self._requests, self._tokens = (
            bucket if bucket and bucket.per_minute == limit else RateBucket(limit) if limit else None
            for bucket, limit in zip((self._requests, self._tokens), lowest, strict=True)
        )

    async def acquire(self, tokens: float = 0, *, cautious: bool = False) -> None:
        """Wait until a call may be made, and reserve its tokens. A cautious caller waits for the first answer."""
        # Calls that wait already go first.
        if self._queued or not self._has_room(cautious=cautious) or self._compute_delay() > 0:
            await self._wait_for_turn(cautious=cautious)
        self.flying += 1
        now = self._clock()
        if self._requests:
            self._requests.take(1, now)
        if self._tokens:
            self._tokens.take(tokens, now)

    def release(self) -> None:
        """End a call."""
        self.flying -= 1
        self._room.set()

    def record_answer(self, surplus: float = 0) -> None:
        """Record an answer, and the tokens that it used beyond those reserved."""
        self.proven = True
        self._refused = 0
        if self.width != inf:
            # A round of answers adds one.
            self.width += 1 / self.width
        if self._tokens and surplus:
            self._tokens.take(surplus, self._clock())
        self._room.set()

    def record_refusal(self, pause: float | None, tokens: float = 0) -> None:
        """Record a refusal because of the rate limit; `pause` are the seconds that the provider asked to wait."""
        now = self._clock()
        if self._tokens and tokens:
            self._tokens.take(-tokens, now)
        if now - self._cut_at >= CUT_INTERVAL_SECONDS:
            self._cut_at = now
            self.width = max(1.0, min(self.width, self.flying) // 2)
        self._refused += 1
        if self._refused >= PAUSE_AFTER_REFUSALS:
            is_minute = pause is not None and MIN_MARGIN_PAUSE <= pause <= MINUTE_SECONDS
            self.pause((pause or 0.0) + (PAUSE_MARGIN_SECONDS if is_minute else 0.0))

    def pause(self, seconds: float) -> None:
        """Make no calls for a number of seconds, at most `MAX_PAUSE_SECONDS`."""
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, MAX_PAUSE_SECONDS))

    def warn_once(self, text: str) -> None:
        """Log a warning on the provider's waiting times, each only once."""
        if text not in self._warnings and len(self._warnings) < MAX_WARNINGS:
            self._warnings.add(text)
            _LOG.warning("%s", text)

    def read_headers(self, headers: Mapping[str, str]) -> None:
        """Read the rate-limit headers of a response, and pause until the reset time if nothing remains."""
        for what in ("requests", "tokens"):
            reset = headers.get(f"x-ratelimit-reset-{what}")
            if reset and headers.get(f"x-ratelimit-remaining-{what}") == "0":
                wait = parse_wait(reset)
                self.pause(wait if wait and wait <= MAX_WAIT_SECONDS else 0.0)

    @property
    def pause_seconds(self) -> float:
        """The seconds for which no call is made because the provider asked for a pause, or 0."""
        return max(0.0, self._paused_until - self._clock())

    def _has_room(self, *, cautious: bool) -> bool:
        unproven = MAX_UNPROVEN_CALLS if cautious and not self.proven else inf
        return self.flying < min(self.width, self.max_in_flight, unproven)

    def _compute_delay(self) -> float:
        now = self._clock()
        buckets = (bucket.compute_wait(now) for bucket in (self._requests, self._tokens) if bucket)
        return max(self._paused_until - now, *buckets, 0.0)

    async def _wait_for_turn(self, *, cautious: bool) -> None:
        """Wait in first-come order until the limits and the number of calls in flight allow a call."""
        # A lock that was just released looks free to a new caller.
        self._queued += 1
        try:
            async with self._turn:
                while (delay := self._compute_delay()) > 0 or not self._has_room(cautious=cautious):
                    if delay > 0:
                        await asyncio.sleep(delay)
                    else:
                        self._room.clear()
                        await self._room.wait()
        finally:
            self._queued -= 1


_RATE_LIMITERS: dict[asyncio.AbstractEventLoop, dict[tuple[str, str], RateLimiter]] = {}


def get_rate_limiter(model: object) -> RateLimiter:
    """Return the rate limiter of a model's address and key in the running event loop. The key is kept as a hash."""
    first = list_models(model)[0]
    address = str(getattr(first, "openai_api_base", None) or type(first).__name__)
    keys = sha256("\n".join(list_secrets(model)).encode()).hexdigest()
    for ended in [loop for loop in _RATE_LIMITERS if loop.is_closed()]:
        del _RATE_LIMITERS[ended]
    loop = asyncio.get_running_loop()
    return _RATE_LIMITERS.setdefault(loop, {}).setdefault((address, keys), RateLimiter(loop.time))
