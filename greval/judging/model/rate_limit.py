"""Rate limits, retries and waits: configured limits, rate-limit headers, refusals, and what they ask to wait.

All metrics and runs of an event loop that call one address with one key share one `RateLimiter`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from math import inf
from random import uniform
from typing import NamedTuple
from weakref import WeakKeyDictionary

from greval.judging.model.failures import list_models, list_secrets
from greval.judging.model.provider_errors import iterate_causes, list_error_texts, read_body, read_headers
from greval.judging.model.reply_cache import Reply
from greval.records.result import Failure, FailureKind

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


MAX_PAUSE_SECONDS = 300.0
"""The longest pause in seconds. If a server asks for a longer one, the call is retried earlier and refused again."""
MAX_WAIT_SECONDS = 86_400.0
"""The longest waiting time that can be meant. A longer one is not obeyed, as if the provider had named none."""
FIRST_EPOCH_SECONDS, FIRST_EPOCH_MILLIS = 1e9, 1e12
"""Numbers from which on a reset time is a date: seconds or milliseconds since 1970."""

# Possessive: 20ms must not match as 2 and 0ms.
_NUMBER = r"(\d++(?:\.\d++)?+)"
_DURATION = re.compile(
    rf"(?:{_NUMBER} ?d(?:ays?)?,? ?)?(?:{_NUMBER} ?h(?:(?:ou)?rs?)?,? ?)?(?:{_NUMBER} ?m(?:in(?:ute)?s?)?(?!s),? ?)?"
    rf"(?:{_NUMBER} ?(?:seconds?|secs?|s)?,? ?)?(?:{_NUMBER} ?(?:ms|milliseconds?))?",
    re.IGNORECASE,
)
_UNIT = r"(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])"
_WORDS = re.compile(
    r"(?:try(?:ing)?(?: \w+ \w+)?(?: again)?(?: in| after)|wait(?: for| at least)?|available(?: again)? in|resets? in"
    rf"|retry[-_ ]after:?) (-?\d+(?:\.\d+)?(?: ?{_UNIT}(?:,? ?(?:and )?\d+(?:\.\d+)? ?{_UNIT})*)?)",
    re.IGNORECASE,
)
_FIELDS = frozenset({"retrydelay", "retry_delay", "retry_after", "retryafter", "retry_after_seconds", "retry-after"})
_MILLI_FIELDS = frozenset({"retry_after_ms", "retryafterms", "retry-after-ms", "x-ms-retry-after-ms"})
_RESET_HEADER = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:(.*)-)?reset(?:-(.*))?")


class RequestedWait(NamedTuple):
    """The seconds that a provider asked to wait, or the `unusable` text of a time that cannot be meant."""

    seconds: float | None = None
    unusable: str = ""


def read_wait(error: BaseException) -> RequestedWait:
    """Read how long to wait from the headers, the body and the words of an error, in this order."""
    unusable = ""
    for text, is_milli in _iterate_waits(error):
        seconds = parse_wait(f"{text}ms" if is_milli else text)
        if seconds is not None and seconds <= MAX_WAIT_SECONDS:
            return RequestedWait(seconds, unusable)
        unusable = unusable or text
    return RequestedWait(None, unusable)


def parse_wait(text: str) -> float | None:
    """Parse a waiting time into seconds: a number, parts such as `1m30s` or `20 ms`, or the date of its end.

    Example:
        >>> parse_wait("2"), parse_wait("1m30s"), parse_wait("20ms"), parse_wait("9 seconds"), parse_wait("soon")
        (2.0, 90.0, 0.02, 9.0, None)
    """
    plain = text.strip().replace(" and ", " ")
    if plain and (match := _DURATION.fullmatch(plain)):
        days, hours, minutes, seconds, millis = (float(part or 0) for part in match.groups())
        total = days * 86_400 + hours * 3600 + minutes * 60 + seconds + millis / 1000
        return total if total < FIRST_EPOCH_SECONDS else _count_down(total)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        pass
    try:
        end = datetime.fromisoformat(plain) if re.match(r"\d{4}-\d\d-\d\dT", plain) else None
        return max(0.0, end.timestamp() - time.time()) if end else None
    except (ValueError, OverflowError):
        return None


def _count_down(epoch: float) -> float:
    """Return the seconds until a date that is written as seconds or milliseconds since 1970."""
    return max(0.0, (epoch / 1000 if epoch >= FIRST_EPOCH_MILLIS else epoch) - time.time())


def _iterate_waits(error: BaseException) -> Iterator[tuple[str, bool]]:
    """Iterate over the waiting times that an error names, as text, and whether it counts milliseconds."""
    causes = [*iterate_causes(error)]
    for cause in causes:
        yield from _iterate_header_waits(read_headers(cause))
    for cause in causes:
        yield from _iterate_field_waits(read_body(cause))
    for cause in causes:
        for text in list_error_texts(cause):
            yield from ((words, False) for words in _WORDS.findall(text))


def _iterate_header_waits(headers: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Iterate over the waiting times of headers: Retry-After first, then the resets of what is used up."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if name in headers:
            yield headers[name], True
    if "retry-after" in headers:
        yield headers["retry-after"], False
    for name, value in headers.items():
        if match := _RESET_HEADER.fullmatch(name):
            what = match[1] or match[2]
            remaining = headers.get(name.replace("reset", "remaining"), "0")
            if remaining.strip() in {"0", "-1"} or not what:
                yield value, False


def _iterate_field_waits(body: object) -> Iterator[tuple[str, bool]]:
    """Iterate over the waiting times of fields at any depth of a body, and of headers that a gateway repeats there."""
    if isinstance(body, Mapping):
        names = {str(name).lower(): value for name, value in body.items()}
        for name, value in names.items():
            if name in _FIELDS | _MILLI_FIELDS and isinstance(value, Mapping):
                yield str(value.get("seconds", "")), False
            elif name in _FIELDS | _MILLI_FIELDS and isinstance(value, str | int | float):
                yield str(value), name in _MILLI_FIELDS
            elif name == "headers" and isinstance(value, Mapping):
                yield from _iterate_header_waits({str(key).lower(): str(part) for key, part in value.items()})
            else:
                yield from _iterate_field_waits(value)
    elif isinstance(body, list | tuple):
        for part in body:
            yield from _iterate_field_waits(part)


TRANSIENT_FAILURES: frozenset[FailureKind] = frozenset({"rate_limit", "timeout", "connection", "server"})
"""Transient failures. A refused key, a bad request or a refusal to judge is permanent."""

WAIT_REASONS: Mapping[FailureKind, str] = {
    "rate_limit": "the rate limit of {judge}",
    "timeout": "another attempt: {judge} did not answer in time",
    "connection": "another attempt: {judge} cannot be reached",
    "server": "another attempt: {judge} reports an error",
}
"""What a call waits for after a transient failure."""

FIRST_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 30.0


async def call_with_retries(
    retries: int, attempt: Callable[[], Awaitable[Reply]], sleep: Callable[[float], Awaitable[None]]
) -> Reply:
    """Make a call, and repeat it up to `retries` times while its failure is transient; return the last reply."""
    for number in range(retries):
        reply = await attempt()
        if reply.failure is None or reply.failure.kind not in TRANSIENT_FAILURES or reply.permanent:
            return reply
        # Exponential backoff with full jitter, which spreads the retries of concurrent calls.
        backoff = uniform(0, min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2**number))  # noqa: S311 - no secret
        await sleep(min(reply.pause or 0.0, MAX_PAUSE_SECONDS) + backoff)
    return await attempt()


def format_wait_reason(failure: Failure | None, judge: str) -> str:
    """Format what a call waits for after a failure."""
    return WAIT_REASONS.get(failure.kind, "{judge}").format(judge=judge) if failure else judge
