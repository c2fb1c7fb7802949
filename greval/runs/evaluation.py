"""Evaluation of cases by metrics: concurrent and resumable, with every failure stored as a row.

Each case is judged by all metrics as soon as a worker is free. A metric that builds on others waits only for their
results on the same case. Running the same evaluation again judges only what is missing or failed.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence, Sized
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Unpack

from langchain_core.language_models import BaseChatModel

from greval._util.arguments import known_options
from greval._util.concurrency import beside, rare_collections
from greval.datasets import RowFault
from greval.datasets.case_reader import Reading
from greval.datasets.case_records import GivenCases, read_given
from greval.datasets.file_identity import Source
from greval.datasets.row_faults import describe_unread, none_readable
from greval.errors import DataWarning, DefinitionError, JudgeError
from greval.judging.metric_runnable import run_sync
from greval.judging.model.budget import Guard, Spending
from greval.judging.model.client import JudgeClient
from greval.judging.model.failure_log import FailedCalls
from greval.judging.model.hints import key_hint
from greval.judging.model.judge import Judge
from greval.judging.model.reply_cache import Replies, cache_file, forget
from greval.metrics.library import with_dependencies
from greval.records.case import Case
from greval.records.metric import Metric, set_reason_depth
from greval.records.result import Result
from greval.runs.manifest import put_metrics, put_spending, read_spending, refuse_probe
from greval.runs.options import Options, prices_of, shard_of, source_of, total_of, width_of
from greval.runs.progress import Progress
from greval.runs.run_summary import missing_tag, summarise_run
from greval.runs.runnable import compile_metrics
from greval.runs.share_summary import ShareSummary, summarise_shares
from greval.runs.store import Store
from greval.runs.store.plans import Mark
from greval.runs.worker import Work
from greval.stats.summary import Summary

SPARE = 4
"""The number of concurrent calls for each spare worker, which makes calls while others write or wait for a retry."""
FLUSH_SECONDS = 1.0
JOURNAL = "replies.sqlite"
STOPPED = "it was asked to stop"
INTERRUPTED = "it was interrupted"
MOST_FOLDERS = 10_000


@dataclass(frozen=True)
class Run:
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

    def summary(self, by: str | Sequence[str] = ()) -> tuple[Summary, ...]:
        """Return a summary of each metric, with the same numbers as `greval report`.

        Args:
            by: `method` or tag names, such as ["method", "query_type"]. If empty, group by method if there are several
                methods.

        Raises:
            DataError: If no case has such a tag.

        Example:
            >>> import tempfile
            >>> from greval.metrics.computed import COMPUTED
            >>> cases = [{"id": f"q{n}", "question": "?", "usage": {"latency": n}} for n in (1.0, 2.0, 6.0)]
            >>> run = evaluate(cases, [COMPUTED["latency"]], out=tempfile.mkdtemp())
            >>> (summary,) = run.summary()
            >>> summary.mean, summary.median, summary.maximum, summary.counted
            (3.0, 2.0, 6.0, 3)
        """
        with Store.open(self.folder) as store, store.snapshot():
            found = summarise_run(store, by)
            if error := missing_tag(found.by, found.summaries, store):
                raise error
        return found.summaries

    def shares(self, by: str | Sequence[str] = ()) -> tuple[ShareSummary, ...]:
        """Return the mean of each share computed from notes, with the same numbers as `greval report`.

        Args:
            by: As in `summary`.

        Raises:
            DataError: If no case has such a tag.
        """
        with Store.open(self.folder) as store, store.snapshot():
            found = summarise_run(store, by)
            if error := missing_tag(found.by, found.summaries, store):
                raise error
            return summarise_shares(store, found.by)


def evaluate(
    cases: GivenCases,
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    *,
    out: str | Path,
    **options: Unpack[Options],
) -> Run:
    """Judge cases by metrics and store the results in a run folder.

    This is `evaluate_async` for scripts and notebooks; see there for the arguments.

    Example:
        >>> import tempfile
        >>> from greval.metrics.computed import COMPUTED
        >>> case = {"id": "q1", "question": "Who?", "usage": {"latency": 1.5}}
        >>> run = evaluate([case], [COMPUTED["latency"]], out=tempfile.mkdtemp())
        >>> [result.judgements[0].value for result in run.results()]
        [1.5]
    """
    return run_sync(evaluate_async(cases, metrics, judge, out=out, **options))


async def evaluate_async(
    cases: GivenCases,
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    *,
    out: str | Path,
    stop: asyncio.Event | None = None,
    **options: Unpack[Options],
) -> Run:
    """Judge cases by metrics and store the results in a run folder.

    Args:
        cases: Cases, mappings of case fields (greval's names or those of other tools), a pandas or polars table, or the
            return value of `read_cases`. They are read lazily.
        metrics: Metric definitions. The metrics that they build on are added.
        judge: Settings of a judge, or a chat model. Computed metrics need none.
        out: The run folder. Results that it holds from an earlier run are not judged again. The run counts only the
            results of its own cases, metrics and judge: for the same metric and method, it replaces earlier runs in
            the folder.
        stop: An event that stops the run when set: no further call is made, and calls in flight are finished and
            stored.
        **options: `concurrency`: the maximum number of concurrent calls. `gate`: a context manager entered for each
            call instead of the concurrency limit, for example one that several runs share. `repeats`: how often each
            case is judged. `reason_depth`: how much the judge writes for each verdict ("brief", "detailed" or "steps"),
            which overrides the metrics. `retry_failed` (default true): retry failed rows of an earlier run, and
            transient failures once at the end of this one. `resume` (default true): if false and `out` holds a run,
            use a new folder with a numbered name instead. `max_calls`, `max_cost` (US dollars): the budget, at which
            the run stops cleanly; both count what all commands on the run folder spent. `deadline`: a timeout for the
            run in seconds. `prices`: the price table, by default the one shipped with greval.
            `cache`: true or a file: cache the replies of all runs there and reuse them.
            `shard`: the part of the cases to judge, such as "3/16". `probe`: whether the cases belong to a probe,
            which needs a separate folder. `origin`: the source of the cases, if `cases` does not provide it.
            `part`: the name of the part of a plan that these cases are; parts of a plan count together.
            `desk`: the source of replies, used instead of the judge's model.
            `debug`: store request and reply of each failed call in `debug.jsonl`.
            `config`: a LangChain config, such as callbacks and tags, for every call.
            `total`: the number of cases, used to estimate the time left if `cases` has no length.
            `on_progress`, `on_result`: called after each result, the latter with each new row.
            `on_unread`: called with each row that is not a case, instead of a `DataWarning` at the end.

    Returns:
        The run: its folder, its progress, and why it was stopped, if it was.

    Raises:
        DataError: If the cases are a single string or record, no case can be read, or the shard is invalid.
        DefinitionError: If `metrics` is empty, or a metric builds on one that does not exist.
        JudgeError: If the judge cannot be used at all.
        StoreError: If the folder cannot be written or holds a probe.
        TypeError: If an option does not exist.
    """
    known_options(options, Options, "evaluate")
    reading = read_given(cases)
    if not metrics:
        raise DefinitionError("no metric is given; give those to judge by, such as [load('correctness')]")
    shard = shard_of(options)
    folder = Path(out) if options.get("resume", True) else unused(Path(out))
    width = width_of(judge, options)
    guard = _guard(judge, options)
    with ExitStack() as opened:
        store = opened.enter_context(Store.create(folder))
        if not options.get("probe"):
            refuse_probe(store)
        client = _client(judge, guard, width, folder, options, opened) if judge is not None else None
        if client:
            await client.ready()
        wanted = set_reason_depth(with_dependencies(metrics), options.get("reason_depth"))
        runnables = compile_metrics(wanted, client, repeats=options.get("repeats", 1))
        work = Work(
            store,
            runnables,
            guard,
            Progress(total=total_of(cases, options, len(runnables))),
            shard=shard,
            retry_failed=options.get("retry_failed", True),
            mends=options.get("retry_failed", True) and "desk" not in options,
            config=options.get("config"),
            on_progress=options.get("on_progress"),
            on_result=options.get("on_result"),
            on_method=partial(_claim_plans, store, tuple(runnables)),
            on_unread=options.get("on_unread"),
        )
        reads_on = store.holds_results() and (isinstance(cases, Sized) or options.get("total") is not None)
        _describe(work, store, client, options)
        capped = options.get("max_calls") is not None or options.get("max_cost") is not None
        guard.before = read_spending(store, prices_of(options) if capped else None)
        guard.was_read = lambda name: store.was_scored(name, runnables[name].fingerprint)
        _begin_plan(work, store, source_of(cases, options), options)
        if store.plans.continued and store.plans.complete():
            work.count_all(store.plans.count_statuses(finished=True))
            store.plans.end(None, None)
        else:
            store.plans.expect_methods()
            async with (
                _ending(guard, stop, options.get("deadline")),
                _flushing(store),
                _noting_spending(work, store, client, options),
            ):
                with rare_collections():
                    await _through(work, store, iter(reading), width, reads_on=reads_on)
    if "on_unread" not in options:
        _warn(work, reading)
    if guard.why is None and work.taken and work.taken == work.progress.unread:
        raise none_readable(work.unread, work.taken)
    if guard.why is None and "desk" not in options:
        forget(folder / JOURNAL)
    return Run(folder, work.progress, why=guard.why, fatal=guard.fatal)


def _warn(work: Work, reading: Reading) -> None:
    """Warn about rows that are not cases and about ignored field names."""
    unread, taken = work.progress.unread, work.taken
    if unread and unread < taken:
        lines = [
            f"{unread:,} of {taken:,} rows are no cases and were not judged:",
            *describe_unread(work.unread, unread),
        ]
        warnings.warn("\n".join(lines), DataWarning, stacklevel=3)
    if ignored := reading.told_ignored():
        warnings.warn(f"{reading.name}: {ignored}", DataWarning, stacklevel=3)


async def _through(work: Work, store: Store, source: Iterator[Case | RowFault], width: int, *, reads_on: bool) -> None:
    """Process all cases, and record the unreadable rows and how the run ended.

    If the run is stopped and `reads_on` is true, the remaining cases are still read, because their stored results
    from an earlier run belong to this run too.
    """
    to_end = False
    try:
        await work.run(source, width + max(1, width // SPARE))
        to_end = work.guard.why is None
        if not to_end and reads_on:
            await work.read_on(source)
            to_end = True
    finally:
        why = work.guard.why or (None if to_end else INTERRUPTED)
        store.plans.end(work.planned if to_end else None, why, unread=work.progress.unread)
        store.put_fact("unread", list(work.unread))
        store.put_fact("unread_count", work.progress.unread)


@asynccontextmanager
async def _flushing(store: Store) -> AsyncIterator[None]:
    """Sync the log to disk once a second in a background thread, so that judging does not wait for it."""

    async def flush() -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await asyncio.to_thread(store.flush)

    async with beside(flush()):
        yield


@asynccontextmanager
async def _noting_spending(
    work: Work, store: Store, client: JudgeClient | None, options: Options
) -> AsyncIterator[None]:
    """Store the total spending of the run once a second and at the end, because the budget counts all commands."""
    guard = work.guard
    noted = guard.before

    def note() -> None:
        nonlocal noted
        spending = guard.spending
        if client and "desk" in options:
            spending += _price_batch(work, client, options)
        if spending != noted:
            put_spending(store, spending)
            noted = spending

    async def repeat() -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            note()

    try:
        async with beside(repeat()):
            yield
    finally:
        note()


def _price_batch(work: Work, client: JudgeClient, options: Options) -> Spending:
    """Return the cost of the replies of a batch, which this process did not request itself."""
    usage = work.progress.usage
    return Spending(calls=usage.calls, cost=prices_of(options).cost(client.label, usage) if usage.calls else None)


@asynccontextmanager
async def _ending(guard: Guard, stop: asyncio.Event | None, deadline: float | None) -> AsyncIterator[None]:
    """Stop the run when the stop event is set or the deadline has passed."""
    timer = None
    if deadline is not None:
        timer = asyncio.get_running_loop().call_later(
            deadline, guard.stop, f"the deadline of {deadline:g} s is over (--deadline)"
        )

    async def watch() -> None:
        if stop:
            await stop.wait()
            guard.stop(STOPPED)

    try:
        async with beside(watch()):
            yield
    finally:
        if timer:
            timer.cancel()


def unused(folder: Path) -> Path:
    """Return the folder if it is empty, else the first of its name with suffix -2, -3, ... that is.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> unused(folder) == folder
        True
    """
    names = (folder, *(folder.with_name(f"{folder.name}-{n}") for n in range(2, MOST_FOLDERS)))
    return next((name for name in names if not name.exists() or not any(name.iterdir())), folder)


def _guard(judge: Judge | BaseChatModel | None, options: Options) -> Guard:
    """Build the guard that stops the run at its budget or if the judge is unusable."""
    if judge is None:
        return Guard()
    label = JudgeClient(judge).label
    prices = prices_of(options)
    cap = options.get("max_cost")
    if cap is not None and prices.of(label) is None:
        message = f"{label}: no price is known to cap a cost by; give one (--prices) or cap calls (--max-calls)"
        raise JudgeError(message)
    hint = key_hint(judge.model) if isinstance(judge, Judge) else "check the model's key"
    costs, clock = partial(prices.cost, label), asyncio.get_running_loop().time
    return Guard(max_calls=options.get("max_calls"), max_cost=cap, cost=costs, hint=hint, model=label, clock=clock)


def _client(
    judge: Judge | BaseChatModel, guard: Guard, width: int, folder: Path, options: Options, opened: ExitStack
) -> JudgeClient:
    """Build the judge client that all metrics of the run share."""
    cache = options.get("cache") or None
    file = cache if isinstance(cache, Path) else cache_file()
    return JudgeClient(
        judge,
        gate=options.get("gate") or asyncio.Semaphore(width),
        guard=guard,
        cache=opened.enter_context(Replies(file)) if cache else None,
        journal=opened.enter_context(Replies(folder / JOURNAL, paid=True)),
        desk=options.get("desk"),
        on_failure=FailedCalls(folder) if options.get("debug") else None,
    )


def _describe(work: Work, store: Store, client: JudgeClient | None, options: Options) -> None:
    """Store the metrics and the judge of the run; a run without a judge leaves the stored judge unchanged."""
    runnables = work.runnables
    put_metrics(store, [runnable.metric.model_dump(mode="json") for runnable in runnables.values()])
    if client:
        price = prices_of(options).of(client.label)
        store.put_fact("judge", {"label": client.label, **client.identity})
        store.put_fact("price", price.model_dump() if price else None)


def _begin_plan(work: Work, store: Store, source: Source, options: Options) -> None:
    """Begin the plan of the run, which replaces earlier plans of the same metrics and methods."""
    marks = {name: Mark(runnable.fingerprint, runnable.judge) for name, runnable in work.runnables.items()}
    total = work.progress.total
    part = options.get("part") or (str(work.shard) if work.shard else "")
    store.plans.begin(source, part, marks, None if total is None else total // len(marks))


def _claim_plans(store: Store, metrics: Iterable[str], method: str) -> None:
    """Make the plan of the run the counted one for a method, instead of earlier plans."""
    for metric in metrics:
        store.plans.plan_of(metric, method)
