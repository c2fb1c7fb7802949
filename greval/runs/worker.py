"""The work of a run or a request: cases are judged by every metric, in order, and each result is written down.

A metric that builds on others waits for their results on the case and sees what they let through. Equal content is
judged once. What failed and may pass is tried once more at the end. All entries (`evaluate`, the runnable of a metric
that builds on others, LangServe, REST) judge here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from langchain_core.runnables import RunnableConfig

from greval._util.concurrency import all_of
from greval.datasets import RowFault
from greval.errors import DataError, StoppedError
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.budget import Guard
from greval.judging.model.client import clock
from greval.metrics.dependencies import built_on
from greval.records.case import Case
from greval.records.fingerprint import case_key, content_key
from greval.records.metric import JudgedMetric, Metric
from greval.records.metric_input import keep, lacking, narrowed
from greval.records.result import Failed, Failure, FailureKind, Judgement, Result, Scored, Usage
from greval.runs.progress import Progress
from greval.runs.shard import Shard

MAY_MEND: frozenset[FailureKind] = frozenset(
    {"malformed", "off_scale", "missing_item", "timeout", "rate_limit", "connection", "server", "dependency"}
)
"""Failures that another try at the end of the run may mend."""
MOST_AGAIN = 10_000
"""So many cases at most are kept for another try: more failures than these have one cause."""
MOST_TOLD = 1_000
"""So many unreadable rows are kept word for word; all are counted."""


class ResultLog(Protocol):
    """Where results of before are found and new ones are written down: a run's `Store`, or a `MemoryLog`."""

    def get(self, key: str, result_of: tuple[str, str, str]) -> Result | None:
        """Return the newest result of a sample, method and metric if it is that of a key."""

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key, whoever was judged."""

    def append(self, key: str, result: Result, *, content: str, case: str) -> None:
        """Write a result down, with its case as JSON if that is not empty."""

    def keep(self, result_of: tuple[str, str, str], case: str) -> None:
        """Count the newest result of a sample, method and metric, and keep its case as JSON if that is not empty."""


class MemoryLog:
    """The log of one request: equal content is found again, nothing is kept beyond it or reaches the disk."""

    def __init__(self) -> None:
        """Start empty."""
        self._finished: dict[str, Result] = {}
        self._unfinished: dict[str, Result] = {}

    def get(self, key: str, result_of: tuple[str, str, str]) -> Result | None:  # noqa: ARG002 - the key names them
        """Return the result of a key if something of it failed; a finished one is found by its content."""
        return self._unfinished.get(key)

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key."""
        return self._finished.get(content)

    def append(self, key: str, result: Result, *, content: str, case: str) -> None:  # noqa: ARG002 - the caller has it
        """Keep a result."""
        if result.finished:
            self._finished[content] = result
        else:
            self._unfinished[key] = result

    def keep(self, result_of: tuple[str, str, str], case: str) -> None:
        """Keep nothing: the caller has the case."""


@dataclass
class Work:
    """What the workers share: the log, the compiled metrics in order, and how far the run is."""

    store: ResultLog
    runnables: Mapping[str, MetricRunnable]
    guard: Guard
    progress: Progress
    shard: Shard | None = None
    retry_failed: bool = True
    mends: bool = True
    config: RunnableConfig | None = None
    on_progress: Callable[[Progress], None] | None = None
    on_result: Callable[[Result], None] | None = None
    on_method: Callable[[str], None] | None = None
    on_unread: Callable[[str], None] | None = None
    start: float = field(default_factory=clock)
    taken: int = 0
    planned: Counter[str] = field(default_factory=Counter)
    reading_on: bool = False
    unread: list[str] = field(default_factory=list)
    again: list[tuple[Case, dict[str, Result]]] = field(default_factory=list)
    _texts: dict[int, str] = field(default_factory=dict)
    _asking: dict[str, asyncio.Future[Result | None]] = field(default_factory=dict)

    async def run(self, source: Iterator[Case | RowFault], workers: int) -> None:
        """Let workers take all cases, and once more those of which something failed that may pass."""
        await all_of(self._take(source) for _ in range(workers))
        if self.mends and self.again:
            again = iter(self.again)
            await all_of(self._mend(again) for _ in range(workers))

    async def judge_cases(self, cases: Sequence[Case], config: RunnableConfig | None = None) -> list[dict[str, Result]]:
        """Judge cases that are at hand, all at once, and once more those of which something failed that may pass.

        Args:
            cases: The cases, as they are.
            config: LangChain's, with callbacks, for every call.

        Returns:
            The results of each case by metric, in the order of the metrics; a result counts what all tries cost. A
            metric that was not judged, as the guard stopped the work, has none.
        """
        rows: list[dict[str, Result]] = [{} for _ in cases]

        async def judge(number: int) -> None:
            before = rows[number]
            found = await self._case(cases[number], config, counted=before or None)
            rows[number] = before | {row.metric: _with_cost(row, before.get(row.metric)) for row in found if row}

        await all_of(map(judge, range(len(cases))))
        if self.mends and self.guard.why is None:
            await all_of(judge(number) for number, found in enumerate(rows) if any(map(_may_mend, found.values())))
        return rows

    async def _take(self, source: Iterator[Case | RowFault]) -> None:
        """Take cases until there are none, or until the run is stopped."""
        while self.guard.why is None:
            given = next(source, None)
            if given is None:
                return
            await self._take_one(given)

    async def read_on(self, source: Iterator[Case | RowFault]) -> None:
        """Take the cases that a stopped run has left, ask nothing, and count the results of theirs that are there."""
        self.reading_on = True
        for given in source:
            await self._take_one(given)
            await asyncio.sleep(0)  # a second Ctrl-C is heard

    async def _take_one(self, given: Case | RowFault) -> None:
        self.taken += 1
        case = self._read(given)
        if case is None:
            return
        if self.on_method and case.method not in self.planned:
            self.on_method(case.method)
        self.planned[case.method] += 1
        found = await self._case(case, self.config)
        self._texts.pop(id(case), None)
        if len(self.again) < MOST_AGAIN and any(map(_may_mend, found)):
            self.again.append((case, {result.metric: result for result in found if result}))

    async def _mend(self, source: Iterator[tuple[Case, dict[str, Result]]]) -> None:
        """Judge cases again of which something failed that may pass, each given with what it was counted for."""
        while self.guard.why is None and (given := next(source, None)):
            await self._case(given[0], self.config, counted=given[1])

    def count_all(self, statuses: Iterable[tuple[str, int]]) -> None:
        """Count results that are all there already, given how many have each status."""
        counts = dict(statuses)
        done = sum(counts.values())
        self.progress = self.progress.model_copy(update={**counts, "total": done, "done": done, "kept": done})
        if self.on_progress:
            self.on_progress(self.progress)

    def _read(self, given: Case | RowFault) -> Case | None:
        """Give the case, None where it is of another shard; a row that is none is written down and passed over."""
        try:
            case = read_case(given)
            if self.shard and not self.shard.holds(case.id):
                return None
            self._texts[id(case)] = written(case)
        except DataError as error:
            if len(self.unread) < MOST_TOLD:
                self.unread.append(str(error) if isinstance(given, RowFault) else f"cases, row {self.taken}: {error}")
                if self.on_unread:
                    self.on_unread(self.unread[-1])
            self.progress = self.progress.model_copy(update={"unread": self.progress.unread + 1})
            return None
        return case

    async def _case(
        self, case: Case, config: RunnableConfig | None, *, counted: Mapping[str, Result] | None = None
    ) -> list[Result | None]:
        """Judge a case by every metric, each as soon as what it builds on is there."""
        if len(self.runnables) == 1:  # a task of its own would cost as much as reading the answer
            (runnable,) = self.runnables.values()
            return [await self._judge(case, runnable, {}, config=config, counted=counted)]
        due: dict[str, asyncio.Task[Result | None]] = {}
        async with asyncio.TaskGroup() as group:
            for name, runnable in self.runnables.items():
                before = {other: due[other] for other in built_on(runnable.metric)}
                due[name] = group.create_task(self._judge(case, runnable, before, config=config, counted=counted))
        return [task.result() for task in due.values()]

    async def _judge(
        self,
        case: Case,
        runnable: MetricRunnable,
        due: Mapping[str, asyncio.Task[Result | None]],
        *,
        config: RunnableConfig | None,
        counted: Mapping[str, Result] | None,
    ) -> Result | None:
        """Give the result from the log, or judge what is missing and write it down; None where the run is stopped."""
        before = {name: await task for name, task in due.items()}
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
        place = (case.id, case.method, runnable.metric.name)
        old = self.store.get(key, place)
        if old and (old.finished or not self.retry_failed or self.reading_on):
            self.store.keep(place, self._texts.pop(id(case), ""))
            return self._count(old, kept=True, instead=instead)
        try:
            if broken:
                result = runnable.row(case, Failed(error=broken))
            else:
                result = await self._once(seen, runnable, content, old, config)
        except StoppedError:
            if old:
                self.store.keep(place, "")
            return None
        self.store.append(key, result, content=content, case=self._texts.pop(id(case), ""))
        if self.on_result:
            self.on_result(result)
        return self._count(result, kept=False, instead=instead)

    async def _once(
        self, seen: Case, runnable: MetricRunnable, content: str, old: Result | None, config: RunnableConfig | None
    ) -> Result:
        """Judge, or take over the result of the same judgement where another case has it or is about to.

        What is computed costs nothing, and a function may look at more of the case than it needs.

        Raises:
            StoppedError: If the run is stopped, or only reads the rest of its cases.
        """
        if self.reading_on:
            raise StoppedError(self.guard.why or "")
        if not isinstance(runnable.metric, JudgedMetric):
            return await runnable.ainvoke(seen, config)
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
            result = await _missing(seen, runnable, old, config)
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


def read_case(given: Case | RowFault) -> Case:
    """Return a case as it was read.

    Raises:
        DataError: If the row is none.
    """
    if isinstance(given, RowFault):
        raise DataError(f"{given.place}: {given.message}")
    return given


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
    """Return the part of the case that a metric sees, or the failure that it has if that part is not known.

    A case that the metric cannot judge for its own sake, such as one without an answer, has no such failure.
    """
    if not isinstance(metric, JudgedMetric) or not metric.uses:
        return case, None
    failed = next((name for name, result in before.items() if result.failures), None)
    if failed is not None:
        if case.error is not None or lacking(metric, case):
            return case, None
        why = f"it builds on {failed}, which failed here: {before[failed].failures[0].message}"
        return case, Failure(kind="dependency", message=why)
    judged = {name: {j.item or "": j.value for j in result.judgements} for name, result in before.items()}
    return narrowed(metric, case, judged), None


def _may_mend(result: Result | None) -> bool:
    return result is not None and any(failure.kind in MAY_MEND for failure in result.failures)


def _with_cost(row: Result, before: Result | None) -> Result:
    """Return a result with what the one that it takes the place of cost too."""
    return row if before is None or row is before else row.replace(usage=before.usage + row.usage)


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
