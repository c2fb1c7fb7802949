"""The work of a run: workers that take cases, judge them by every metric, and write each result down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.runnables import RunnableConfig

from greval.case import Case
from greval.client import clock
from greval.datasets import RowFault
from greval.errors import DataError, StoppedError
from greval.guard import Guard
from greval.identity import case_key, content_key
from greval.material import keep, lacking, narrowed
from greval.metric import JudgedMetric, Metric
from greval.progress import Progress
from greval.result import Failed, Failure, FailureKind, Judgement, Result, Scored, Usage
from greval.runnable import CaseLike, MetricRunnable, as_case
from greval.shard import Shard
from greval.store import Store

MAY_MEND: frozenset[FailureKind] = frozenset(
    {"malformed", "off_scale", "missing_item", "timeout", "rate_limit", "connection", "server", "dependency"}
)
"""Failures that another try at the end of the run may mend."""
MOST_AGAIN = 10_000
"""So many cases at most are kept for another try: more failures than these have one cause."""
MOST_TOLD = 1_000
"""So many unreadable rows are kept word for word; all are counted."""


@dataclass
class Work:
    """What the workers share: the log, the compiled metrics in order, and how far the run is."""

    store: Store
    runnables: Mapping[str, MetricRunnable]
    guard: Guard
    progress: Progress
    shard: Shard | None = None
    retry_failed: bool = True
    mends: bool = True
    config: RunnableConfig | None = None
    on_progress: Callable[[Progress], None] | None = None
    on_result: Callable[[Result], None] | None = None
    start: float = field(default_factory=clock)
    taken: int = 0
    cases: int = 0
    unread: list[str] = field(default_factory=list)
    again: list[tuple[Case, dict[str, Result]]] = field(default_factory=list)
    _texts: dict[int, str] = field(default_factory=dict)
    _asking: dict[str, asyncio.Future[Result | None]] = field(default_factory=dict)

    async def through(self, source: Iterator[CaseLike | RowFault]) -> None:
        """Take cases until there are none, or until the run is stopped."""
        while self.guard.why is None:
            given = next(source, None)
            if given is None:
                return
            self.taken += 1
            case = self._read(given)
            if case:
                self.cases += 1
                await self._case(case)
                self._texts.pop(id(case), None)

    async def mend(self, source: Iterator[tuple[Case, dict[str, Result]]]) -> None:
        """Judge cases again of which something failed that may pass, each given with what it was counted for."""
        while self.guard.why is None and (given := next(source, None)):
            await self._case(given[0], counted=given[1])

    def _read(self, given: CaseLike | RowFault) -> Case | None:
        """Give the case, None where it is of another shard; a row that is none is written down and passed over."""
        try:
            case = read_case(given, self.taken)
            if self.shard and not self.shard.holds(case.id):
                return None
            self._texts[id(case)] = written(case)
        except DataError as error:
            if len(self.unread) < MOST_TOLD:
                self.unread.append(str(error) if isinstance(given, RowFault) else f"case {self.taken}: {error}")
            self.progress = self.progress.model_copy(update={"unread": self.progress.unread + 1})
            return None
        return case

    async def _case(self, case: Case, *, counted: Mapping[str, Result] | None = None) -> None:
        """Judge a case by every metric, each as soon as what it builds on is there."""
        due: dict[str, asyncio.Task[Result | None]] = {}
        if len(self.runnables) == 1:  # a task of its own would cost as much as reading the answer
            (runnable,) = self.runnables.values()
            found = [await self._judge(case, runnable, {}, counted=counted)]
        else:
            async with asyncio.TaskGroup() as group:
                for name, runnable in self.runnables.items():
                    uses = runnable.metric.uses.values() if isinstance(runnable.metric, JudgedMetric) else ()
                    built_on = {use.judged_by: due[use.judged_by] for use in uses}
                    due[name] = group.create_task(self._judge(case, runnable, built_on, counted=counted))
            found = [task.result() for task in due.values()]
        if counted is None and len(self.again) < MOST_AGAIN and any(map(_may_mend, found)):
            self.again.append((case, {result.metric: result for result in found if result}))

    async def _judge(
        self,
        case: Case,
        runnable: MetricRunnable,
        built_on: Mapping[str, asyncio.Task[Result | None]],
        *,
        counted: Mapping[str, Result] | None,
    ) -> Result | None:
        """Give the result from the log, or judge what is missing and write it down; None where the run is stopped."""
        before = {name: await task for name, task in built_on.items()}
        known = {name: result for name, result in before.items() if result}
        if len(known) < len(before):
            return None
        instead = counted.get(runnable.metric.name) if counted is not None else None
        if counted is not None and not _may_mend(instead):
            return instead
        seen, broken = narrow(case, runnable.metric, known)
        if broken and instead:
            return instead
        content = content_key(seen, runnable.metric, runnable.fingerprint)
        key = case_key(seen, content)
        old = self.store.get(key, (case.id, case.method, runnable.metric.name))
        if old and (old.finished or not self.retry_failed):
            if text := self._texts.pop(id(case), ""):
                self.store.see(text)
            return self._count(old, kept=True, instead=instead)
        try:
            if broken and case.error is None and not lacking(runnable.metric, case):
                result = runnable.row(case, Failed(error=broken))
            else:
                result = await self._once(seen, runnable, content, old)
        except StoppedError:
            return None
        self.store.append(key, result, content=content, case=self._texts.pop(id(case), ""))
        if self.on_result:
            self.on_result(result)
        return self._count(result, kept=False, instead=instead)

    async def _once(self, seen: Case, runnable: MetricRunnable, content: str, old: Result | None) -> Result:
        """Judge, or take over the result of the same judgement where another case has it or is about to.

        What is computed costs nothing, and a function may look at more of the case than it needs.
        """
        if not isinstance(runnable.metric, JudgedMetric):
            return await runnable.ainvoke(seen, self.config)
        if content in self._asking:
            twin = await asyncio.shield(self._asking[content])  # shielded: who stops waiting stops no other
            if twin and twin.finished:
                return _taken_over(twin, seen, runnable)
        if twin := self.store.same(content):
            return _taken_over(twin, seen, runnable)
        promise: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self._asking[content] = promise
        result = None
        try:
            result = await _missing(seen, runnable, old, self.config)
        finally:
            promise.set_result(result)
            if self._asking.get(content) is promise:
                del self._asking[content]
        return result

    def _count(self, result: Result, *, kept: bool, instead: Result | None) -> Result:
        self.progress = self.progress.without(instead).after(
            result,
            kept=kept,
            seconds=clock() - self.start,
            in_flight=self.guard.flying,
            cost=self.guard.spent,
        )
        if self.on_progress:
            self.on_progress(self.progress)
        return result


def read_case(given: CaseLike | RowFault, number: int) -> Case:
    """Give the case that stands in a row; one without an id is named by the row's number.

    Raises:
        DataError: Where the row is none.
    """
    if isinstance(given, RowFault):
        raise DataError(f"{given.place}: {given.message}")
    case = as_case(given)
    return case if case.id else case.model_copy(update={"id": f"row-{number}"})


def written(case: Case) -> str:
    """Give a case as it is kept beside its results.

    Raises:
        DataError: Where a text of it is no valid Unicode, which no log can hold.
    """
    try:
        return case.model_dump_json(exclude_defaults=True)
    except ValueError as error:
        raise DataError("holds half a surrogate pair; texts must be valid Unicode") from error


def narrow(case: Case, metric: Metric, before: Mapping[str, Result]) -> tuple[Case, Failure | None]:
    """Give the part of the case that a metric builds on, or why that part is not known."""
    if not isinstance(metric, JudgedMetric) or not metric.uses:
        return case, None
    for name, result in before.items():
        if result.failures:
            why = f"it builds on {name}, which failed here: {result.failures[0].message}"
            return case, Failure(kind="dependency", message=why)
    judged = {name: {j.item or "": j.value for j in result.judgements} for name, result in before.items()}
    return narrowed(metric, case, judged), None


def _may_mend(result: Result | None) -> bool:
    return result is not None and any(failure.kind in MAY_MEND for failure in result.failures)


def _taken_over(twin: Result, seen: Case, runnable: MetricRunnable) -> Result:
    """Give the result of a judgement that was made for another case with the same content; it costs nothing."""
    return runnable.row(seen, twin.outcome, usage=Usage(hits=1) if twin.judgements else Usage())


def left(case: Case, metric: Metric, old: Result | None) -> Case:
    """Give what of a case is to be judged: where single items failed before, the case with only those."""
    if old is None or metric.over is None or not old.judgements:
        return case
    return keep(case, metric.over, frozenset(failure.item or "" for failure in old.failures))


async def _missing(case: Case, runnable: MetricRunnable, old: Result | None, config: RunnableConfig | None) -> Result:
    """Judge what is left of a case, and put it beside the judgements that are there."""
    new = await runnable.ainvoke(left(case, runnable.metric, old), config)
    if old is None or not old.judgements:
        return new
    judgements: Sequence[Judgement] = (*old.judgements, *new.judgements)
    return new.replace(outcome=Scored(judgements=tuple(judgements), failures=new.failures))
