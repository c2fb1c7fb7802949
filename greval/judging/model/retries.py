"""Retries, in one layer: which failures of a call are transient, and how long to wait before the next attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from random import uniform

from greval.judging.model.reply_cache import Reply
from greval.judging.model.wait_times import MAX_PAUSE_SECONDS
from greval.records.result import Failure, FailureKind

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
