"""What ends a run before its cases do: a cap on calls or cost, a judge that cannot work, or a wish to stop."""

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
"""What all calls have in common where the key, the endpoint, or the model's name or a setting is wrong."""
REFUSED_IN_A_ROW = 5
"""A first refusal ends the run; once a key has worked, one alone may be about a single case."""
IN_A_ROW = 20
DEAD_SECONDS = 60.0
"""An endpoint that worked may be away for a minute, as in a restart; one that never did is given up sooner."""
NEVER_SECONDS = 5.0
FIRST_OUTPUT = 100
"""Output tokens counted on for a call before any came back."""
UNREADABLE: frozenset[FailureKind] = frozenset({"malformed", "off_scale", "missing_item", "length"})
"""An answer came and holds no verdict. A refusal is about one case, and is counted neither way."""
UNREADABLE_IN_A_ROW = (40, 400)
"""So many answers without a verdict end the run: if none was ever read, and after one was. A judge of which every tenth
verdict can be read goes 400 answers without one less than once in a billion."""
CAUTIOUS = 16
"""Calls in flight until a first answer was read as a verdict: a judge that cannot judge costs few more than the row."""
HIGHER_CAP = "a higher cap goes on"
"""How the reason ends if a cap stopped a run: the same command would stop at once."""
FIRST_WORDS = 80
"""Letters of an answer that the reason for a stop shows."""


class Spending(Record):
    """What was spent: calls of the judge and US dollars, None if no price is known.

    Example:
        >>> Spending(calls=2, cost=0.5) + Spending(calls=1)
        Spending(calls=3, cost=0.5)
    """

    calls: Annotated[int, Field(ge=0)] = 0
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    def __add__(self, other: Spending) -> Spending:
        """Add two; one without a price adds no cost."""
        return Spending(calls=self.calls + other.calls, cost=_add(self.cost, other.cost))


class Guard:
    """Says before each call whether it may be made, and learns from each what came of it.

    Args:
        max_calls: The most calls of the run, by all commands.
        max_cost: The most US dollars of the run, by all commands; needs `cost`.
        cost: Gives the price of a usage, None where it is not known.
        hint: What to do where the key is refused.
        model: The judge's name, for what to do about other failures.
        watchful: Whether failures end it; without a run there is nothing to end.
        away: How many seconds an endpoint may be away that never worked, and one that did.
        clock: Returns the time in seconds.
    """

    def __init__(  # noqa: PLR0913 - what ends a run
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
        """Begin with nothing spent."""
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
        """What the run spent, by all commands."""
        return self.before + Spending(calls=self.calls, cost=self.spent)

    def stop(self, why: str, *, fatal: bool = False, kind: FailureKind | None = None) -> None:
        """Let no further call be made, and end all waiting for one; the first reason counts.

        `kind` is that of the failures that are the reason.
        """
        if self.why is None:
            self.why, self.fatal, self.kind = why, fatal, kind
            for task in self._waiting:
                task.cancel()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for something before a call, which ends where the run is stopped.

        Raises:
            StoppedError: Where it is.
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
        """Wait so many seconds.

        Raises:
            StoppedError: Where the run is stopped meanwhile.
        """
        with self.waiting():
            await asyncio.sleep(seconds)

    async def affordable(self) -> None:
        """Wait while too little is known for another call beside those that are out.

        If a cost is to be kept, only the first answer tells what calls cost. Until an answer was read as a verdict, few
        calls are out.

        Raises:
            StoppedError: Where the run is stopped meanwhile.
        """
        with self.waiting():
            while self._unpriced() or self._unproven():
                self._came.clear()
                await self._came.wait()

    def admit(self, tokens: int = 0) -> None:
        """Count a call of about so many input tokens that is about to be made.

        Raises:
            StoppedError: Where it may not be made.
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
        """Take note of what a call gave, None where it was given up, and stop the run where no other can do better."""
        self.flying -= 1
        self._came.set()
        if reply is None or not self.watchful:
            return
        failure = reply.failure
        if (cost := self._cost(reply.usage)) is not None:
            self.spent = _add(self.spent, cost)
            self._priced += 1
        if failure and failure.kind == "rate_limit":
            self._row["dead"] = 0  # who says that it is too much is there
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
        """Take note of whether an answer was read as a verdict of a metric, and stop the run if none can be.

        One answer that is read ends the row of those that are not. Before the first one the answers of all metrics
        count together, then those of each metric for itself.

        Args:
            metric: The name of the metric.
            failure: Why no verdict was read, None if one was.
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
        """Say whether the first call is out that will tell what calls cost."""
        return self._max_cost is not None and bool(self.flying) and not (self._priced or self.answers)

    def _unproven(self) -> bool:
        """Say whether enough calls are out of a judge of which no answer was read yet."""
        return self.watchful and self.flying >= CAUTIOUS and not self._read

    def _check(self) -> None:
        if self.why is not None:
            raise StoppedError(self.why)

    def _hopeless(self) -> bool:
        """Say whether the failures in a row are those of an endpoint or a name, not of single calls."""
        if self._row["dead"] >= IN_A_ROW:
            away = self._clock() - self._dead_since
            return away >= self._away[bool(self.answers)]
        return self._row["wrong"] >= IN_A_ROW and not self.answers

    def _due(self, tokens: int) -> float:
        """Estimate what the next call and those in flight will cost: the mean so far, at first a guess."""
        first = self._cost(Usage(input_tokens=tokens, output_tokens=FIRST_OUTPUT)) or 0.0
        return (self.flying + 1) * (self.spent / self._priced if self.spent else first)


def describe_cap(
    before: Spending, *, max_calls: int | None = None, max_cost: float | None = None, out: str = ""
) -> str:
    """Return that a cap of a run is reached, what of it earlier commands spent, and how the run goes on.

    Example:
        >>> describe_cap(Spending(calls=3), max_calls=5)
        'the cap of 5 calls is reached (--max-calls); earlier commands on this run made 3 of them; a higher cap goes on'
    """
    if max_calls is not None:
        spent = f"; earlier commands on this run made {before.calls:,} of them" if before.calls else ""
        return f"the cap of {max_calls:,} calls is reached (--max-calls){spent}{out}; {HIGHER_CAP}"
    spent = f"; earlier commands on this run spent ${before.cost:.4f} of it" if before.cost else ""
    return f"the cap of ${max_cost:g} is reached (--max-cost){spent}{out}; {HIGHER_CAP}"


def _describe_answer(failure: Failure) -> str:
    """Return the first words of an answer on one line, with no key and no control character, and what is wrong."""
    said = " ".join(redacted(failure.raw or "").split())
    shown = f"{said[:FIRST_WORDS]}..." if len(said) > FIRST_WORDS else said
    return f"which began {shown!r} ({failure.message})" if shown else f"which was empty ({failure.message})"


def _add(left: float | None, right: float | None) -> float | None:
    return right if left is None else left if right is None else left + right
