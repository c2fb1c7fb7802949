"""The judging loop of a run or a request: judge each case by every metric, in order, and log each result.

All entry points (`evaluate`, the runnable of a metric that builds on others, LangServe, REST) use this loop. One
judgement, a metric for a case, goes through these states; each has its function in `JudgingLoop`:

    no formula needs it on this case -----------------------------> _skip_unneeded -> _store, counted
    wait for the results of the metrics that it builds on       (one is missing: the run is stopped)
      |
      +-- a first judge is sure of its verdict ------------------> _keep_sure -------> kept, or _store, counted
      +-- stored replies are read again -------------------------> _replay ---------> kept, or _store, counted
      +-- known: the log holds its result -----------------------> _keep_known ------> counted
      +-- a metric that it builds on failed ---------------------> failed ----------+
      +-- only stored results are read (of a stopped run) -------> stopped          |
      +-- in flight: equal content is being judged --+                              |
      +-- same content: an equal case was judged ----+-----------> _copy_equal -----+--> _store, counted
      +-- otherwise ---------------------------------------------> _ask ------------+       |
                                              (no further call may be made: stopped)        |
                                                                                            |
    once, at the end of the run <--- retry: the result has a transient failure -------------+
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from langchain_core.runnables import RunnableConfig

from greval._util.concurrency import run_workers
from greval._util.wording import format_names
from greval.datasets.case_records import MAX_LISTED_ROWS, dump_case, read_case
from greval.datasets.row_faults import RowFault
from greval.errors import DataError, StoppedError
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.budget import CallMeter, RunGuard
from greval.judging.model.call_context import CallContext, CallRecord, build_context
from greval.judging.model.client import JudgeClient, read_clock
from greval.judging.model.reply_cache import ReplyOrigin
from greval.metrics.dependencies import list_dependency_names
from greval.records.case import Case
from greval.records.formula_metric import FormulaMetric
from greval.records.metric import FunctionMetric, Metric, Verdicts
from greval.records.metric_input import (
    compute_keys,
    explain_missing_needs,
    hash_place,
    keep_items,
    list_skipped_items,
    narrow_case,
)
from greval.records.result import Failed, Failure, FailureKind, Result, Scored, Skipped, SkippedItem, Usage, map_values
from greval.runs.progress import Progress, ProgressCounter
from greval.runs.store.writer import StoreWriter

if TYPE_CHECKING:
    from greval.runs.escalation import FirstVerdicts
    from greval.runs.shard import Shard

TRANSIENT_FAILURES: frozenset[FailureKind] = frozenset(
    {"malformed", "off_scale", "missing_item", "timeout", "rate_limit", "connection", "server", "dependency"}
)
"""Transient failures, which are retried once at the end of the run."""
MAX_RETRIED_CASES = 10_000
"""The maximum number of cases kept for the retry at the end. More failures than this usually have a common cause."""
MAX_TURN_SECONDS = 0.05
"""The seconds for which metrics are computed before the event loop has its turn, for example to stop the run."""
UNNEEDED = "not needed"
"""How the reason begins why a metric was not judged on a case: no formula reads its verdict there."""
StartMetric = Callable[[str], asyncio.Task[Result | None]]
"""A function that begins a metric on a case by its name, once, and returns its task."""


class MemoryLog:
    """A log of one request in place of that of a run: it finds results of equal content and writes nothing to disk."""

    def __init__(self) -> None:
        self._finished: dict[str, Result] = {}
        self._unfinished: dict[str, Result] = {}

    def get(self, key: str | None, _: tuple[str, str, str]) -> Result | None:
        """Return the unfinished result of a key, or None. Finished results are found by content, see `same`."""
        return None if key is None else self._unfinished.get(key)

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key, or None."""
        return self._finished.get(content)

    def append(self, key: str, result: Result, *, content: str, **_: object) -> None:
        """Store a result in memory; the caller has its case, and only runs store calls."""
        if result.finished:
            self._finished[content] = result
        else:
            self._unfinished[key] = result

    def append_calls(self, *_: object) -> None:
        """Do nothing: only runs store calls."""

    def keep(self, *_: object) -> None:
        """Do nothing: the caller has the case."""


ResultLog = StoreWriter | MemoryLog


class CallCollector:
    """Collects the calls of one judgement until its result is stored.

    A reply that could not be read is stored at once, because the judgement goes on with a further call. The readable
    replies of a judgement of several calls are in the run's journal until then.
    """

    def __init__(self, store: ResultLog, content: str, fingerprint: str, case_key: tuple[str, str]) -> None:
        self.calls: list[CallRecord] = []
        self.origin: ReplyOrigin | None = None
        self._store = store
        self._judgement = (content, fingerprint, case_key)

    def record_call(self, call: CallRecord) -> None:
        """Store a call that could not be read, and keep any other. Of a replayed reply, only its origin is kept."""
        if call.reply.origin:
            self.origin = self.origin or call.reply.origin
        elif call.readable:
            self.calls.append(call)
        else:
            self._store.append_calls(*self._judgement, (call,))


class PlannedJudgement(NamedTuple):
    """A judgement of a metric: the case, the part of it that the metric sees, and its keys.

    `skipped` are the items that the metric does not see because they have no text, `broken` is a failure before the
    judgement, and `verdicts` are the outcomes of other metrics that it reads.
    """

    case: Case
    seen: Case
    content: str
    key: str
    skipped: tuple[SkippedItem, ...] = ()
    broken: Failure | None = None
    verdicts: Verdicts = MappingProxyType({})


@dataclass
class JudgingLoop:
    """The state that the workers of a run share: log, compiled metrics in order, budget and progress.

    `guards` are those of single judges, if the run has several, and `meter` counts calls together with other runs.
    `first` are the verdicts of a cheaper judge, which stand if it is sure.
    """

    store: ResultLog
    runnables: Mapping[str, MetricRunnable]
    guard: RunGuard
    counter: ProgressCounter = field(default_factory=ProgressCounter)
    shard: Shard | None = None
    retry_failed: bool = True
    retries_at_end: bool = True
    stores_calls: bool = False
    replays: bool = False
    config: RunnableConfig | None = None
    guards: dict[JudgeClient, RunGuard] = field(default_factory=dict)
    meter: CallMeter | None = None
    first: FirstVerdicts | None = None
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
    kept: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    asked: Collection[str] | None = None
    _case_texts: dict[int, str] = field(default_factory=dict)
    _seconds: float = 0.0
    _in_progress: dict[str, asyncio.Future[Result | None]] = field(default_factory=dict)
    _turn_start: float = field(default_factory=read_clock)
    _is_turn_over: bool = False

    @property
    def progress(self) -> Progress:
        """The progress of the run; its seconds are those until the last result."""
        guard = self.guard
        figures = {"in_flight": guard.flying, "cost": guard.spent, "estimated_calls": guard.estimated}
        return self.counter.build_snapshot().model_copy(update={"seconds": self._seconds, **figures})

    def report_waiting(self) -> None:
        """Report the progress if the run waits, such as for a rate limit, so that no result reports it."""
        if self.on_progress and (waiting := self.guard.describe_waiting()):
            self._seconds = read_clock() - self.start
            self.on_progress(self.progress.model_copy(update={"waiting": waiting}))

    @cached_property
    def _contexts(self) -> Mapping[str, CallContext]:
        return self._build_contexts(self.config)

    def _build_contexts(self, config: RunnableConfig | None) -> dict[str, CallContext]:
        """Build the context of each metric, by its name, with a config of LangChain for every call."""
        shared = build_context(config, guard=self.guard, meter=self.meter)
        return {
            name: shared._replace(guard=self.guards[runnable.client]) if runnable.client in self.guards else shared
            for name, runnable in self.runnables.items()
        }

    async def run(self, source: Iterator[Case | RowFault], workers: int) -> None:
        """Judge all cases with several workers, then retry transient failures once."""
        await run_workers(self._judge_rows(source) for _ in range(workers))
        if self.retries_at_end and self.to_retry:
            retries = iter(self.to_retry)
            await run_workers(self._retry_cases(retries) for _ in range(workers))

    async def judge_cases(self, cases: Sequence[Case], config: RunnableConfig | None = None) -> list[dict[str, Result]]:
        """Judge a list of cases concurrently, then retry transient failures once; return their results by metric.

        The usage of a result includes all attempts. A metric that was not judged because of a stop is missing.
        """
        rows: list[dict[str, Result]] = [{} for _ in cases]
        contexts = self._build_contexts(config)

        async def judge(number: int) -> None:
            earlier = rows[number]
            results = await self._judge_case(cases[number], contexts, counted=earlier or None)
            rows[number] = earlier | {row.metric: _add_cost(row, earlier.get(row.metric)) for row in results if row}

        await run_workers(map(judge, range(len(cases))))
        if self.retries_at_end and self.guard.why is None:
            await run_workers(judge(number) for number, results in enumerate(rows) if is_retryable(results.values()))
        return rows

    async def _judge_rows(self, source: Iterator[Case | RowFault]) -> None:
        """Judge cases until the source is exhausted or the run is stopped."""
        while self.guard.why is None and (case := self._read_next(source)):
            await self._judge_row(case)
            if read_clock() - self._turn_start >= MAX_TURN_SECONDS:
                await self._end_turn()

    async def read_remaining(self, source: Iterator[Case | RowFault]) -> None:
        """Read the remaining cases of a stopped run and count their stored results, without calling the judge."""
        self.reads_stored_only = True
        while case := self._read_next(source):
            await self._judge_row(case)
            # So that a second Ctrl-C is handled.
            await asyncio.sleep(0)

    async def _end_turn(self) -> None:
        """Let the event loop have its turn, because no case waited for a judge for some time.

        Otherwise a run of computed metrics would handle no signal, no timer and no request before its end.
        """
        if not self._is_turn_over:
            self._is_turn_over = True
            # Called after all that is ready now, so that the next turn is measured from there.
            asyncio.get_running_loop().call_soon(self._begin_turn)
        await asyncio.sleep(0)

    def _begin_turn(self) -> None:
        self._turn_start, self._is_turn_over = read_clock(), False

    async def _judge_row(self, case: Case) -> None:
        """Judge a case of the run, and remember it if it is to be retried at the end."""
        if self.on_method and case.method not in self.planned:
            self.on_method(case.method)
        self.planned[case.method] += 1
        results = await self._judge_case(case, self._contexts)
        # Another case may get the same `id` when this one is gone.
        self._case_texts.pop(id(case), None)
        if len(self.to_retry) < MAX_RETRIED_CASES and is_retryable(results):
            self.to_retry.append((case, {result.metric: result for result in results if result}))

    async def _retry_cases(self, source: Iterator[tuple[Case, dict[str, Result]]]) -> None:
        """Retry cases with transient failures; each comes with the results that were counted for it."""
        while self.guard.why is None and (retry := next(source, None)):
            case, counted = retry
            await self._judge_case(case, self._contexts, counted=counted)

    def count_stored(self, statuses: Iterable[tuple[str, int]]) -> None:
        """Set the progress to stored results only, given the number of results of each status."""
        self.counter.count_stored(dict(statuses))
        if self.on_progress:
            self.on_progress(self.progress)

    def _read_next(self, source: Iterator[Case | RowFault]) -> Case | None:
        """Return the next case of this shard, or None at the end; unreadable rows are counted and listed."""
        for record in source:
            self.row_count += 1
            try:
                case = read_case(record)
                if self.shard and not self.shard.holds(case.id):
                    continue
                # Its cases are those of the log.
                if not self.replays:
                    self._case_texts[id(case)] = dump_case(case)
            except DataError as error:
                location = "" if isinstance(record, RowFault) else f"cases, row {self.row_count}: "
                self._count_unread(f"{location}{error}")
            else:
                return case
        return None

    def _count_unread(self, message: str) -> None:
        if len(self.unread) < MAX_LISTED_ROWS:
            self.unread.append(message)
            if self.on_unread:
                self.on_unread(message)
        self.counter.unread += 1

    async def _judge_case(
        self, case: Case, contexts: Mapping[str, CallContext], *, counted: Mapping[str, Result] | None = None
    ) -> list[Result | None]:
        """Judge a case by every metric, each as soon as the results that it builds on are available.

        Of metrics whose prompts begin alike, the first is judged alone, so that the judge's server has read that start
        when the others are asked. A metric that only formulas read is judged when one of them needs its verdict.
        """
        tasks: dict[str, asyncio.Task[Result | None]] = {}
        # A metric that is judged alone builds on no other. A separate task would cost as much as parsing the reply.
        if len(self.runnables) == 1:
            (runnable,) = self.runnables.values()
            context = contexts[runnable.metric.name]
            return [await self._judge_metric(case, runnable, tasks.__getitem__, context=context, counted=counted)]
        first_of_group: dict[str, asyncio.Task[Result | None]] = {}
        async with asyncio.TaskGroup() as group:

            def start(name: str) -> asyncio.Task[Result | None]:
                if name in tasks:
                    return tasks[name]
                runnable = self.runnables[name]
                if not isinstance(runnable.metric, FormulaMetric):
                    # First: none of them waits for this one.
                    for dependency in list_dependency_names(runnable.metric):
                        start(dependency)
                first = first_of_group.get(runnable.prompt_group)
                tasks[name] = group.create_task(
                    self._judge_metric(case, runnable, start, first=first, context=contexts[name], counted=counted)
                )
                if runnable.prompt_group:
                    first_of_group.setdefault(runnable.prompt_group, tasks[name])
                return tasks[name]

            for name in self.runnables:
                if self.asked is None or name in self.asked:
                    start(name)
        results = {name: task.result() for name, task in tasks.items()}
        is_complete = None not in results.values()
        return [
            results[name] if name in results else self._skip_unneeded(case, runnable, counted) if is_complete else None
            for name, runnable in self.runnables.items()
        ]

    async def _judge_metric(  # noqa: PLR0911 - a state each
        self,
        case: Case,
        runnable: MetricRunnable,
        start: StartMetric,
        *,
        first: asyncio.Task[Result | None] | None = None,
        context: CallContext,
        counted: Mapping[str, Result] | None,
    ) -> Result | None:
        """Take one judgement through its states, see the drawing above; None if the run is stopped.

        It begins when those of its dependencies have ended, and the `first` of its group of prompts.
        """
        if first:
            await first
        dependencies = await _read_dependencies(runnable.metric, start)
        if dependencies is None:
            self._count_unanswered(case, runnable)
            return None
        replaced = counted.get(runnable.metric.name) if counted is not None else None
        if counted is not None and not (is_retryable([replaced]) or is_unneeded(replaced)):
            return replaced
        judged = plan_judgement(case, runnable, dependencies)
        if judged.broken and replaced:
            return replaced
        if (sure := self._keep_sure(judged, runnable.metric, replaced)) is not None:
            return sure
        context = context._replace(verdicts=judged.verdicts)
        if self.replays:
            return await self._replay(judged, runnable, context)
        result_of = (case.id, case.method, runnable.metric.name)
        old = self.store.get(judged.key, result_of)
        if old and (old.finished or not self.retry_failed or self.reads_stored_only):
            return self._keep_known(old, case, replaced)
        try:
            result, calls = await self._judge_new(judged, runnable, old, context)
        except StoppedError:
            # What the run had before it was stopped still counts.
            if old:
                self.store.keep(result_of, "")
            return None
        self._store(judged, result, calls=calls)
        return self._count_result(result, stored=False, replaced=replaced)

    def _skip_unneeded(
        self, case: Case, runnable: MetricRunnable, counted: Mapping[str, Result] | None
    ) -> Result | None:
        """Unneeded: skip a metric that no formula reads on this case, unless its verdict on it is stored."""
        metric, result_of = runnable.metric, (case.id, case.method, runnable.metric.name)
        if counted is not None:
            return counted.get(metric.name)
        if not list_dependency_names(metric):
            _, key = compute_keys(case, metric, runnable.fingerprint)
            if (old := self.store.get(key, result_of)) and old.finished:
                return self._keep_known(old, case, None)
        key = hash_place(case.id, case.method, f"{UNNEEDED} {metric.name} {runnable.fingerprint}")
        if old := self.store.get(key, result_of):
            return self._keep_known(old, case, None)
        readers = [
            reader.metric.name for reader in self.runnables.values() if metric.name in reader.metric.dependency_places
        ]
        reason = f"{UNNEEDED}: {format_names(readers)} {'do' if len(readers) > 1 else 'does'} not read it on this case"
        result = runnable.row(case, Skipped(reason=reason))
        # Without the key of the content, it is judged as soon as it is needed.
        self._store(PlannedJudgement(case, case, "", key), result)
        return self._count_result(result, stored=False, replaced=None)

    async def _judge_new(
        self, judged: PlannedJudgement, runnable: MetricRunnable, old: Result | None, context: CallContext
    ) -> tuple[Result, Sequence[CallRecord]]:
        """Judge what the log does not hold, and return the result with the calls of the judge that it took."""
        case, narrowed = judged.case, judged.seen
        if judged.broken:
            return runnable.row(case, Failed(error=judged.broken)), ()
        if self.reads_stored_only:
            raise StoppedError(self.guard.why or "")
        calls: Sequence[CallRecord] = ()
        # Computed metrics cost nothing, and a function may read more of the case than it `needs`.
        if runnable.metric.kind == "computed":
            result = await runnable.judge_case(narrowed, context)
        elif (equal := await self._copy_equal(narrowed, runnable, judged.content)) is not None:
            result = equal
        else:
            if self.stores_calls:
                recorder = CallCollector(self.store, judged.content, runnable.fingerprint, (case.id, case.method))
                context, calls = context._replace(recorder=recorder), recorder.calls
            result = await self._ask(judged, runnable, old, context)
        return _add_skipped_items(result, judged.skipped), calls

    async def _replay(self, judged: PlannedJudgement, runnable: MetricRunnable, context: CallContext) -> Result | None:
        """Replay: read a result again from stored replies, and store it if its definition or its outcome changed.

        None if the log has no result to read again, or if no reply to the request is stored.
        """
        case, result_of = judged.case, (judged.case.id, judged.case.method, runnable.metric.name)
        if self.store.get(None, result_of) is None:
            return None
        old = self.store.get(judged.key, result_of)
        recorder = CallCollector(self.store, judged.content, runnable.fingerprint, result_of[:2])
        try:
            if judged.broken:
                result = runnable.row(case, Failed(error=judged.broken))
            else:
                result = await runnable.judge_case(judged.seen, context._replace(recorder=recorder))
                result = _add_skipped_items(result, judged.skipped)
        except StoppedError:
            self._count_unanswered(case, runnable)
            if old:
                self.store.keep(result_of, "")
            return None
        if old and old.outcome == result.outcome:
            return self._keep_known(old, case, None)
        if origin := recorder.origin:
            result = result.replace(replayed_from=origin.fingerprint)
        self._store(judged, result, asked_content=origin and origin.content)
        return self._count_result(result, stored=False, replaced=None)

    def _count_unanswered(self, case: Case, runnable: MetricRunnable) -> None:
        """Count a result that a replay cannot read again, if the run has it."""
        name = runnable.metric.name
        if self.replays and self.store.get(None, (case.id, case.method, name)):
            self.unanswered[name] += 1

    def _store(
        self,
        judged: PlannedJudgement,
        result: Result,
        *,
        calls: Sequence[CallRecord] = (),
        asked_content: int | None = None,
        recomputable: bool = False,
    ) -> None:
        """Store a new result, with its case if that is not stored yet."""
        text = self._case_texts.pop(id(judged.case), "")
        self.store.append(
            judged.key,
            result,
            content=judged.content,
            case=text,
            calls=calls,
            asked_content=asked_content,
            recomputable=recomputable or result.tier == "computed" or is_unneeded(result),
        )
        if self.on_result:
            self.on_result(result)

    def _keep_known(self, stored: Result, case: Case, replaced: Result | None) -> Result:
        """Known: keep the result that the log holds."""
        self.kept[stored.metric] += 1
        self.store.keep((case.id, case.method, stored.metric), self._case_texts.pop(id(case), ""))
        return self._count_result(stored, stored=True, replaced=replaced)

    def _keep_sure(self, judged: PlannedJudgement, metric: Metric, replaced: Result | None) -> Result | None:
        """Sure: store the verdict of the first judge, or keep it if the log holds it; None if it is not sure."""
        case = judged.case
        if self.first is None or judged.broken:
            return None
        sure = self.first.find_sure_verdict(metric, (case.id, case.method), judged.seen, judged.verdicts)
        if sure is None:
            return None
        content, key, result = sure
        if old := self.store.get(key, (case.id, case.method, metric.name)):
            return self._keep_known(old, case, replaced)
        self._store(judged._replace(content=content, key=key), result, recomputable=True)
        return self._count_result(result, stored=False, replaced=replaced)

    async def _copy_equal(self, case: Case, runnable: MetricRunnable, content: str) -> Result | None:
        """In flight or same content: copy the result of an equal case at no cost, or return None."""
        twin = None
        if content in self._in_progress:
            # A cancelled waiter must not cancel the others.
            twin = await asyncio.shield(self._in_progress[content])
        if not (twin and twin.finished):
            twin = self.store.same(content)
        usage = Usage(hits=1) if twin and twin.judgements else Usage()
        return twin and runnable.row(case, twin.outcome, usage=usage, served_by=twin.served_by)

    async def _ask(
        self, judged: PlannedJudgement, runnable: MetricRunnable, old: Result | None, context: CallContext
    ) -> Result:
        """Ask: judge what is missing of the case, while cases of equal content wait for the result."""
        promise: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        content, remaining = judged.content, select_remaining(judged.seen, runnable.metric, old)
        self._in_progress[content] = promise
        result = None
        try:
            result = await runnable.judge_case(remaining, context)
            if old and old.judgements:
                judgements = (*old.judgements, *result.judgements)
                served_by = tuple(dict.fromkeys((*old.served_by, *result.served_by)))
                outcome = Scored(judgements=judgements, failures=result.failures)
                result = result.replace(outcome=outcome, served_by=served_by)
        finally:
            # Also after an error, or equal cases would wait for ever.
            promise.set_result(result)
            if self._in_progress.get(content) is promise:
                del self._in_progress[content]
        return result

    def _count_result(self, result: Result, *, stored: bool, replaced: Result | None) -> Result:
        if replaced:
            self.counter.remove(replaced)
        self.counter.add(result, stored=stored)
        self._seconds = read_clock() - self.start
        if self.on_progress:
            self.on_progress(self.progress)
        return result


async def _read_dependencies(metric: Metric, start: StartMetric) -> dict[str, Result] | None:
    """Return the results of the metrics that a metric builds on, of a formula only those that it reads on the case.

    None if one of them is missing, because the run is stopped.
    """
    results: dict[str, Result] = {}
    names = list_read_metrics(metric, results)
    while missing := [name for name in names if name not in results]:
        tasks = {name: start(name) for name in missing}
        for name, task in tasks.items():
            if (result := await task) is None:
                return None
            results[name] = result
        names = list_read_metrics(metric, results)
    return {name: results[name] for name in names}


def list_read_metrics(metric: Metric, results: Mapping[str, Result]) -> tuple[str, ...]:
    """List the metrics that a metric reads on a case, as far as these results decide it."""
    if isinstance(metric, FormulaMetric):
        return metric.find_read_metrics(select_verdicts(metric, results)).names
    return list_dependency_names(metric)


def is_unneeded(result: Result | None) -> bool:
    """Return whether a metric was not judged on a case because no formula needed it."""
    return result is not None and isinstance(result.outcome, Skipped) and result.outcome.reason.startswith(UNNEEDED)


def plan_judgement(case: Case, runnable: MetricRunnable, results: Mapping[str, Result]) -> PlannedJudgement:
    """Plan the judgement of a case, given the results of the metrics that the metric reads on it."""
    seen_case, broken = narrow_for_metric(case, runnable.metric, results)
    verdicts = select_verdicts(runnable.metric, results)
    keys = compute_keys(seen_case, runnable.metric, runnable.fingerprint, verdicts)
    skipped = list_skipped_items(runnable.metric, case)
    return PlannedJudgement(case, seen_case, *keys, skipped, broken, verdicts)


def narrow_for_metric(case: Case, metric: Metric, results: Mapping[str, Result]) -> tuple[Case, Failure | None]:
    """Return the part of the case that a metric sees, and a failure if a metric that it builds on failed.

    There is no failure if the metric would skip the case anyway, for example because the case has no answer.
    """
    if not results:
        return narrow_case(metric, case, {}), None
    failed = next((name for name, result in results.items() if result.failures), None)
    if failed is not None:
        if case.error is not None or explain_missing_needs(metric, case, besides=metric.claim_fields):
            return case, None
        why = f"it builds on {failed}, which failed here: {results[failed].failures[0].message}"
        return case, Failure(kind="dependency", message=why)
    return narrow_case(metric, case, map_values(results.values())), None


def _add_skipped_items(result: Result, skipped: tuple[SkippedItem, ...]) -> Result:
    """Return a result that names the items of its case which the metric did not see."""
    if result.outcome.status != "scored" or result.outcome.skipped_items == skipped:
        return result
    return result.replace(outcome=result.outcome.model_copy(update={"skipped_items": skipped}))


def select_verdicts(metric: Metric, results: Mapping[str, Result]) -> Verdicts:
    """Return the outcomes that a metric derived from others reads, without failed ones; empty for other metrics."""
    if not results or not isinstance(metric, FunctionMetric):
        return {}
    outcomes = {name: result.outcome for name, result in results.items() if name in metric.dependency_places}
    return {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, Failed)}


def is_retryable(results: Iterable[Result | None]) -> bool:
    """Retry: return whether one of the results has a transient failure."""
    return any(failure.kind in TRANSIENT_FAILURES for result in results if result for failure in result.failures)


def _add_cost(row: Result, replaced: Result | None) -> Result:
    """Return a result whose usage includes that of the result which it replaces."""
    return row if replaced is None or row is replaced else row.replace(usage=replaced.usage + row.usage)


def select_remaining(case: Case, metric: Metric, old: Result | None) -> Case:
    """Return the part of a case that is still to be judged: only the items that failed, if others succeeded."""
    if old is None or metric.over is None or not old.judgements:
        return case
    return keep_items(case, metric.over, frozenset(failure.item or "" for failure in old.failures))
