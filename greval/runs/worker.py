"""The judging loop of a run or a request: judge each case by every metric, in order, and log each result.

A metric that builds on others waits for their results on the case and sees the case narrowed by them. Equal content is
judged once. Transient failures are retried once at the end. All entry points (`evaluate`, the runnable of a metric
that builds on others, LangServe, REST) use this loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from langchain_core.runnables import RunnableConfig

from greval._util.concurrency import run_workers
from greval.datasets import RowFault
from greval.datasets.case_input import MAX_LISTED_ROWS, dump_case, read_case
from greval.errors import DataError, StoppedError
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.budget import RunGuard
from greval.judging.model.client import read_clock
from greval.metrics.dependencies import list_dependency_names
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import (
    compute_case_key,
    compute_content_key,
    explain_missing_needs,
    keep_items,
    narrow_case,
)
from greval.records.result import Failed, Failure, FailureKind, Judgement, Result, Scored, Usage
from greval.runs.progress import Progress
from greval.runs.shard import Shard

TRANSIENT_FAILURES: frozenset[FailureKind] = frozenset(
    {"malformed", "off_scale", "missing_item", "timeout", "rate_limit", "connection", "server", "dependency"}
)
"""Transient failures, which are retried once at the end of the run."""
MAX_RETRIED_CASES = 10_000
"""The maximum number of cases kept for the retry at the end. More failures than this usually have a common cause."""


class ResultLog(Protocol):
    """The interface of a result log, which returns earlier results and stores new ones: a `Store` or a `MemoryLog`."""

    def get(self, key: str, result_of: tuple[str, str, str]) -> Result | None:
        """Return the newest result of a sample, method and metric if it has this key, else None."""

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key, for any sample or method, or None."""

    def append(self, key: str, result: Result, *, content: str, case: str) -> None:
        """Store a result, and its case as JSON if that is not empty."""

    def keep(self, result_of: tuple[str, str, str], case: str) -> None:
        """Assign the newest result of a sample, method and metric to this run; store its case (JSON) if not empty."""


class MemoryLog:
    """An in-memory log for one request, which reuses results of equal content and writes nothing to disk."""

    def __init__(self) -> None:
        """Start empty."""
        self._finished: dict[str, Result] = {}
        self._unfinished: dict[str, Result] = {}

    def get(self, key: str, result_of: tuple[str, str, str]) -> Result | None:  # noqa: ARG002 - the key includes them
        """Return the unfinished result of a key, or None. Finished results are found by content, see `same`."""
        return self._unfinished.get(key)

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key, or None."""
        return self._finished.get(content)

    def append(self, key: str, result: Result, *, content: str, case: str) -> None:  # noqa: ARG002 - the caller has it
        """Store a result in memory."""
        if result.finished:
            self._finished[content] = result
        else:
            self._unfinished[key] = result

    def keep(self, result_of: tuple[str, str, str], case: str) -> None:
        """Do nothing: the caller has the case."""


@dataclass
class JudgingLoop:
    """The state that the workers of a run share: log, compiled metrics in order, budget and progress."""

    store: ResultLog
    runnables: Mapping[str, MetricRunnable]
    guard: RunGuard
    progress: Progress
    shard: Shard | None = None
    retry_failed: bool = True
    retries_at_end: bool = True
    config: RunnableConfig | None = None
    on_progress: Callable[[Progress], None] | None = None
    on_result: Callable[[Result], None] | None = None
    on_method: Callable[[str], None] | None = None
    on_unread: Callable[[str], None] | None = None
    start: float = field(default_factory=read_clock)
    row_count: int = 0
    planned: Counter[str] = field(default_factory=Counter)
    reads_stored_only: bool = False
    unread: list[str] = field(default_factory=list)
    to_retry: list[tuple[Case, dict[str, Result]]] = field(default_factory=list)
    _case_texts: dict[int, str] = field(default_factory=dict)
    _in_progress: dict[str, asyncio.Future[Result | None]] = field(default_factory=dict)

    async def run(self, source: Iterator[Case | RowFault], workers: int) -> None:
        """Judge all cases with several workers, then retry transient failures once."""
        await run_workers(self._judge_rows(source) for _ in range(workers))
        if self.retries_at_end and self.to_retry:
            again = iter(self.to_retry)
            await run_workers(self._retry_cases(again) for _ in range(workers))

    async def judge_cases(self, cases: Sequence[Case], config: RunnableConfig | None = None) -> list[dict[str, Result]]:
        """Judge a list of cases concurrently, then retry transient failures once.

        Args:
            cases: The cases.
            config: A LangChain config, such as callbacks, for every call.

        Returns:
            One dictionary for each case: its results by metric name, in the order of the metrics. The usage of a
            result includes all attempts. A metric that was not judged because the guard stopped the work is missing.
        """
        rows: list[dict[str, Result]] = [{} for _ in cases]

        async def judge(number: int) -> None:
            before = rows[number]
            found = await self._judge_case(cases[number], config, counted=before or None)
            rows[number] = before | {row.metric: _add_cost(row, before.get(row.metric)) for row in found if row}

        await run_workers(map(judge, range(len(cases))))
        if self.retries_at_end and self.guard.why is None:
            await run_workers(
                judge(number) for number, found in enumerate(rows) if any(map(_is_retryable, found.values()))
            )
        return rows

    async def _judge_rows(self, source: Iterator[Case | RowFault]) -> None:
        """Judge cases until the source is exhausted or the run is stopped."""
        while self.guard.why is None:
            given = next(source, None)
            if given is None:
                return
            await self._judge_row(given)

    async def read_remaining(self, source: Iterator[Case | RowFault]) -> None:
        """Read the remaining cases of a stopped run and count their stored results, without calling the judge."""
        self.reads_stored_only = True
        for given in source:
            await self._judge_row(given)
            await asyncio.sleep(0)  # so that a second Ctrl-C is handled

    async def _judge_row(self, given: Case | RowFault) -> None:
        self.row_count += 1
        case = self._read_case(given)
        if case is None:
            return
        if self.on_method and case.method not in self.planned:
            self.on_method(case.method)
        self.planned[case.method] += 1
        found = await self._judge_case(case, self.config)
        self._case_texts.pop(id(case), None)
        if len(self.to_retry) < MAX_RETRIED_CASES and any(map(_is_retryable, found)):
            self.to_retry.append((case, {result.metric: result for result in found if result}))

    async def _retry_cases(self, source: Iterator[tuple[Case, dict[str, Result]]]) -> None:
        """Retry cases with transient failures; each comes with the results that were counted for it."""
        while self.guard.why is None and (given := next(source, None)):
            await self._judge_case(given[0], self.config, counted=given[1])

    def count_stored(self, statuses: Iterable[tuple[str, int]]) -> None:
        """Set the progress to stored results only, given the number of results of each status."""
        counts = dict(statuses)
        done = sum(counts.values())
        self.progress = self.progress.model_copy(update={**counts, "total": done, "done": done, "kept": done})
        if self.on_progress:
            self.on_progress(self.progress)

    def _read_case(self, given: Case | RowFault) -> Case | None:
        """Return the case, or None if it belongs to another shard or the row is unreadable, which is recorded."""
        try:
            case = read_case(given)
            if self.shard and not self.shard.holds(case.id):
                return None
            self._case_texts[id(case)] = dump_case(case)
        except DataError as error:
            if len(self.unread) < MAX_LISTED_ROWS:
                self.unread.append(
                    str(error) if isinstance(given, RowFault) else f"cases, row {self.row_count}: {error}"
                )
                if self.on_unread:
                    self.on_unread(self.unread[-1])
            self.progress = self.progress.model_copy(update={"unread": self.progress.unread + 1})
            return None
        return case

    async def _judge_case(
        self, case: Case, config: RunnableConfig | None, *, counted: Mapping[str, Result] | None = None
    ) -> list[Result | None]:
        """Judge a case by every metric, each as soon as the results that it builds on are available."""
        if len(self.runnables) == 1:  # a separate task would cost as much as parsing the reply
            (runnable,) = self.runnables.values()
            return [await self._judge_metric(case, runnable, {}, config=config, counted=counted)]
        due: dict[str, asyncio.Task[Result | None]] = {}
        async with asyncio.TaskGroup() as group:
            for name, runnable in self.runnables.items():
                before = {other: due[other] for other in list_dependency_names(runnable.metric)}
                due[name] = group.create_task(
                    self._judge_metric(case, runnable, before, config=config, counted=counted)
                )
        return [task.result() for task in due.values()]

    async def _judge_metric(
        self,
        case: Case,
        runnable: MetricRunnable,
        dependency_tasks: Mapping[str, asyncio.Task[Result | None]],
        *,
        config: RunnableConfig | None,
        counted: Mapping[str, Result] | None,
    ) -> Result | None:
        """Return the stored result, or judge what is missing and store the result; None if the run is stopped."""
        before = {name: await task for name, task in dependency_tasks.items()}
        known = {name: result for name, result in before.items() if result}
        if len(known) < len(before):
            return None
        instead = counted.get(runnable.metric.name) if counted is not None else None
        if counted is not None and not _is_retryable(instead):
            return instead
        seen, broken = narrow_for_metric(case, runnable.metric, known)
        if broken and instead:
            return instead
        content = compute_content_key(seen, runnable.metric, runnable.fingerprint)
        key = compute_case_key(seen, content)
        place = (case.id, case.method, runnable.metric.name)
        old = self.store.get(key, place)
        if old and (old.finished or not self.retry_failed or self.reads_stored_only):
            self.store.keep(place, self._case_texts.pop(id(case), ""))
            return self._count_result(old, kept=True, replaced=instead)
        try:
            if broken:
                result = runnable.row(case, Failed(error=broken))
            else:
                result = await self._judge_or_reuse(seen, runnable, content, old, config)
        except StoppedError:
            if old:
                self.store.keep(place, "")
            return None
        self.store.append(key, result, content=content, case=self._case_texts.pop(id(case), ""))
        if self.on_result:
            self.on_result(result)
        return self._count_result(result, kept=False, replaced=instead)

    async def _judge_or_reuse(
        self, seen: Case, runnable: MetricRunnable, content: str, old: Result | None, config: RunnableConfig | None
    ) -> Result:
        """Judge, or copy the result of equal content if another case has one or is being judged.

        Computed metrics are always run: they cost nothing, and a function may read more of the case than it `needs`.

        Raises:
            StoppedError: If the run is stopped or only reads its remaining cases.
        """
        if self.reads_stored_only:
            raise StoppedError(self.guard.why or "")
        if runnable.metric.kind == "computed":
            return await runnable.ainvoke(seen, config)
        if content in self._in_progress:
            twin = await asyncio.shield(self._in_progress[content])  # a cancelled waiter must not cancel the others
            if twin and twin.finished:
                return _copy_result(twin, seen, runnable)
        if twin := self.store.same(content):
            return _copy_result(twin, seen, runnable)
        promise: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self._in_progress[content] = promise
        result = None
        try:
            result = await _judge_remaining(seen, runnable, old, config)
        finally:
            promise.set_result(result)
            if self._in_progress.get(content) is promise:
                del self._in_progress[content]
        return result

    def _count_result(self, result: Result, *, kept: bool, replaced: Result | None) -> Result:
        self.progress = self.progress.without_result(replaced).with_result(
            result,
            kept=kept,
            seconds=read_clock() - self.start,
            in_flight=self.guard.flying,
            cost=self.guard.spent,
        )
        if self.on_progress:
            self.on_progress(self.progress)
        return result


def narrow_for_metric(case: Case, metric: Metric, results: Mapping[str, Result]) -> tuple[Case, Failure | None]:
    """Return the part of the case that a metric sees, and a failure if a metric that it builds on failed.

    There is no failure if the metric would skip the case anyway, for example because the case has no answer.
    """
    if not metric.dependencies:
        return case, None
    failed = next((name for name, result in results.items() if result.failures), None)
    if failed is not None:
        if case.error is not None or explain_missing_needs(metric, case):
            return case, None
        why = f"it builds on {failed}, which failed here: {results[failed].failures[0].message}"
        return case, Failure(kind="dependency", message=why)
    judged = {name: {j.item or "": j.value for j in result.judgements} for name, result in results.items()}
    return narrow_case(metric, case, judged), None


def _is_retryable(result: Result | None) -> bool:
    return result is not None and any(failure.kind in TRANSIENT_FAILURES for failure in result.failures)


def _add_cost(row: Result, replaced: Result | None) -> Result:
    """Return a result whose usage includes that of the result which it replaces."""
    return row if replaced is None or row is replaced else row.replace(usage=replaced.usage + row.usage)


def _copy_result(twin: Result, seen: Case, runnable: MetricRunnable) -> Result:
    """Copy a result to another case with the same content, at no cost."""
    return runnable.row(seen, twin.outcome, usage=Usage(hits=1) if twin.judgements else Usage())


def select_remaining(case: Case, metric: Metric, old: Result | None) -> Case:
    """Return the part of a case that is still to be judged: only the items that failed, if others succeeded."""
    if old is None or metric.over is None or not old.judgements:
        return case
    return keep_items(case, metric.over, frozenset(failure.item or "" for failure in old.failures))


async def _judge_remaining(
    case: Case, runnable: MetricRunnable, old: Result | None, config: RunnableConfig | None
) -> Result:
    """Judge the remaining part of a case, and merge it with the judgements that already exist."""
    new = await runnable.ainvoke(select_remaining(case, runnable.metric, old), config)
    if old is None or not old.judgements:
        return new
    judgements: Sequence[Judgement] = (*old.judgements, *new.judgements)
    return new.replace(outcome=Scored(judgements=tuple(judgements), failures=new.failures))
