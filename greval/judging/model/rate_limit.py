"""How fast one provider may be asked under one key: its limits, what it tells in headers, and its refusals.

All metrics and runs of an event loop that speak to one address under one key share one `Pace`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from hashlib import sha256
from math import inf
from re import fullmatch
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from greval.judging.model.failures import secrets_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

UNPROVEN = 16
"""Calls in flight before the first answer came: a wrong key or address costs no more of them."""
MINUTE = 60.0
MAX_PAUSE = 300.0
"""A server that asks for a longer pause is asked again all the same, and says so again."""
REFUSED_IN_A_ROW = 3
"""One refusal among answers holds its own call only; so many with no answer between hold all."""
CUT_SECONDS = 1.0
"""Refusals of calls that were sent together cut the width once, not once each."""


class Bucket:
    """A limit of so much a minute, spent evenly: a second's worth at once at most, or one take that is more.

    Taken one by one it is never more in any minute; with larger takes, never more by more than the
    last one. The generic cell rate algorithm (ITU-T I.371): `due` is when the next unit is due at the
    even rate.
    """

    def __init__(self, per_minute: float) -> None:
        """Spread what a minute allows."""
        self.per_minute = per_minute
        burst = max(1.0, per_minute // MINUTE)
        self._rate = (per_minute - burst + 1) / MINUTE
        self._slack = (burst - 1) / self._rate
        self._due = -inf

    def wait(self, now: float) -> float:
        """Give the seconds until something may be taken."""
        return max(0.0, self._due - self._slack - now)

    def take(self, amount: float, now: float) -> None:
        """Take so much, or give back what was taken too much, where it is negative."""
        self._due = max(self._due, now) + amount / self._rate if amount > 0 else self._due + amount / self._rate


class Pace:
    """The pace of calls to one provider under one key.

    It holds the limits of requests and tokens a minute, pauses where the provider refuses call after
    call and asks for it, and adapts how many calls are in flight: a refusal for too many halves them,
    each round of answers adds one (additive increase, multiplicative decrease; Chiu and Jain 1989).

    Args:
        clock: Returns the time in seconds; that of the event loop in which calls wait.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without limits."""
        self._clock = clock
        self.flying = 0
        self.width = inf
        self.proven = False
        self._owners: WeakKeyDictionary[object, tuple[float | None, float | None]] = WeakKeyDictionary()
        self._requests: Bucket | None = None
        self._tokens: Bucket | None = None
        self._paused_until = -inf
        self._cut_at = -inf
        self._refused = 0
        self._turn = asyncio.Lock()
        self._queued = 0
        self._room = asyncio.Event()

    def limit(self, owner: object, *, requests: float | None, tokens: float | None) -> None:
        """Keep to so many requests and tokens a minute while the owner lives; of several owners the lowest count."""
        self._owners[owner] = requests, tokens
        lowest = [min(filter(None, limits), default=None) for limits in zip(*self._owners.values(), strict=True)]
        self._requests, self._tokens = (
            bucket if bucket and bucket.per_minute == limit else Bucket(limit) if limit else None
            for bucket, limit in zip((self._requests, self._tokens), lowest, strict=True)
        )

    async def enter(self, tokens: float = 0, *, cautious: bool = False) -> None:
        """Wait until a call of about so many tokens may be made; `leave` ends it.

        Args:
            tokens: What the call is expected to cost.
            cautious: Whether few calls are made until the first answer came.
        """
        if self._queued or not self._has_room(cautious=cautious) or self._delay() > 0:
            await self._wait(cautious=cautious)
        self.flying += 1
        now = self._clock()
        if self._requests:
            self._requests.take(1, now)
        if self._tokens:
            self._tokens.take(tokens, now)

    def leave(self) -> None:
        """End a call."""
        self.flying -= 1
        self._room.set()

    def answered(self, surplus: float = 0) -> None:
        """Take note of an answer, and of the tokens that it cost beyond those that were counted on."""
        self.proven = True
        self._refused = 0
        if self.width != inf:
            self.width += 1 / self.width
        if self._tokens and surplus:
            self._tokens.take(surplus, self._clock())
        self._room.set()

    def refused(self, pause: float | None, tokens: float = 0) -> None:
        """Take note that the provider had too many calls, and for how many seconds it asked to wait.

        Args:
            pause: The seconds, None where it did not say.
            tokens: What was counted on for the call: it was not spent.
        """
        now = self._clock()
        if self._tokens and tokens:
            self._tokens.take(-tokens, now)
        if now - self._cut_at >= CUT_SECONDS:
            self._cut_at = now
            self.width = max(1.0, min(self.width, self.flying) // 2)
        self._refused += 1
        if self._refused >= REFUSED_IN_A_ROW:
            self.pause(pause or 0.0)

    def pause(self, seconds: float) -> None:
        """Send nothing for so many seconds."""
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, MAX_PAUSE))

    def observe(self, headers: Mapping[str, str]) -> None:
        """Read the rate-limit headers of an answer: where nothing is left, wait until there is again."""
        for what in ("requests", "tokens"):
            reset = headers.get(f"x-ratelimit-reset-{what}")
            if reset and headers.get(f"x-ratelimit-remaining-{what}") == "0":
                self.pause(seconds_of(reset) or 0.0)

    def _has_room(self, *, cautious: bool) -> bool:
        return self.flying < (min(self.width, UNPROVEN) if cautious and not self.proven else self.width)

    def _delay(self) -> float:
        now = self._clock()
        buckets = (bucket.wait(now) for bucket in (self._requests, self._tokens) if bucket)
        return max(self._paused_until - now, *buckets, 0.0)

    async def _wait(self, *, cautious: bool) -> None:
        """Wait for one's turn, for room and for the time, in the order of coming."""
        self._queued += 1  # a lock that was just let go looks free to a newcomer
        try:
            async with self._turn:
                while (delay := self._delay()) > 0 or not self._has_room(cautious=cautious):
                    if delay > 0:
                        await asyncio.sleep(delay)
                    else:
                        self._room.clear()
                        await self._room.wait()
        finally:
            self._queued -= 1


_PACES: dict[asyncio.AbstractEventLoop, dict[tuple[str, str], Pace]] = {}


def pace_of(model: BaseChatModel) -> Pace:
    """Give the pace that a model shares, in the running loop, with all of its address and key; no key is kept."""
    address = str(getattr(model, "openai_api_base", None) or type(model).__name__)
    keys = sha256("\n".join(secrets_of(model)).encode()).hexdigest()
    for ended in [loop for loop in _PACES if loop.is_closed()]:
        del _PACES[ended]
    loop = asyncio.get_running_loop()
    return _PACES.setdefault(loop, {}).setdefault((address, keys), Pace(loop.time))


def asked_pause(error: BaseException) -> float | None:
    """Give the seconds for which the answer behind an error asks to wait, None where it does not say."""
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", None) or {}
    if millis := headers.get("retry-after-ms"):
        return (seconds_of(f"{millis}ms") or 0.0) if millis.replace(".", "", 1).isdigit() else None
    return seconds_of(headers.get("retry-after", ""))


def seconds_of(text: str) -> float | None:
    """Read a time to wait: seconds, parts such as `1m30s` or `20ms`, or the date when it is over.

    Example:
        >>> seconds_of("2"), seconds_of("1m30s"), seconds_of("20ms"), seconds_of("soon")
        (2.0, 90.0, 0.02, None)
    """
    number = r"(\d++(?:\.\d++)?+)"  # whole: the 20 of 20ms is not a 2 and a 0ms
    if found := fullmatch(f"(?:{number}h)?(?:{number}m)?(?:{number}s?)?(?:{number}ms)?", text.strip()):
        hours, minutes, seconds, millis = (float(part or 0) for part in found.groups())
        return hours * 3600 + minutes * 60 + seconds + millis / 1000 if text.strip() else None
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None
