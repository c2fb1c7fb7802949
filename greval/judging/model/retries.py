"""Retries, in one layer: which failures of a call may pass by themselves, and how long to wait for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, wait_random_exponential

from greval.judging.model.rate_limit import MAX_PAUSE
from greval.judging.model.reply import Reply
from greval.records.result import FailureKind

PASSING: frozenset[FailureKind] = frozenset({"rate_limit", "timeout", "connection", "server"})
"""What may be gone a moment later. A refused key, a wrong request or a refusal to judge comes again."""

FIRST_SECONDS = 0.5
CEILING_SECONDS = 30.0
_BACKOFF = wait_random_exponential(multiplier=FIRST_SECONDS, max=CEILING_SECONDS)
"""Full jitter: a random time up to the ceiling that doubles with each attempt, so that callers spread."""


async def retrying(
    retries: int, attempt: Callable[[], Awaitable[Reply]], sleep: Callable[[float], Awaitable[None]]
) -> Reply:
    """Make a call, and again while its failure may pass, at most so many more times.

    Args:
        retries: How often it is made again.
        attempt: One call; what goes wrong with it is in its reply.
        sleep: Waits so many seconds.

    Returns:
        The reply of the last call; the provider's own wish to wait is kept to.
    """
    first = [await attempt()]
    if not retries or not _may_pass(first[0]):  # nearly always: the machinery of retries is for the others
        return first[0]

    async def next_one() -> Reply:
        return first.pop() if first else await attempt()

    again = AsyncRetrying(
        stop=stop_after_attempt(retries + 1),
        retry=retry_if_result(_may_pass),
        wait=_pause,
        sleep=sleep,
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    return await again(next_one)


def _may_pass(reply: Reply) -> bool:
    return reply.failure is not None and reply.failure.kind in PASSING


def _pause(state: RetryCallState) -> float:
    """Give the seconds to wait: those that the provider asked for, and never less than the backoff."""
    reply: Reply | None = state.outcome.result() if state.outcome else None
    asked = reply.pause if reply and reply.pause else 0.0
    return min(asked, MAX_PAUSE) + _BACKOFF(state)
