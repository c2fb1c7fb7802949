"""Retries of failed calls, and the time that a provider asks to wait: headers, fields of a body and words."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import uniform
from typing import NamedTuple

from greval.judging.model.provider_errors import iterate_causes, list_error_texts, read_body, read_headers
from greval.judging.model.reply_cache import Reply
from greval.records.result import Failure, FailureKind

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
        is_iso = re.match(r"\d{4}-\d\d-\d\dT", plain)
        end = datetime.fromisoformat(plain) if is_iso else parsedate_to_datetime(text)
        # A date without a zone is in UTC, as all dates of HTTP.
        return max(0.0, (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp() - time.time())
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
