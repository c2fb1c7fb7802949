"""The budget and circuit breaker of a run: stops it at a cap on calls or cost, for an unusable judge, or on request."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import Field

from greval.errors import StoppedError
from greval.judging.model.failures import redacted
from greval.judging.model.hints import advice
from greval.judging.model.reply import Reply
from greval.records.record import Record
from greval.records.result import Failure, FailureKind, Usage

SORTS: Mapping[str, frozenset[FailureKind]] = {
    "refused": frozenset({"authentication", "quota"}),
    "dead": frozenset({"connection", "server", "timeout"}),
    "wrong": frozenset({"request", "error"}),
}
"""Kinds of failures that all calls share: the key is refused, the endpoint is dead, or a name or setting is wrong."""
REFUSED_IN_A_ROW = 5
"""Refusals of the key in a row that stop the run after it has worked once. Before that, the first one stops it."""
IN_A_ROW = 20
DEAD_SECONDS = 60.0
"""Seconds of failures until an endpoint that has worked is given up: a restart may take a minute."""
NEVER_SECONDS = 5.0
"""Seconds of failures until an endpoint that has never worked is given up."""
FIRST_OUTPUT = 100
"""Assumed output tokens of a call until the first answer arrives."""
UNREADABLE: frozenset[FailureKind] = frozenset({"malformed", "off_scale", "missing_item", "length"})
"""Failures of an answer that holds no verdict. A refusal concerns a single case and is counted neither way."""
UNREADABLE_IN_A_ROW = (40, 400)
"""Consecutive answers without a verdict that stop the run: before the first verdict was read, and after it.

A judge with one readable verdict in ten gives 400 unreadable answers in a row less than once in a billion.
"""
CAUTIOUS = 16
"""The most calls in flight until the first verdict was read. It limits the cost of a judge that cannot judge."""
HIGHER_CAP = "a higher cap goes on"
"""The end of the reason if a cap stopped a run, because the same command would stop again at once."""
FIRST_WORDS = 80
"""The most characters of an answer that the reason for a stop quotes."""


class Spending(Record):
    """The calls made to the judge and their cost in US dollars, None if no price is known.

    Example:
        >>> RunSpending(calls=2, cost=0.5) + RunSpending(calls=1)
        RunSpending(calls=3, cost=0.5)
    """

    calls: Annotated[int, Field(ge=0)] = 0
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    def __add__(self, other: Spending) -> Spending:
        """Add calls and costs. An unknown cost counts as 0 if the other is known."""
        return Spending(calls=self.calls + other.calls, cost=_add(self.cost, other.cost))


class Guard:
    """Checks before each call whether it may be made, and stops the run at a cap or after too many failures.

    Args:
        max_calls: The most calls of the run, over all commands.
        max_cost: The most US dollars of the run, over all commands. It needs `cost`.
        cost: Computes the cost of a usage in US dollars, None if it is not known.
        hint: What to do if the key is refused.
        model: The judge's name, for the hints on other failures.
        watchful: Whether failures stop the run. False outside a run, when there is nothing to stop.
        max_outage: The seconds for which an endpoint may be unavailable: one that has never worked, and one that has.
        clock: Returns the time in seconds.
    """

    def __init__(  # noqa: PLR0913 - the conditions that stop a run
        self,
        *,
        max_calls: int | None = None,
        max_cost: float | None = None,
        cost: Callable[[Usage], float | None] = lambda _: None,
        hint: str = "check the key",
        model: str = "",
        watchful: bool = True,
        away: tuple[float, float] = (NEVER_SECONDS, DEAD_SECONDS),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with no calls made."""
        self.why: str | None = None
        self.fatal = False
        self.kind: FailureKind | None = None
        self.before = Spending()
        self.was_read: Callable[[str], bool] = lambda _: False
        self.calls = 0
        self.answers = 0
        self.flying = 0
        self.spent: float | None = None
        self._max_calls = max_calls
        self._max_cost = max_cost
        self._cost = cost
        self._hint = hint
        self._model = model
        self.watchful = watchful
        self._away = away
        self._clock = clock
        self._waiting: set[asyncio.Task[Any]] = set()
        self._row: Counter[str] = Counter()
        self._priced = 0
        self._dead_since = 0.0
        self._came = asyncio.Event()
        self._read: set[str] = set()
        self._unread: Counter[str] = Counter()

    @property
    def spending(self) -> Spending:
        """The calls and the cost of the run, over all commands."""
        return self.before + Spending(calls=self.calls, cost=self.spent)

    def stop(self, why: str, *, fatal: bool = False, kind: FailureKind | None = None) -> None:
        """Stop the run: allow no further call and cancel everything that waits for one. The first reason is kept.

        `kind` is the kind of the failures that caused the stop.
        """
        if self.why is None:
            self.why, self.fatal, self.kind = why, fatal, kind
            for task in self._waiting:
                task.cancel()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Cancel the waiting inside this context when the run is stopped.

        Raises:
            StoppedError: If the run is stopped.
        """
        self._check()
        task = asyncio.current_task()
        if task is None:
            yield
            return
        self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if self.why is not None and task.uncancel() == 0:
                self._check()
            raise
        finally:
            self._waiting.discard(task)

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds.

        Raises:
            StoppedError: If the run is stopped meanwhile.
        """
        with self.waiting():
            await asyncio.sleep(seconds)

    async def affordable(self) -> None:
        """Wait until another call may be added to those in flight.

        With a cap on cost, only one call is made until its answer shows what a call costs. Until the first answer was
        read as a verdict, the number of calls in flight is limited.

        Raises:
            StoppedError: If the run is stopped meanwhile.
        """
        with self.waiting():
            while self._unpriced() or self._unproven():
                self._came.clear()
                await self._came.wait()

    def admit(self, tokens: int = 0) -> None:
        """Count a call that is about to be made.

        Args:
            tokens: The estimated input tokens of the call.

        Raises:
            StoppedError: If the call may not be made.
        """
        if self._max_calls is not None and self.spending.calls >= self._max_calls:
            self.stop(describe_cap(self.before, max_calls=self._max_calls))
        spent = self.spending.cost or 0.0
        if self._max_cost is not None and spent + self._due(tokens) > self._max_cost:
            out = f"; ${spent:.4f} spent, {self.flying} calls out"
            self.stop(describe_cap(self.before, max_cost=self._max_cost, out=out))
        self._check()
        self.calls += 1
        self.flying += 1

    def came(self, reply: Reply | None) -> None:
        """Record the reply of a call, None if it was cancelled, and stop the run if further calls cannot succeed."""
        self.flying -= 1
        self._came.set()
        if reply is None or not self.watchful:
            return
        failure = reply.failure
        if (cost := self._cost(reply.usage)) is not None:
            self.spent = _add(self.spent, cost)
            self._priced += 1
        if failure and failure.kind == "rate_limit":
            self._row["dead"] = 0  # a rate limit shows that the endpoint works
            return
        sort = next((sort for sort, kinds in SORTS.items() if failure and failure.kind in kinds), None)
        if sort:
            self._row[sort] += 1
        else:
            self.answers += 1
            self._row.clear()
        if sort == "dead" and self._row["dead"] == 1:
            self._dead_since = self._clock()
        if failure and self._row["refused"] >= (REFUSED_IN_A_ROW if self.answers else 1):
            self.stop(f"the judge refuses the key: {failure.message}; {self._hint}", fatal=True, kind=failure.kind)
        elif failure and self._hopeless():
            told = f"the last with: {failure.message}; {advice(failure.kind, self._model)}"
            self.stop(f"{self._row.total()} calls in a row failed, {told}", fatal=True, kind=failure.kind)

    def note_answer(self, metric: str, failure: Failure | None) -> None:
        """Record whether an answer was read as a verdict of a metric, and stop the run if too many were not.

        A readable answer resets the count of unreadable ones. Before the first readable answer the count covers all
        metrics together, afterwards each metric separately.

        Args:
            metric: The name of the metric.
            failure: Why no verdict was read, or None if one was.
        """
        self._came.set()
        if failure is None:
            self._read.add(metric)
            del self._unread[metric]
        if failure is None or not self.watchful or failure.kind not in UNREADABLE:
            return
        self._unread[metric] += 1
        before, after = UNREADABLE_IN_A_ROW
        count = self._unread[metric] if self._read else self._unread.total()
        if count >= after or (count >= before and not (metric in self._read or self.was_read(metric))):
            told = f"the last on {metric}, {_describe_answer(failure)}; {advice(failure.kind, self._model)}"
            why = f"{count} answers of the judge in a row held no verdict that can be read, {told}"
            self.stop(why, fatal=True, kind=failure.kind)

    def _unpriced(self) -> bool:
        """Return whether the cost of a call is unknown while the first call is still in flight."""
        return self._max_cost is not None and bool(self.flying) and not (self._priced or self.answers)

    def _unproven(self) -> bool:
        """Return whether the limit of calls in flight is reached before the first verdict was read."""
        return self.watchful and self.flying >= CAUTIOUS and not self._read

    def _check(self) -> None:
        if self.why is not None:
            raise StoppedError(self.why)

    def _hopeless(self) -> bool:
        """Return whether the consecutive failures show a bad endpoint or setting rather than single failed calls."""
        if self._row["dead"] >= IN_A_ROW:
            away = self._clock() - self._dead_since
            return away >= self._away[bool(self.answers)]
        return self._row["wrong"] >= IN_A_ROW and not self.answers

    def _due(self, tokens: int) -> float:
        """Estimate the cost of the next call and those in flight, from the mean so far or, at first, from `tokens`."""
        first = self._cost(Usage(input_tokens=tokens, output_tokens=FIRST_OUTPUT)) or 0.0
        return (self.flying + 1) * (self.spent / self._priced if self.spent else first)


def describe_cap(
    before: Spending, *, max_calls: int | None = None, max_cost: float | None = None, out: str = ""
) -> str:
    """Format the message that a cap of a run is reached, with the share of earlier commands and how to continue.

    Example:
        >>> format_cap_reason(RunSpending(calls=3), max_calls=5)
        'the cap of 5 calls is reached (--max-calls); earlier commands on this run made 3 of them; a higher cap goes on'
    """
    if max_calls is not None:
        spent = f"; earlier commands on this run made {before.calls:,} of them" if before.calls else ""
        return f"the cap of {max_calls:,} calls is reached (--max-calls){spent}{out}; {HIGHER_CAP}"
    spent = f"; earlier commands on this run spent ${before.cost:.4f} of it" if before.cost else ""
    return f"the cap of ${max_cost:g} is reached (--max-cost){spent}{out}; {HIGHER_CAP}"


def _describe_answer(failure: Failure) -> str:
    """Format the start of an answer on one line, without keys or control characters, and its error."""
    said = " ".join(redacted(failure.raw or "").split())
    shown = f"{said[:FIRST_WORDS]}..." if len(said) > FIRST_WORDS else said
    return f"which began {shown!r} ({failure.message})" if shown else f"which was empty ({failure.message})"


def _add(left: float | None, right: float | None) -> float | None:
    return right if left is None else left if right is None else left + right
