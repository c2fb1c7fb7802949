"""`greval evaluate` and `demo`: a run with its progress, and its report at the end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greval.case import Case, Gold
from greval.cli.bar import Bar
from greval.cli.failing import kinds, tell_failures
from greval.cli.options import (
    AnswerForm,
    BaseUrl,
    By,
    Cases,
    Concurrency,
    Confidence,
    Depth,
    Folders,
    JudgeName,
    Limit,
    MaxCalls,
    MaxCost,
    MaxItems,
    MaxRetries,
    MaxTokens,
    MethodName,
    MetricNames,
    PriceTable,
    Quiet,
    ReasonPlace,
    Repeats,
    RequestsPerMinute,
    Seed,
    Show,
    Temperature,
    Timeout,
    TokensPerMinute,
    needed_judge,
    page,
)
from greval.cli.page import visible
from greval.cli.run_folder import announce_continuing, choose_folder
from greval.cli.stopping import describe_stop, stop_on_signals
from greval.datasets import RowFault, read_cases
from greval.datasets.gold import read_gold
from greval.datasets.sources import fill_sources, read_pattern
from greval.errors import DataError, GrevalError
from greval.gold import with_gold
from greval.judge import Judge
from greval.library import load, with_dependencies
from greval.metric import ComputedMetric, Metric
from greval.metrics.telling import counted
from greval.prices import Prices
from greval.report.build import build
from greval.report.console import render
from greval.result import Result
from greval.run_summary import missing_tag
from greval.shard import Shard
from greval.store import Store

if TYPE_CHECKING:
    from greval.evaluation import Run
    from greval.options import Options
    from greval.progress import Progress

MOST_TOLD = 5
FAILED = 3
STOPPED = 130
STDIN = "-"
SWITCHED_OFF = "OTEL_SDK_DISABLED"
NO_PROVIDER = """\
--otel: this process has no OpenTelemetry provider, so no event could be emitted. Start greval with one:
  pip install opentelemetry-distro opentelemetry-exporter-otlp
  opentelemetry-instrument --logs_exporter otlp greval evaluate ... --otel
or leave --otel out, and emit the events of a finished run with greval.events (docs/money.md)."""
DEMO_METRICS = ("correctness", "chunk_evaluation", "triple_evaluation")


def evaluate(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    cases: Cases,
    *,
    metric: MetricNames,
    judge: JudgeName = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="RUN", help="the run folder; runs/NAME by default")
    ] = None,
    concurrency: Concurrency = None,
    limit: Limit = None,
    repeats: Repeats = 1,
    method: MethodName = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="gold in a file of its own, joined to the cases by id")
    ] = None,
    doc_id_pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="take repo and version of chunks and nodes from their document ids, by groups (?P<repo>...) and "
            "(?P<version>...)",
        ),
    ] = None,
    library: Folders = None,
    base_url: BaseUrl = None,
    temperature: Temperature = 0.0,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    max_tokens: MaxTokens = None,
    max_items: MaxItems = None,
    structured: AnswerForm = "auto",
    reason: ReasonPlace = "before",
    reason_depth: Depth = None,
    confidence: Confidence = False,
    max_retries: MaxRetries = 6,
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    retry_failed: Annotated[bool, typer.Option(help="ask again for what failed")] = True,
    resume: Annotated[bool, typer.Option(help="go on in the run folder; --no-resume begins a new one")] = True,
    cache: Annotated[bool, typer.Option("--cache", help="keep answers for other runs, and use those kept")] = False,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prices: PriceTable = None,
    deadline: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="stop after so long")] = None,
    shard: Annotated[str | None, typer.Option(metavar="K/N", help="judge the K-th of N parts of the cases")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what it would ask and cost, and ask nothing")] = False,
    by: By = None,
    show: Show = 0,
    quiet: Quiet = False,
    otel: Annotated[
        bool, typer.Option("--otel", help="emit OpenTelemetry events to the provider that the process is set up with")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="events as JSON lines instead of the report")] = False,
) -> None:
    """Judge cases by metrics. The same command again asks only for what is missing or failed."""
    folders = library or []
    metrics = with_dependencies([load(name, *folders) for name in metric], *folders)
    settings: dict[str, Any] = {
        "base_url": base_url,
        "temperature": temperature,
        "seed": seed,
        "timeout": timeout,
        "max_tokens": max_tokens,
        "max_items": max_items,
        "structured": structured,
        "reason": reason,
        "confidence": confidence,
        "max_retries": max_retries,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
    }
    computed = all(isinstance(one, ComputedMetric) for one in metrics)
    model = None if computed else needed_judge(judge, **settings)
    if doc_id_pattern is not None:
        read_pattern(doc_id_pattern)  # a wrong one is told before anything else
    reading = read_cases(cases, method=method)
    origin = reading.source(*([gold] if gold else []), limit=limit)
    folder = out or choose_folder(cases, origin)
    table = Prices.load(prices)
    options: Options = {
        "concurrency": concurrency,
        "repeats": repeats,
        "reason_depth": reason_depth,
        "retry_failed": retry_failed,
        "resume": resume,
        "max_calls": max_calls,
        "max_cost": max_cost,
        "deadline": deadline,
        "prices": table,
        "cache": cache,
        "shard": Shard.parse(shard) if shard else None,
        "debug": bool(context.obj),
        "origin": origin,
    }
    if dry_run:
        _foretell(
            cases,
            metrics,
            model,
            folder,
            method=method,
            gold=gold,
            pattern=doc_id_pattern,
            limit=limit,
            options=options,
        )
        return
    if resume and not quiet and not json:
        announce_continuing(folder)
    bar = Bar(quiet=quiet, json=json, also=_events() if otel else None)
    run = asyncio.run(
        _run(
            cases,
            metrics,
            model,
            folder,
            bar,
            method=method,
            gold=gold,
            pattern=doc_id_pattern,
            limit=limit,
            options=options,
        )
    )
    finish(run, by=by or (), show=show, quiet=quiet or json)


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="the run folder")] = Path("runs/demo"),
    judge: JudgeName = "local",
    limit: Annotated[int, typer.Option(min=1, help="judge the first N cases only")] = 6,
) -> None:
    """Judge the cases that ship with greval, with the embedded model."""
    cases = str(files("greval") / "demo" / "cases.jsonl")
    metrics = [load(name) for name in DEMO_METRICS]
    announce_continuing(out)
    options: Options = {"origin": read_cases(cases).source(limit=limit)}
    run = asyncio.run(_run(cases, metrics, needed_judge(judge), out, Bar(), limit=limit, options=options))
    finish(run, by=(), show=12, quiet=False)


def _events() -> Callable[[Result], None]:
    """Return what emits an event for each result.

    Raises:
        GrevalError: If nothing could be emitted, unless OpenTelemetry was switched off on purpose: then a line says so.
    """
    from greval.events import Events  # noqa: PLC0415 - only where it is asked for

    events = Events()
    if events.silent and os.environ.get(SWITCHED_OFF, "").lower() == "true":
        typer.echo(f"--otel: {SWITCHED_OFF} is true, so no event is emitted", err=True)
    elif events.silent:
        raise GrevalError(NO_PROVIDER)
    return events


async def _run(  # noqa: PLR0913 - what a run is made of
    cases: str,
    metrics: Sequence[Metric],
    judge: Judge | None,
    folder: Path,
    bar: Bar,
    *,
    method: str | None = None,
    gold: Path | None = None,
    pattern: str | None = None,
    limit: int | None = None,
    options: Options | None = None,
) -> Run:
    """Run with a progress bar; the first Ctrl-C finishes what is in flight, the second stops at once."""
    from greval.evaluation import evaluate_async  # noqa: PLC0415 - LangChain takes most of a second

    stop = asyncio.Event()
    stop_on_signals(stop)
    reading = read_cases(cases, method=method)
    given: Options = {"total": reading.count(limit), "on_progress": bar.show, "on_result": bar.result}
    given |= options or {}
    with bar:
        rows = islice(_with_sources(_with_gold(reading, gold), pattern), limit)
        run = await evaluate_async(rows, metrics, judge, out=folder, stop=stop, **given)
        if notice := reading.notice():
            bar.say(notice)
        bar.finished(run)
    return run


def _foretell(  # noqa: PLR0913 - what a run is made of
    cases: str,
    metrics: Sequence[Metric],
    judge: Judge | None,
    folder: Path,
    *,
    method: str | None,
    gold: Path | None,
    pattern: str | None,
    limit: int | None,
    options: Options,
) -> None:
    """Print what a run would ask and cost."""
    from greval.forecasting import forecast  # noqa: PLC0415 - LangChain takes most of a second
    from greval.report.forecast import render as render_forecast  # noqa: PLC0415

    rows = islice(_with_sources(_with_gold(read_cases(cases, method=method), gold), pattern), limit)
    render_forecast(forecast(rows, metrics, judge, out=folder, **options), page())


def _with_sources(rows: Iterator[Case | RowFault], pattern: str | None) -> Iterator[Case | RowFault]:
    """Return the cases with repositories and versions by the rule that is given, if there is one."""
    return rows if pattern is None else fill_sources(rows, pattern)


def _with_gold(rows: Iterable[Case | RowFault], file: Path | None) -> Iterator[Case | RowFault]:
    """Join gold to cases by their ids, where a file of it is named.

    Raises:
        DataError: Where a row of that file is no gold: figures without it would be of other questions.
    """
    if file is None:
        return iter(rows)
    found = [*read_gold(file)]
    if faults := [fault for place, row in found if (fault := _fault(place, row))]:
        raise DataError("\n".join(faults[:MOST_TOLD]))
    gold = [row for _, row in found if isinstance(row, Case)]
    return _noted(with_gold(rows, gold), {row.id for row in gold}, file)


def _noted(rows: Iterable[Case | RowFault], ids: set[str], file: Path) -> Iterator[Case | RowFault]:
    """Pass on all rows, and say so at their end where gold fitted none of them."""
    fits = False
    for row in rows:
        fits = fits or (isinstance(row, Case) and row.id in ids)
        yield row
    if not fits:
        some = ", ".join(map(repr, sorted(ids)[:3])) or "none"
        typer.echo(visible(f"{file}: no case has the id of a row of gold there; its ids are {some} ..."), err=True)


def _fault(place: str, row: Case | RowFault) -> str | None:
    """Say why a row is no gold, None where it is."""
    if isinstance(row, RowFault):
        return f"{row.place}: {row.message}"
    empty = row.gold is None and row.expected_answer is None
    return f"{place}: names no gold; fields of it are {', '.join(Gold.model_fields)}" if empty else None


def finish(run: Run, *, by: Sequence[str], show: int, quiet: bool) -> None:
    """Print the report, what failed and why it stopped, and leave with the code that tells whether all was judged."""
    from greval.evaluation import STOPPED as ASKED  # noqa: PLC0415

    lacks = _lacks(run.progress)
    folder = quote(str(run.folder))
    if not quiet:
        with Store.open(run.folder) as store:
            found = build(store, by=by, show=show)
            untold = missing_tag(found.by, found.summaries, store)
        render(found, page())
        several = f"; greval compare {folder}" if "method" in found.by else ""
        typer.echo(f"run: {folder}   (greval report {folder}; greval results {folder}{several})")
        tell_failures(run.folder, kinds(found), found.judge or "", run.why or "")
        if untold:
            typer.echo(untold, err=True)
    elif lacks:
        typer.echo(f"{lacks}; greval report {folder} says why", err=True)
    if run.why:
        typer.echo(describe_stop(run.why), err=True)
        raise typer.Exit(STOPPED if run.why == ASKED else FAILED)
    if lacks:
        raise typer.Exit(FAILED)


def _lacks(progress: Progress) -> str:
    """Say in a line what is not judged that should be; empty where all is."""
    failed = {"judgement": progress.failed, "item": progress.items_failed}
    told = [f"{counted(count, what)} failed" for what, count in failed.items() if count]
    return ", ".join([*told, counted(progress.unread, "unreadable row")] if progress.unread else told)
