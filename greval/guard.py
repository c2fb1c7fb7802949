"""What ends a run before its cases do: a cap on calls or cost, a judge that cannot work, or a wish to stop."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from greval.advice import advice
from greval.errors import StoppedError
from greval.reply import Reply
from greval.result import FailureKind, Usage

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


class Guard:
    """Says before each call whether it may be made, and learns from each what came of it.

    Args:
        max_calls: The most calls of the run.
        max_cost: The most US dollars of the run; needs `cost`.
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
        """Wait, where a cost is to be kept, while the first call is out: only its answer tells what calls cost.

        Raises:
            StoppedError: Where the run is stopped meanwhile.
        """
        with self.waiting():
            while self._max_cost is not None and self.flying and not (self._priced or self.answers):
                self._came.clear()
                await self._came.wait()

    def admit(self, tokens: int = 0) -> None:
        """Count a call of about so many input tokens that is about to be made.

        Raises:
            StoppedError: Where it may not be made.
        """
        if self._max_calls is not None and self.calls >= self._max_calls:
            self.stop(f"the cap of {self._max_calls} calls is reached (--max-calls)")
        spent = self.spent or 0.0
        if self._max_cost is not None and spent + self._due(tokens) > self._max_cost:
            out = f"${spent:.4f} spent, {self.flying} calls out"
            self.stop(f"the cap of ${self._max_cost:g} is reached (--max-cost); {out}")
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
            self.spent = (self.spent or 0.0) + cost
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
