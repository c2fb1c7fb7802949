"""`greval align`: improve a metric from its disagreements with people, or report that nothing helped."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greval.cli.evaluate import FAILED, STOPPED
from greval.cli.options import (
    AnnotationFiles,
    AnswerForm,
    BaseUrl,
    Concurrency,
    Folders,
    FormatOption,
    JudgeName,
    Level,
    MaxCalls,
    MaxCost,
    MaxItems,
    MaxRetries,
    MaxTokens,
    PriceTable,
    ReasonPlace,
    ReportFormat,
    RequestsPerMinute,
    Temperature,
    Timeout,
    TokensPerMinute,
    create_console,
    require_judge,
)
from greval.cli.stopping import describe_stop, stop_on_signals
from greval.errors import StoppedError
from greval.metrics.library import load_metric

if TYPE_CHECKING:
    from greval.judging.model.judge import Judge
    from greval.records.metric import Metric
    from greval.trust.alignment.preparation import AlignOptions
    from greval.trust.alignment.records import Alignment


def align(  # noqa: PLR0913 - the options of a command
    metric: Annotated[str, typer.Argument(help="a metric, by name or file")],
    *,
    run: Annotated[Path, typer.Option("--run", metavar="RUN", help="the run folder that people annotated")],
    annotations: AnnotationFiles = None,
    judge: JudgeName = None,
    writer: Annotated[
        str | None, typer.Option(metavar="MODEL", help="the model that writes texts and reasons; the judge by default")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="NEW.yaml", help="the new file; RUN/align/NAME.yaml by default"),
    ] = None,
    ways: Annotated[str, typer.Option(metavar="WAY,WAY", help="what to try")] = "examples,rewrite",
    folds: Annotated[int, typer.Option(min=2, help="how many folds the labels are dealt to")] = 5,
    choosing: Annotated[
        int, typer.Option(min=1, metavar="N", help="how many labels at most choose between the ways in each fold")
    ] = 60,
    limit: Annotated[int | None, typer.Option(min=1, help="use N labelled things only")] = None,
    seed: Annotated[int, typer.Option(help="decides how labels are dealt and drawn")] = 0,
    level: Level = 0.95,
    work: Annotated[
        Path | None, typer.Option(metavar="DIR", help="where judgements are kept; RUN/align by default")
    ] = None,
    library: Folders = None,
    concurrency: Concurrency = None,
    base_url: BaseUrl = None,
    temperature: Temperature = 0.0,
    timeout: Timeout = 60.0,
    max_tokens: MaxTokens = None,
    max_items: MaxItems = None,
    structured: AnswerForm = "auto",
    reason: ReasonPlace = "before",
    max_retries: MaxRetries = 6,
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prices: PriceTable = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what it would ask at most, and ask nothing")] = False,
    form: FormatOption = ReportFormat.table,
) -> None:
    """Improve a metric from its disagreements with people. A new metric is written only if it is a sure improvement."""
    from greval.judging.model.prices import Prices

    settings: dict[str, Any] = {
        "base_url": base_url,
        "temperature": temperature,
        "timeout": timeout,
        "max_tokens": max_tokens,
        "max_items": max_items,
        "structured": structured,
        "reason": reason,
        "max_retries": max_retries,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
    }
    model = require_judge(judge, **settings)
    wishes: Any = {
        "out": out,
        "ways": [way.strip() for way in ways.split(",") if way.strip()],
        "writer": require_judge(writer, **settings) if writer else None,
        "folds": folds,
        "choosing": choosing,
        "limit": limit,
        "seed": seed,
        "level": level,
        "work": work,
        "concurrency": concurrency,
        "max_calls": max_calls,
        "max_cost": max_cost,
        "prices": Prices.load(prices),
        "on_told": partial(typer.echo, err=True),
    }
    if out and out.is_dir():
        raise typer.BadParameter(f"-o {out}: is a folder; name the file of the new metric in it")
    defined = load_metric(metric, *(library or []))
    if dry_run:
        _print_forecast(run, defined, model, annotations or None, wishes, form)
    else:
        _print_alignment(asyncio.run(_align(run, defined, model, annotations or None, wishes)), form)


async def _align(
    run: Path, metric: Metric, judge: Judge, annotations: list[Path] | None, options: AlignOptions
) -> Alignment:
    """Align the metric and print each step. The first Ctrl-C finishes calls in flight."""
    from greval.runs.evaluation import STOP_REQUESTED as ASKED
    from greval.trust.alignment import align_async

    stop = asyncio.Event()
    stop_on_signals(stop)
    try:
        return await align_async(run, metric, judge, annotations, stop=stop, **options)
    except StoppedError as error:
        typer.echo(describe_stop(str(error)), err=True)
        raise typer.Exit(STOPPED if str(error) == ASKED else FAILED) from error


def _print_forecast(
    run: Path, metric: Metric, judge: Judge, annotations: list[Path] | None, options: AlignOptions, form: ReportFormat
) -> None:
    from greval.report.align import render_forecast
    from greval.trust.alignment import forecast_align

    found = forecast_align(run, metric, judge, annotations, **options)
    if form is ReportFormat.table:
        render_forecast(found, create_console())
    else:
        typer.echo(found.model_dump_json(indent=2))


def _print_alignment(found: Alignment, form: ReportFormat) -> None:
    from greval.report.align import render

    if form is ReportFormat.table:
        render(found, create_console())
    else:
        typer.echo(found.model_dump_json(indent=2))
