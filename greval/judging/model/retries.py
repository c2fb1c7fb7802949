"""Retries, in one layer: which failures of a call are transient, and how long to wait before the next attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, wait_random_exponential

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
_BACKOFF = wait_random_exponential(multiplier=FIRST_BACKOFF_SECONDS, max=MAX_BACKOFF_SECONDS)
"""Exponential backoff with full jitter: a random time up to a limit that doubles with each attempt.

The jitter spreads the retries of concurrent calls.
"""


async def call_with_retries(
    retries: int, attempt: Callable[[], Awaitable[Reply]], sleep: Callable[[float], Awaitable[None]]
) -> Reply:
    """Make a call, and repeat it up to `retries` times while its failure is transient; return the last reply."""
    first = [await attempt()]
    # The usual case, which avoids the cost of AsyncRetrying.
    if not retries or not _is_transient(first[0]):
        return first[0]

    async def make_attempt() -> Reply:
        # The first attempt was made already.
        return first.pop() if first else await attempt()

    retrying = AsyncRetrying(
        stop=stop_after_attempt(retries + 1),
        retry=retry_if_result(_is_transient),
        wait=_compute_pause,
        sleep=sleep,
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    return await retrying(make_attempt)


def format_wait_reason(failure: Failure | None, judge: str) -> str:
    """Format what a call waits for after a failure."""
    return WAIT_REASONS.get(failure.kind, "{judge}").format(judge=judge) if failure else judge


def _is_transient(reply: Reply) -> bool:
    return reply.failure is not None and reply.failure.kind in TRANSIENT_FAILURES and not reply.permanent


def _compute_pause(state: RetryCallState) -> float:
    """Compute the seconds to wait: those that the provider asked for, plus the backoff."""
    reply: Reply | None = state.outcome.result() if state.outcome else None
    requested = reply.pause if reply and reply.pause else 0.0
    return min(requested, MAX_PAUSE_SECONDS) + _BACKOFF(state)
