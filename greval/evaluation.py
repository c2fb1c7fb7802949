"""Running metrics over cases: concurrent, resumable, every failure a row.

Each case is judged by all metrics as soon as a worker is free; a metric that builds on others waits
for that case's own results only. Running the same thing again asks only for what is missing or failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from greval.case import Case
from greval.client import JudgeClient, clock
from greval.compile import CaseLike, MetricRunnable, as_case, compile_metric, run_sync
from greval.datasets import RowFault
from greval.errors import DataError
from greval.identity import case_key, digest
from greval.judge import Judge
from greval.library import with_dependencies
from greval.material import keep, lacking, narrowed
from greval.metric import JudgedMetric, Metric
from greval.progress import Progress
from greval.result import Failed, Failure, Judgement, Result, Scored
from greval.store import Store

DEFAULT_CONCURRENCY = 8
LOCAL_CONCURRENCY = 2
"""The embedded model answers one call at a time; a second one waits ready."""

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Run:
    """A finished or stopped run: its folder and how far it came."""

    folder: Path
    progress: Progress
    stopped: bool = False

    def results(self) -> Iterator[Result]:
        """Give the newest result of each sample, method and metric."""
        with Store.open(self.folder) as store:
            yield from store.results()


def evaluate(  # noqa: PLR0913 - what a run is made of
    cases: Iterable[CaseLike | RowFault],
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    *,
    out: str | Path,
    concurrency: int | None = None,
    total: int | None = None,
    on_progress: OnProgress | None = None,
) -> Run:
    """Judge cases by metrics into a run folder, from a script or a notebook; see `evaluate_async`.

    Example:
        >>> import tempfile
        >>> from greval.metrics import COMPUTED
        >>> case = {"id": "q1", "question": "Who?", "usage": {"latency": 1.5}}
        >>> run = evaluate([case], [COMPUTED["latency"]], out=tempfile.mkdtemp())
        >>> [result.judgements[0].value for result in run.results()]
        [1.5]
    """
    return run_sync(
        evaluate_async(cases, metrics, judge, out=out, concurrency=concurrency, total=total, on_progress=on_progress)
    )


async def evaluate_async(  # noqa: PLR0913 - what a run is made of
    cases: Iterable[CaseLike | RowFault],
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    *,
    out: str | Path,
    concurrency: int | None = None,
    total: int | None = None,
    on_progress: OnProgress | None = None,
    stop: asyncio.Event | None = None,
) -> Run:
    """Judge cases by metrics into a run folder.

    Args:
        cases: Cases, mappings of their fields, or rows that could not be read; read as they are needed.
        metrics: Definitions; those that they build on are added.
        judge: Settings of a judge or a chat model; not needed for computed metrics.
        out: The run folder; what it holds of an earlier run is not asked again.
        concurrency: How many calls are in flight at most.
        total: How many cases there are, for the time left, where `cases` does not tell it itself.
        on_progress: Called after each result.
        stop: When set, no further case is begun; what is in flight is finished and written.

    Returns:
        The run folder and how far the run came.

    Raises:
        DefinitionError: Where a metric builds on one that is not there.
        JudgeError: Where the judge cannot be used at all.
        StoreError: Where the folder cannot be written.
    """
    local = isinstance(judge, Judge) and judge.local
    width = concurrency or (LOCAL_CONCURRENCY if local else DEFAULT_CONCURRENCY)
    client = JudgeClient(judge, gate=asyncio.Semaphore(width)) if judge is not None else None
    runnables = _compiled(with_dependencies(metrics), client)
    if total is None and isinstance(cases, Sized):
        total = len(cases)
    if client:
        await client.ready()
    with Store.create(Path(out)) as store:
        store.put_fact("metrics", [runnable.metric.model_dump(mode="json") for runnable in runnables.values()])
        store.put_fact("judge", {"label": client.label, **client.identity} if client else None)
        work = _Work(store, runnables, Progress(total=None if total is None else total * len(runnables)), on_progress)
        if total is not None:
            store.put_fact("planned", dict.fromkeys(runnables, total))
        source = iter(cases)
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(width):
                    workers.create_task(work.through(source, stop))
        except BaseExceptionGroup as group:
            raise _first(group) from None
        finally:
            store.put_fact("unread", list(work.unread))
        stopped = stop is not None and stop.is_set()
        if not stopped:
            store.put_fact("planned", dict.fromkeys(runnables, work.taken - len(work.unread)))
        return Run(Path(out), work.progress, stopped)


@dataclass
class _Work:
    """What the workers share: the log, the compiled metrics in order, and how far the run is."""

    store: Store
    runnables: Mapping[str, MetricRunnable]
    progress: Progress
    on_progress: OnProgress | None
    start: float = field(default_factory=clock)
    taken: int = 0
    unread: list[str] = field(default_factory=list)

    async def through(self, source: Iterator[CaseLike | RowFault], stop: asyncio.Event | None) -> None:
        """Take cases until there are none, or until the run is stopped."""
        while not (stop and stop.is_set()):
            given = next(source, None)
            if given is None:
                return
            self.taken += 1
            case = self._read(given)
            if case:
                await self._case(case)

    def _read(self, given: CaseLike | RowFault) -> Case | None:
        """Give the case; a row that is none is written down and passed over."""
        try:
            if isinstance(given, RowFault):
                raise DataError(f"{given.place}: {given.message}")  # noqa: TRY301 - one way for both kinds
            case = _written(as_case(given))
        except DataError as error:
            self.unread.append(str(error) if isinstance(given, RowFault) else f"case {self.taken}: {error}")
            self.progress = self.progress.model_copy(update={"unread": len(self.unread)})
            return None
        return case if case.id else case.model_copy(update={"id": f"row-{self.taken}"})

    async def _case(self, case: Case) -> None:
        """Judge a case by every metric, each as soon as what it builds on is there."""
        self.store.keep_case(digest(case.model_dump(mode="json")), case)
        due: dict[str, asyncio.Task[Result]] = {}
        async with asyncio.TaskGroup() as group:
            for name, runnable in self.runnables.items():
                uses = runnable.metric.uses.values() if isinstance(runnable.metric, JudgedMetric) else ()
                built_on = {use.judged_by: due[use.judged_by] for use in uses}
                due[name] = group.create_task(self._judge(case, runnable, built_on))

    async def _judge(
        self, case: Case, runnable: MetricRunnable, built_on: Mapping[str, asyncio.Task[Result]]
    ) -> Result:
        """Give the result from the log, or judge what is missing and write it down."""
        before = {name: await task for name, task in built_on.items()}
        seen, broken = _narrow(case, runnable.metric, before)
        key = case_key(seen, runnable.metric, runnable.fingerprint)
        old = self.store.get(key)
        if broken and not lacking(runnable.metric, case):
            result = runnable.row(case, Failed(error=broken))
        elif old and old.finished:
            return self._count(old, kept=True)
        else:
            result = await _missing(seen, runnable, old)
        self.store.append(key, result)
        return self._count(result, kept=False)

    def _count(self, result: Result, *, kept: bool) -> Result:
        self.progress = self.progress.after(result, kept=kept, seconds=clock() - self.start)
        if self.on_progress:
            self.on_progress(self.progress)
        return result


def _written(case: Case) -> Case:
    """Give the case back if it can be written down.

    Raises:
        DataError: Where a text of it is no valid Unicode, which no log can hold.
    """
    try:
        case.model_dump_json()
    except ValueError as error:
        raise DataError("holds half a surrogate pair; texts must be valid Unicode") from error
    return case


def _first(error: BaseException) -> BaseException:
    """Give the first error of nested groups: what ended the run is one thing to say."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _compiled(metrics: Sequence[Metric], client: JudgeClient | None) -> dict[str, MetricRunnable]:
    """Compile metrics in the order in which each comes after what it builds on."""
    compiled: dict[str, MetricRunnable] = {}
    for metric in metrics:
        uses = metric.uses.values() if isinstance(metric, JudgedMetric) else ()
        marks = {use.judged_by: compiled[use.judged_by].fingerprint for use in uses}
        compiled[metric.name] = compile_metric(metric, client, built_on=marks)
    return compiled


def _narrow(case: Case, metric: Metric, before: Mapping[str, Result]) -> tuple[Case, Failure | None]:
    """Give the part of the case that a metric builds on, or why that part is not known."""
    if not isinstance(metric, JudgedMetric) or not metric.uses:
        return case, None
    for name, result in before.items():
        if result.failures:
            why = f"it builds on {name}, which failed here: {result.failures[0].message}"
            return case, Failure(kind="dependency", message=why)
    judged = {name: {j.item or "": j.value for j in result.judgements} for name, result in before.items()}
    return narrowed(metric, case, judged), None


async def _missing(case: Case, runnable: MetricRunnable, old: Result | None) -> Result:
    """Judge a case; where single items failed before, only those, beside the judgements that are there."""
    over = runnable.metric.over
    if old is None or over is None or not old.judgements:
        return await runnable.ainvoke(case)
    lost = frozenset(failure.item or "" for failure in old.failures)
    new = await runnable.ainvoke(keep(case, over, lost))
    return _joined(old, new)


def _joined(old: Result, new: Result) -> Result:
    """Give one result of the judgements that were there and those that were missing; the cost adds up."""
    judgements: tuple[Judgement, ...] = old.judgements + new.judgements
    outcome = Scored(judgements=judgements, failures=new.failures)
    return new.replace(outcome=outcome, usage=old.usage + new.usage, latency=old.latency + new.latency)
