"""The budget and circuit breaker of a run: stops it at a cap on calls or cost, for an unusable judge, or on request."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, Self

from pydantic import Field

from greval._util.concurrency import count_as_waiting
from greval._util.wording import format_count, shorten_text
from greval.errors import StoppedError
from greval.judging.model.failures import format_failure_hint, redact_secrets
from greval.judging.model.reply_cache import Reply
from greval.records.record import Record
from greval.records.result import Failure, FailureKind, Usage, add_reported

FAILURE_GROUPS: Mapping[str, frozenset[FailureKind]] = {
    "refused": frozenset({"authentication", "quota"}),
    "dead": frozenset({"connection", "server", "timeout"}),
    "wrong": frozenset({"request", "error"}),
}
"""Kinds of failures that all calls share: the key is refused, the endpoint is dead, or a name or setting is wrong."""
PERMANENT_KINDS: frozenset[FailureKind] = frozenset({"connection", "request"})
"""Kinds of permanent failures that every call shares: a refused certificate or a refused setting."""
MAX_REFUSALS_IN_A_ROW = 5
"""Refusals of the key in a row that stop the run after it has worked once. Before that, the first one stops it."""
MAX_FAILURES_IN_A_ROW = 20
MAX_OUTAGE_SECONDS = 60.0
"""Seconds of failures until an endpoint that has worked is given up: a restart may take a minute."""
MAX_INITIAL_OUTAGE_SECONDS = 5.0
"""Seconds of failures until an endpoint that has never worked is given up."""
ASSUMED_OUTPUT_TOKENS = 100
"""Assumed output tokens of a call until the first answer arrives."""
UNREADABLE_KINDS: frozenset[FailureKind] = frozenset({"malformed", "off_scale", "missing_item", "length"})
"""Failures of an answer that holds no verdict. A refusal concerns a single case and is counted neither way."""
MAX_UNREADABLE_IN_A_ROW = (40, 400)
"""Consecutive answers without a verdict that stop the run: before the first verdict was read, and after it.

A judge with one readable verdict in ten gives 400 unreadable answers in a row less than once in a billion.
"""
MAX_UNPROVEN_CALLS = 16
"""The most calls in flight until the first verdict was read. It limits the cost of a judge that cannot judge."""
RAISE_CAP_HINT = "raise it to continue"
"""The end of the reason if a cap stopped a run, because the same command would stop again at once."""
MAX_EXCERPT_CHARS = 80
"""The most characters of an answer that the reason for a stop quotes."""


class RunSpending(Record):
    """The calls made to the judge, their cost in US dollars if it is known, and the calls whose cost is an estimate."""

    calls: Annotated[int, Field(ge=0)] = 0
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    estimated: Annotated[int, Field(ge=0)] = 0

    def __add__(self, other: RunSpending) -> RunSpending:
        """Add calls and costs. An unknown cost counts as 0 if the other is known."""
        return RunSpending(
            calls=self.calls + other.calls,
            cost=add_reported(self.cost, other.cost),
            estimated=self.estimated + other.estimated,
        )


class CallMeter(Protocol):
    """Counts the calls of several runs and requests together, such as those of one client of a server."""

    def admit_call(self, judge: str) -> str | None:
        """Count a call that is about to be made, or return the reason why it may not be made."""

    def withdraw_call(self, judge: str) -> None:
        """Take back a call that was admitted and is not made."""

    def record_usage(self, judge: str, usage: Usage) -> None:
        """Record the usage of a call that was admitted, also if it was cancelled."""


@dataclass(eq=False, kw_only=True)
class RunGuard:
    """Checks before each call whether it may be made, and stops the run at a cap or after too many failures.

    With several judges, each has a guard made by `for_judge`: the caps and the stop are those of the run, while
    failures, costs of a call and calls in flight are counted for each judge, because one judge says nothing of another.

    Caps are those of all commands on the run. `cost` computes the US dollars of a usage, None if they are not known.
    `hint` says what to do if the key is refused. `watchful` is false outside a run, when there is nothing to stop.
    `max_outage` are the seconds for which an endpoint may be unavailable: one that has never worked, and one that has.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    cost: Callable[[Usage], float | None] = lambda _: None
    hint: str = "check the key"
    model: str = ""
    watchful: bool = True
    max_outage: tuple[float, float] = (MAX_INITIAL_OUTAGE_SECONDS, MAX_OUTAGE_SECONDS)
    clock: Callable[[], float] = time.monotonic
    why: str | None = field(default=None, init=False)
    fatal: bool = field(default=False, init=False)
    kind: FailureKind | None = field(default=None, init=False)
    before: RunSpending = field(default=RunSpending(), init=False)
    was_read: Callable[[str], bool] = field(default_factory=lambda: lambda _: False, init=False)
    calls: int = field(default=0, init=False)
    answers: int = field(default=0, init=False)
    flying: int = field(default=0, init=False)
    spent: float | None = field(default=None, init=False)
    estimated: int = field(default=0, init=False)
    waiting: set[asyncio.Task[Any]] = field(default_factory=set, init=False)
    waits: dict[object, tuple[float, str]] = field(default_factory=dict, init=False)
    _row: Counter[str] = field(default_factory=Counter, init=False)
    _priced: int = field(default=0, init=False)
    _dead_since: float = field(default=0.0, init=False)
    _came: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _read: set[str] = field(default_factory=set, init=False)
    _unread: Counter[str] = field(default_factory=Counter, init=False)
    whole: RunGuard | None = field(default=None, init=False)
    parts: list[RunGuard] = field(default_factory=list, init=False)

    def for_judge(self, *, cost: Callable[[Usage], float | None], hint: str, model: str) -> Self:
        """Return the guard of one of several judges, which stops the whole run."""
        part = replace(self, cost=cost, hint=hint, model=model)
        part.whole = self
        self.parts.append(part)
        return part

    @property
    def run(self) -> RunGuard:
        """The guard of the run: this one, unless it is that of one of several judges."""
        return self.whole or self

    @property
    def total_spending(self) -> RunSpending:
        """The calls and the cost of the run, over all commands."""
        run = self.run
        return run.before + RunSpending(calls=run.calls, cost=run.spent, estimated=run.estimated)

    def stop(self, reason: str, *, fatal: bool = False, kind: FailureKind | None = None) -> None:
        """Stop the run: allow no further call and cancel everything that waits for one. The first reason is kept."""
        run = self.run
        if run.why is None:
            run.why, run.fatal, run.kind = reason, fatal, kind
            for task in run.waiting:
                task.cancel()

    @contextmanager
    def cancel_on_stop(self) -> Iterator[None]:
        """Cancel the waiting inside this context when the run is stopped, and raise `StoppedError`."""
        self._raise_if_stopped()
        task = asyncio.current_task()
        if task is None:
            yield
            return
        waiting = self.run.waiting
        waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            # No one but the stop has cancelled the task.
            if self.run.why is not None and task.uncancel() == 0:
                self._raise_if_stopped()
            raise
        finally:
            waiting.discard(task)

    async def sleep(self, seconds: float, reason: str = "") -> None:
        """Wait for a number of seconds, for a reason; raise `StoppedError` if the run is stopped meanwhile."""
        with self.note_waiting(seconds, reason), self.cancel_on_stop(), count_as_waiting():
            await asyncio.sleep(seconds)

    @contextmanager
    def note_waiting(self, seconds: float, reason: str) -> Iterator[None]:
        """Note for `describe_waiting` that a call waits for a number of seconds inside this context."""
        waits, ticket = self.run.waits, object()
        waits[ticket] = asyncio.get_running_loop().time() + seconds, reason
        try:
            yield
        finally:
            waits.pop(ticket, None)

    def describe_waiting(self) -> str:
        """Describe what the run waits for and how long, empty if a call is in flight or none waits for a second."""
        run = self.run
        if run.flying or not run.waits:
            return ""
        end, reason = min(run.waits.values())
        seconds = round(end - asyncio.get_running_loop().time())
        return f"waits {seconds} s for {reason}" if seconds >= 1 else ""

    async def wait_until_allowed(self) -> None:
        """Wait until another call may be added to those in flight; raise `StoppedError` if the run is stopped.

        With a cap on cost, only one call is made until its answer shows what a call costs. Until the first answer was
        read as a verdict, the number of calls in flight is limited.
        """
        self._raise_if_stopped()
        while self._is_cost_unknown() or self._is_unproven_limit_reached():
            with self.cancel_on_stop():
                self._came.clear()
                await self._came.wait()

    def admit_call(self, tokens: int = 0) -> None:
        """Count a call that is about to be made with this estimated number of input tokens."""
        if self.max_calls is not None and self.total_spending.calls >= self.max_calls:
            self.stop(format_cap_reason(self.run.before, max_calls=self.max_calls))
        if self.max_cost is not None:
            spending = self.total_spending
            spent = spending.cost or 0.0
            if spent + self._estimate_cost(tokens) > self.max_cost:
                out = f"; ${spent:.4f} spent, {format_count(self.run.flying, 'call')} out"
                out += format_estimated_calls(spending.estimated)
                self.stop(format_cap_reason(self.run.before, max_cost=self.max_cost, in_flight=out))
        self._raise_if_stopped()
        for guard in self._list_guards():
            guard.calls += 1
            guard.flying += 1

    def record_reply(self, reply: Reply | None, estimate: Usage | None = None) -> None:
        """Record the reply of a call, None if it was cancelled, and stop the run if further calls cannot succeed.

        `estimate` is the usage that counts if the provider did not report enough of it to know the cost.
        """
        for guard in self._list_guards():
            guard.flying -= 1
        self._came.set()
        if reply is None or not self.watchful:
            return
        failure = reply.failure
        cost = self.cost(reply.usage)
        is_estimated = cost is None and estimate is not None and (cost := self.cost(estimate)) is not None
        if cost is not None:
            for guard in self._list_guards():
                guard.spent = add_reported(guard.spent, cost)
                guard.estimated += is_estimated
            self._priced += 1
        if failure and failure.kind == "rate_limit":
            # A rate limit shows that the endpoint works.
            self._row["dead"] = 0
            return
        sort = failure and next((sort for sort, kinds in FAILURE_GROUPS.items() if failure.kind in kinds), None)
        if sort:
            self._row[sort] += 1
        else:
            self.answers += 1
            self._row.clear()
        if sort == "dead" and self._row["dead"] == 1:
            self._dead_since = self.clock()
        if failure:
            self._stop_if_useless(failure, permanent=reply.permanent)

    def _stop_if_useless(self, failure: Failure, *, permanent: bool) -> None:
        """Stop the run if a failed call shows that further calls cannot succeed."""
        if permanent and failure.kind in PERMANENT_KINDS and not self.answers:
            self.stop(f"{self._name} cannot be used: {failure.message}", fatal=True, kind=failure.kind)
        elif self._row["refused"] >= (MAX_REFUSALS_IN_A_ROW if self.answers else 1):
            self.stop(self._describe_refusal(failure), fatal=True, kind=failure.kind)
        elif self._is_hopeless():
            last = f"the last with: {failure.message}; {format_failure_hint(failure.kind, self.model)}"
            calls = f"{self._row.total()} calls{f' of {self.model}' if self.whole else ''} in a row failed"
            self.stop(f"{calls}, {last}", fatal=True, kind=failure.kind)

    def record_answer(self, metric: str, failure: Failure | None) -> None:
        """Record whether an answer was read as a verdict of a metric, and stop the run if too many were not.

        Before the first readable answer, all metrics are counted together, afterwards each by itself.
        """
        self._came.set()
        if failure is None:
            self._read.add(metric)
            del self._unread[metric]
        if failure is None or not self.watchful or failure.kind not in UNREADABLE_KINDS:
            return
        self._unread[metric] += 1
        unproven_limit, proven_limit = MAX_UNREADABLE_IN_A_ROW
        count = self._unread[metric] if self._read else self._unread.total()
        if count >= proven_limit or (
            count >= unproven_limit and not (metric in self._read or self.run.was_read(metric))
        ):
            last = f"the last on {metric}, {_format_answer_excerpt(failure)}"
            hint = format_failure_hint(failure.kind, self.model)
            why = f"{count} answers of {self._name} in a row held no verdict that can be read, {last}; {hint}"
            self.stop(why, fatal=True, kind=failure.kind)

    def _is_cost_unknown(self) -> bool:
        """Return whether the cost of a call is unknown while the first call is still in flight."""
        return self.max_cost is not None and bool(self.flying) and not (self._priced or self.answers)

    def _is_unproven_limit_reached(self) -> bool:
        """Return whether the limit of calls in flight is reached before the first verdict was read."""
        return self.watchful and self.flying >= MAX_UNPROVEN_CALLS and not self._read

    def _raise_if_stopped(self) -> None:
        if self.run.why is not None:
            raise StoppedError(self.run.why)

    def _list_guards(self) -> tuple[RunGuard, ...]:
        """Return the guards that count a call: this one, and that of the run if it is another."""
        return (self,) if self.whole is None else (self, self.whole)

    def _describe_refusal(self, failure: Failure) -> str:
        """Describe a refused key, or an account that is empty or at its limit, with what to do."""
        if failure.kind == "quota":
            hint = format_failure_hint("quota", self.model)
            return f"the account of {self._name} is empty or at its limit: {failure.message}; {hint}"
        return f"{self._name} refuses the key: {failure.message}; {self.hint}"

    @property
    def _name(self) -> str:
        return f"the judge {self.model}" if self.whole else "the judge"

    def _is_hopeless(self) -> bool:
        """Return whether the consecutive failures show a bad endpoint or setting rather than single failed calls."""
        if self._row["dead"] >= MAX_FAILURES_IN_A_ROW:
            outage = self.clock() - self._dead_since
            return outage >= self.max_outage[bool(self.answers)]
        return self._row["wrong"] >= MAX_FAILURES_IN_A_ROW and not self.answers

    def _estimate_cost(self, tokens: int) -> float:
        """Estimate the cost of the next call and those in flight, from the mean so far or, at first, from `tokens`."""
        in_flight = sum(guard.flying * guard.get_mean_cost(tokens) for guard in self.run.parts or (self,))
        return in_flight + self.get_mean_cost(tokens)

    def get_mean_cost(self, tokens: int) -> float:
        """Return the mean cost of a call of this judge so far, or what a first one with these tokens would cost."""
        if self.spent:
            return self.spent / self._priced
        return self.cost(Usage(input_tokens=tokens, output_tokens=ASSUMED_OUTPUT_TOKENS)) or 0.0


def format_cap_reason(
    earlier: RunSpending, *, max_calls: int | None = None, max_cost: float | None = None, in_flight: str = ""
) -> str:
    """Format the message that a cap of a run is reached, with the share of earlier commands and how to continue."""
    if max_calls is not None:
        spent = f"; earlier commands on this run made {earlier.calls:,} of them" if earlier.calls else ""
        return (
            f"the cap of {format_count(max_calls, 'call')} is reached (--max-calls){spent}{in_flight}; {RAISE_CAP_HINT}"
        )
    spent = f"; earlier commands on this run spent ${earlier.cost:.4f} of it" if earlier.cost else ""
    return f"the cap of ${max_cost:g} is reached (--max-cost){spent}{in_flight}; {RAISE_CAP_HINT}"


def format_estimated_calls(count: int) -> str:
    """Format for how many calls a cost is an estimate, as the end of a phrase; empty if for none."""
    calls, their = format_count(count, "call"), "its" if count == 1 else "their"
    return f"; the cost of {calls} is an estimate, because the provider did not report {their} tokens" if count else ""


def _format_answer_excerpt(failure: Failure) -> str:
    """Format the start of an answer on one line, without keys or control characters, and its error."""
    excerpt = shorten_text(redact_secrets(failure.raw or ""), MAX_EXCERPT_CHARS)
    return f"which began {excerpt!r} ({failure.message})" if excerpt else f"which was empty ({failure.message})"
