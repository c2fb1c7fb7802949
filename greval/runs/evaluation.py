"""Evaluation of cases by metrics: concurrent and resumable, with every failure stored as a row.

Each case is judged by all metrics as soon as a worker is free. A metric that builds on others waits only for their
results on the same case. Running the same evaluation again judges only what is missing or failed.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, cast

from greval._util.arguments import check_options
from greval._util.concurrency import reduce_collections, run_in_background, run_sync
from greval._util.notebook_display import NotebookDisplay, load_renderers
from greval.datasets.case_reader import CaseReader
from greval.datasets.case_records import CaseRecords, read_records
from greval.datasets.file_identity import CaseSource
from greval.datasets.row_faults import RowFault, build_unreadable_error, describe_row_faults
from greval.errors import DataWarning, DefinitionError
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.adaptation import Adaptation
from greval.judging.model.budget import RunGuard, RunSpending
from greval.judging.model.client import JudgeClient
from greval.judging.model.reply_cache import ReplyCache, delete_cache_file, find_cache_file
from greval.metrics.sources import MetricLike, resolve_metrics
from greval.records.case import Case
from greval.records.metric import ComputedMetric, set_reason_depth
from greval.records.result import Result
from greval.runs.judges import JudgeLike, RunJudges, build_judge_guard, build_run_guard, choose_judges
from greval.runs.manifest import (
    ADAPTED,
    ASKED,
    COMMAND,
    JOINS,
    read_asked_names,
    read_join_remarks,
    read_judges,
    read_spending,
    refuse_probe,
    store_judges,
    store_metrics,
    store_origin,
    store_shared_prices,
    store_spending,
)
from greval.runs.options import (
    EvaluateOptions,
    count_judgements,
    get_asked_names,
    get_concurrency,
    get_prices,
    get_shard,
    get_source,
    get_total_concurrency,
)
from greval.runs.progress import Progress, ProgressCounter
from greval.runs.run_folder import choose_folder, find_free_folder
from greval.runs.run_reader import add_texts, check_metric_names
from greval.runs.run_summary import ShareSummary, summarise_run, summarise_shares
from greval.runs.runnable import compile_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.plans import PlannedVersion
from greval.runs.store.writer import StoreWriter
from greval.runs.worker import JudgingLoop
from greval.stats.summary import Summary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from greval.records.judge_call import JudgeCall
    from greval.runs.worst_cases import WorstCaseList

CALLS_PER_SPARE_WORKER = 4
"""The number of concurrent calls for each spare worker, which makes calls while others write or wait for a retry."""
FLUSH_SECONDS = 1.0
JOURNAL = "replies.sqlite"
STOP_REQUESTED = "it was asked to stop"
INTERRUPTED = "it was interrupted"


@dataclass(frozen=True)
class Run(NotebookDisplay):
    """A finished or stopped run: its folder, its progress, and why it was stopped.

    `fatal` is true if the judge cannot work with its settings, for example because its API key is wrong.
    """

    folder: Path
    progress: Progress
    why: str | None = None
    fatal: bool = False

    @property
    def stopped(self) -> bool:
        """True if the run was stopped before everything was judged."""
        return self.why is not None

    def results(self) -> Iterator[Result]:
        """Iterate over the newest result of each sample, method and metric."""
        with Store.open(self.folder) as store:
            yield from store.results()

    def calls(
        self,
        *,
        sample_id: str | None = None,
        method: str | None = None,
        metric: str | None = None,
        status: Literal["scored", "failed"] | None = None,
    ) -> Iterator[JudgeCall]:
        """Iterate over the calls of the judge for the newest results: the prompt, and the reply as the model wrote it.

        Every attempt is a call of its own. Results of computed metrics have none, and neither have those of a run with
        `store_calls=False`.

        Args:
            sample_id: Only calls for this sample.
            method: Only calls for this method.
            metric: Only calls for this metric.
            status: Only calls for results with this status.

        Raises:
            DataError: If the run does not contain the metric.
        """
        names = () if metric is None else (metric,)
        with Store.open(self.folder) as store, store.snapshot():
            check_metric_names(store, names)
            yield from store.calls(ResultFilter(sample_id=sample_id, method=method, metrics=names, status=status))

    def frame(self, *, texts: bool = False) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each judgement, failure and skip.

        Args:
            texts: Whether to add the columns `question`, `answer`, `expected_answer` and `item_text`, the text of the
                judged chunk or triple.

        Raises:
            MissingExtraError: If pandas is not installed.

        Example:
            >>> import tempfile
            >>> from greval.metrics.computed import COMPUTED_METRICS
            >>> case = {"id": "q1", "question": "Who?", "usage": {"latency": 1.5}}
            >>> run = evaluate([case], [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
            >>> run.frame(texts=True)[["question", "number"]].values.tolist()
            [['Who?', 1.5]]
        """
        from greval.runs.store.exports import build_frame, read_layout

        with Store.open(self.folder) as store, store.snapshot():
            lines = add_texts(store, store.lines()) if texts else store.lines()
            return build_frame(lines, read_layout(store.fact("metrics")).model_copy(update={"texts": texts}))

    def worst(self, count: int = 5, metrics: str | Sequence[str] = ()) -> WorstCaseList:
        """Return the worst cases of each metric, worst first, with their texts and reasons.

        `print` shows them as `greval report --worst`; each has `metric`, `value`, `reason`, `question` and `answer`.

        Args:
            count: The number of cases of each metric.
            metrics: Only cases of these metrics.

        Raises:
            DataError: If the run does not contain one of the metrics.

        Example:
            >>> import tempfile
            >>> cases = [{"question": "Who?", "expected_answer": "Ada", "answer": answer} for answer in ("Ada", "Bo")]
            >>> run = evaluate(cases, ["exact_match"], out=tempfile.mkdtemp())
            >>> [(case.metric, case.value, case.answer) for case in run.worst(1)]
            [('exact_match', '0', 'Bo')]
        """
        from greval.runs.worst_cases import WorstCaseList, read_worst_cases

        names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
        with Store.open(self.folder) as store, store.snapshot():
            return WorstCaseList(read_worst_cases(store, count, names))

    def plot(self, by: str | Sequence[str] = ()) -> Figure:
        """Return a matplotlib figure of the mean of each metric with its interval, which notebooks show as SVG.

        Args:
            by: As in `summary`.

        Raises:
            DataError: If no case has such a tag.
            MissingExtraError: If matplotlib is not installed.
        """
        return load_renderers().draw(self, by)

    def summary(self, by: str | Sequence[str] = ()) -> tuple[Summary, ...]:
        """Return a summary of each metric, with the same numbers as `greval report`.

        Args:
            by: `method` or tag names, such as ["method", "query_type"]. If empty, group by method if there are several
                methods.

        Raises:
            DataError: If no case has such a tag.

        Example:
            >>> import tempfile
            >>> from greval.metrics.computed import COMPUTED_METRICS
            >>> cases = [{"id": f"q{n}", "question": "?", "usage": {"latency": n}} for n in (1.0, 2.0, 6.0)]
            >>> run = evaluate(cases, [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
            >>> (summary,) = run.summary()
            >>> summary.mean, summary.median, summary.maximum, summary.counted
            (3.0, 2.0, 6.0, 3)
        """
        with Store.open(self.folder) as store, store.snapshot():
            return summarise_run(store, by).summaries

    def shares(self, by: str | Sequence[str] = ()) -> tuple[ShareSummary, ...]:
        """Return the mean of each share computed from notes, with the same numbers as `greval report`.

        Args:
            by: As in `summary`.

        Raises:
            DataError: If no case has such a tag.
        """
        with Store.open(self.folder) as store, store.snapshot():
            return summarise_shares(store, summarise_run(store, by).by)


def evaluate(
    cases: CaseRecords,
    metrics: Sequence[MetricLike],
    judge: JudgeLike | None = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[EvaluateOptions],
) -> Run:
    """Judge cases by metrics and store the results in a run folder.

    This is `evaluate_async` for scripts and notebooks; see there for the arguments.

    Example:
        >>> import tempfile
        >>> from greval.metrics.computed import COMPUTED_METRICS
        >>> case = {"id": "q1", "question": "Who?", "usage": {"latency": 1.5}}
        >>> run = evaluate([case], [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
        >>> [result.judgements[0].value for result in run.results()]
        [1.5]
    """
    return run_sync(evaluate_async(cases, metrics, judge, out=out, **options))


async def evaluate_async(
    cases: CaseRecords,
    metrics: Sequence[MetricLike],
    judge: JudgeLike | None = None,
    *,
    out: str | Path | None = None,
    stop: asyncio.Event | None = None,
    **options: Unpack[EvaluateOptions],
) -> Run:
    """Judge cases by metrics and store the results in a run folder.

    Args:
        cases: Cases, mappings of case fields (greval's names or those of other tools), a pandas or polars table, or the
            return value of `read_cases`. They are read lazily.
        metrics: Definitions of metrics, or what names them: names, files and folders, as in `load_metrics`. The metrics
            that they build on are added.
        judge: Settings of a judge, the name of its model such as `openai:gpt-5.4-mini`, or a chat model, for the judged
            metrics that name no judge. Computed metrics need none.
        out: The run folder. Results that it holds from an earlier run are not judged again. The run counts only the
            results of its own cases, metrics and judge: for the same metric and method, it replaces earlier runs in
            the folder. By default `runs/NAME` for a file of cases, or `runs/cases` for other cases; a number is added
            if the folder holds a run of other cases, and rows that are no file are always new ones.
        stop: An event that stops the run when set: no further call is made, and calls in flight are finished and
            stored.
        **options: `judges`: the judges of single metrics by name, which go before those that the metrics name.
            `asked`: the names of the metrics that are judged on each case, by default those of `metrics`. A metric that
            only formulas read is judged on the cases for which one of them needs its verdict, and skipped on others.
            `concurrency`: the maximum number of concurrent calls. `gate`: a context manager entered for each
            call instead of the concurrency limit, for example one that several runs share. `meter`: counts the calls
            of several runs together and may refuse further ones, which stops the run. `repeats`: how often each case is
            judged. `reason_depth`: how much the judge writes for each verdict ("brief", "detailed" or "steps"),
            which overrides the metrics. `retry_failed` (default true): retry failed rows of an earlier run, and
            transient failures once at the end of this one. `resume` (default true): if false and `out` holds a run,
            use a new folder with a numbered name instead. `max_calls`, `max_cost` (US dollars): the budget, at which
            the run stops cleanly; both count what all commands on the run folder spent. `deadline`: a timeout for the
            run in seconds. `prices`: the price table, by default the one shipped with greval.
            `cache`: true or a file: cache the replies of all runs there and reuse them.
            `store_calls` (default true): store the prompt and the raw reply of each call with the results, for
            `Run.calls` and `replay`.
            `shard`: the part of the cases to judge, such as "3/16". `probe`: whether the cases belong to a probe,
            which needs a separate folder. `columns`: the column of each field that is not found by its name, as in
            `read_cases`. `origin`: the source of the cases, if `cases` does not provide it.
            `part`: the name of the part of a plan that these cases are; parts of a plan count together.
            `reply_source`: the source of replies, used instead of the judge's model.
            `command`: the options of the command line, stored with the run.
            `config`: a LangChain config, such as callbacks and tags, for every call.
            `total`: the number of cases, used to estimate the time left if `cases` has no length.
            `on_progress`, `on_result`: called after each result, the latter with each new row.
            `escalate`: a second judge. The judge of each metric (the first) judges all cases, in the folder `first` of
            the run; its verdicts stand if it is certain, and the second judge judges the rest. How certain it has
            to be is chosen on `labels` of people, files or annotations, by default those in the run folder, so that it
            agrees with them at least as often as `agree` (0.9) with a probability of 0.95, as far as the labels are a
            random sample. The certainty is the probability of the verdict, or with `repeats`, which are of the first
            judge, the share of equal ones. `first`: the verdicts of a first judge, as such a run passes them on.
            `on_unread`: called with each row that is not a case, instead of a `DataWarning` at the end.

    Returns:
        The run: its folder, its progress, and why it was stopped, if it was.

    Raises:
        DataError: If the cases are a single string or record, no case can be read, or the shard is invalid.
        DefinitionError: If `metrics` is empty, or a metric builds on one that does not exist.
        JudgeError: If a judge cannot be used at all, or a judged metric has none.
        StoreError: If the folder cannot be written or holds a probe.
        TypeError: If an option does not exist.
    """
    check_options(options, EvaluateOptions, "evaluate")
    if options.get("escalate") is not None:
        from greval.runs.escalation import STRATEGY

        return cast(
            "Run",
            await import_module(STRATEGY).evaluate_with_escalation(
                cases, metrics, judge, out=out, stop=stop, **options
            ),
        )
    reading = read_records(cases, columns=options.get("columns"))
    if not metrics:
        raise DefinitionError("no metric is given; name those to judge by, such as ['correctness']")
    shard = get_shard(options)
    source = get_source(reading, options)
    folder = choose_folder(reading.name, source) if out is None else Path(out)
    folder = folder if options.get("resume", True) else find_free_folder(folder)
    loaded = resolve_metrics(metrics)
    asked = get_asked_names(loaded.asked, options)
    all_metrics = set_reason_depth(loaded.metrics, options.get("reason_depth"))
    judges = choose_judges(all_metrics, judge, options.get("judges"))
    width = get_total_concurrency([group.judge for group in judges.groups], options)
    guard = build_run_guard(
        judges,
        get_prices(options),
        max_calls=options.get("max_calls"),
        max_cost=options.get("max_cost"),
        clock=asyncio.get_running_loop().time,
    )
    with ExitStack() as opened:
        writer = opened.enter_context(StoreWriter.create(folder))
        store = writer.reader
        if not options.get("probe"):
            refuse_probe(store)
        clients = _create_clients(judges, folder, options, opened)
        for client in clients:
            await client.ready()
        runnables = compile_metrics(all_metrics, judges.assign(clients), repeats=options.get("repeats", 1))
        _restore_adaptations(store, judges, clients, runnables)
        work = JudgingLoop(
            writer,
            runnables,
            guard,
            ProgressCounter(count_judgements(cases, options, len(runnables))),
            shard=shard,
            retry_failed=options.get("retry_failed", True),
            # The stored replies of a batch would fail in the same way again.
            retries_at_end=options.get("retry_failed", True) and "reply_source" not in options,
            stores_calls=options.get("store_calls", True),
            asked=asked,
            config=options.get("config"),
            guards={
                client: build_judge_guard(guard, group, judges, get_prices(options))
                for client, group in zip(clients, judges.groups, strict=True)
            },
            meter=options.get("meter"),
            first=options.get("first"),
            on_progress=options.get("on_progress"),
            on_result=options.get("on_result"),
            on_method=writer.plans.claim_method,
            on_unread=options.get("on_unread"),
        )
        has_results = store.query("SELECT 1 FROM results LIMIT 1").fetchone() is not None
        # After a stop, only a source whose length is known is read to its end: a stream may have none.
        reads_on = has_results and (isinstance(cases, Sized) or options.get("total") is not None)
        # None if no command wrote the run, such as one of merged runs.
        were_asked = read_asked_names(store)
        judged_on_all = were_asked is None or asked <= were_asked
        _store_metadata(work, writer, judges, clients, options)
        capped = options.get("max_calls") is not None or options.get("max_cost") is not None
        # Only a cap needs the cost of rows without a record, for which all rows are read.
        guard.before = read_spending(store, get_prices(options) if capped else None)
        guard.was_read = lambda name: _was_scored(store, name, runnables[name].fingerprint)
        _begin_plan(work, writer, source, options)
        # Everything is judged already, so that the cases need not be read again.
        if writer.plans.continued and writer.plans.is_complete() and judged_on_all:
            work.count_stored(writer.plans.count_statuses(finished=True))
            writer.plans.end(None, None)
        else:
            writer.plans.expect_methods()
            async with (
                stop_on_request(guard, stop, options.get("deadline")),
                _record_periodically(work, writer, judges, clients, options),
            ):
                with reduce_collections():
                    await _judge_source(work, writer, iter(reading), width, read_remaining=reads_on)
    if "on_unread" not in options:
        _warn_unread(work, reading, folder)
    if guard.why is None and work.row_count and work.row_count == work.counter.unread:
        raise build_unreadable_error(work.unread, work.row_count)
    # Judgements of a batch that are still open may need replies of the journal.
    if guard.why is None and "reply_source" not in options:
        delete_cache_file(folder / JOURNAL)
    return Run(folder, work.progress, why=guard.why, fatal=guard.fatal)


def _warn_unread(work: JudgingLoop, reading: CaseReader, folder: Path) -> None:
    """Warn about rows that are not cases, ignored names, words for nothing, a column of methods, and joins."""
    unread, row_count = work.counter.unread, work.row_count
    if unread and unread < row_count:
        lines = [
            f"{unread:,} of {row_count:,} rows are no cases and were not judged:",
            *describe_row_faults(work.unread, unread),
        ]
        warnings.warn("\n".join(lines), DataWarning, stacklevel=3)
    if ignored := reading.describe_ignored():
        warnings.warn(f"{reading.name}: {ignored}", DataWarning, stacklevel=3)
    if words := reading.describe_missing_words():
        warnings.warn(f"{reading.name}: {words}", DataWarning, stacklevel=3)
    if proposal := reading.describe_proposal(lambda columns: f"columns={dict(columns)}"):
        warnings.warn(f"{reading.name}: {proposal}", DataWarning, stacklevel=3)
    with Store.open(folder) as finished:
        for remark in read_join_remarks(finished):
            warnings.warn(remark, DataWarning, stacklevel=3)


async def _judge_source(
    work: JudgingLoop, writer: StoreWriter, source: Iterator[Case | RowFault], concurrency: int, *, read_remaining: bool
) -> None:
    """Process all cases, and record the unreadable rows and how the run ended.

    If the run is stopped and `read_remaining` is true, the remaining cases are still read, because their stored results
    from an earlier run belong to this run too.
    """
    to_end = False
    try:
        await work.run(source, concurrency + max(1, concurrency // CALLS_PER_SPARE_WORKER))
        writer.commit()
        to_end = work.guard.why is None
        is_compared = any(isinstance(runnable.metric, ComputedMetric) for runnable in work.runnables.values())
        if to_end and (is_compared or writer.reader.fact(JOINS)):
            from greval.runs.id_joins import check_joins

            check_joins(writer, work.runnables)
        if not to_end and read_remaining:
            await work.read_remaining(source)
            to_end = True
    finally:
        why = work.guard.why or (None if to_end else INTERRUPTED)
        writer.plans.end(work.planned if to_end else None, why, unread=work.counter.unread)
        writer.put_fact("unread", list(work.unread))
        writer.put_fact("unread_count", work.counter.unread)


@asynccontextmanager
async def _record_periodically(
    work: JudgingLoop, writer: StoreWriter, judges: RunJudges, clients: Sequence[JudgeClient], options: EvaluateOptions
) -> AsyncIterator[None]:
    """Sync the log to disk once a second, in a thread, so that judging does not wait for it.

    The total spending of the run is stored before and at the end, because the budget counts all commands. The judges
    are stored again if their requests were changed, and the progress is reported if the run waits.
    """
    guard = work.guard
    noted = guard.before
    adaptations = [client.adaptation for client in clients]

    def record() -> None:
        nonlocal noted, adaptations
        if adaptations != (now := [client.adaptation for client in clients]):
            adaptations = now
            store_judges(writer, judges, clients, get_prices(options))
        spending = guard.total_spending
        if judges.labels and "reply_source" in options:
            # This process did not request the replies of a batch, which has one judge.
            usage = work.counter.usage
            cost = get_prices(options).cost(judges.labels[0], usage) if usage.calls else None
            spending += RunSpending(calls=usage.calls, cost=cost)
        if spending != noted:
            store_spending(writer, spending)
            noted = spending

    async def repeat() -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            record()
            work.report_waiting()
            writer.commit()
            await asyncio.to_thread(writer.flush)

    try:
        async with run_in_background(repeat()):
            yield
    finally:
        record()


@asynccontextmanager
async def stop_on_request(guard: RunGuard, stop: asyncio.Event | None, deadline: float | None) -> AsyncIterator[None]:
    """Stop the run when the stop event is set or the deadline has passed."""
    timer = None
    if deadline is not None:
        timer = asyncio.get_running_loop().call_later(
            deadline, guard.stop, f"the deadline of {deadline:g} s is over (--deadline)"
        )

    async def watch() -> None:
        if stop:
            await stop.wait()
            guard.stop(STOP_REQUESTED)

    try:
        async with run_in_background(watch()):
            yield
    finally:
        if timer:
            timer.cancel()


def _create_clients(judges: RunJudges, folder: Path, options: EvaluateOptions, stack: ExitStack) -> list[JudgeClient]:
    """Create the client of each judge. They share the cache and the journal of the run.

    They also share the limit of concurrent calls if the options have one. Otherwise each judge has its own.
    """
    cache, replies = options.get("cache"), None
    if cache and judges.groups:
        replies = stack.enter_context(ReplyCache(cache if isinstance(cache, Path) else find_cache_file()))
    journal = stack.enter_context(ReplyCache(folder / JOURNAL, paid=True)) if judges.groups else None
    limit = options.get("concurrency")
    shared = options.get("gate") or (asyncio.Semaphore(limit) if limit else None)
    return [
        JudgeClient(
            group.judge,
            gate=shared or asyncio.Semaphore(get_concurrency(group.judge, options)),
            cache=replies,
            journal=journal,
            reply_source=options.get("reply_source"),
        )
        for group in judges.groups
    ]


def _store_metadata(
    work: JudgingLoop, writer: StoreWriter, judges: RunJudges, clients: Sequence[JudgeClient], options: EvaluateOptions
) -> None:
    """Store the metrics, the command and the judges of the run; without a judge the stored ones are unchanged."""
    runnables = work.runnables
    store_origin(writer)
    store_metrics(writer, [runnable.metric.model_dump(mode="json") for runnable in runnables.values()])
    if command := options.get("command"):
        writer.put_fact(COMMAND, command.model_dump(mode="json"))
    store_judges(writer, judges, clients, get_prices(options))
    writer.put_fact(ASKED, None if work.asked is None else [*sorted(work.asked)])


def _restore_adaptations(
    store: Store, judges: RunJudges, clients: Sequence[JudgeClient], runnables: Mapping[str, MetricRunnable]
) -> None:
    """Ask the judges of stored results as they were asked for them, so that a run has one setting of each judge."""
    stored = read_judges(store)
    for group, client in zip(judges.groups, clients, strict=True):
        for name in group.metrics:
            settings = {**stored.get(name, {})}
            changes = settings.pop(ADAPTED, None)
            is_same = settings == {"label": client.label, **client.identity}
            if is_same and _was_scored(store, name, runnables[name].fingerprint):
                client.restore_adaptation(Adaptation.model_validate({"changes": changes or ()}, strict=False))


def _was_scored(store: Store, metric: str, fingerprint: str) -> bool:
    """Return whether a result of this definition and judge was ever scored."""
    query = (
        "SELECT 1 FROM results WHERE metric = ? AND json_extract(outline, '$[0]') = 'scored' "
        "AND json_extract(row, '$.fingerprint') = ? LIMIT 1"
    )
    return store.query(query, (metric, fingerprint)).fetchone() is not None


def _begin_plan(work: JudgingLoop, writer: StoreWriter, source: CaseSource, options: EvaluateOptions) -> None:
    """Begin the plan of the run, which replaces earlier plans of the same metrics and methods."""
    versions = {name: PlannedVersion(runnable.fingerprint, runnable.judge) for name, runnable in work.runnables.items()}
    if work.first:
        if work.first.why:
            work.guard.stop(work.first.why)
        versions = {name: work.first.combine_version(name, version) for name, version in versions.items()}
        # Only the second judge costs something in this folder.
        store_shared_prices(writer, {version.judge: work.runnables[name].judge for name, version in versions.items()})
    total = work.counter.total
    part = options.get("part") or (str(work.shard) if work.shard else "")
    writer.plans.begin(source, part, versions, None if total is None else total // len(versions))
