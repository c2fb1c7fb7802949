"""`greval probe`: measure which planted faults a judge detects; no labels are needed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval.cli.compare import MISSED
from greval.cli.evaluate import FAILED, STOPPED
from greval.cli.failures import print_failure_hints
from greval.cli.options import (
    BaseUrl,
    Concurrency,
    Depth,
    Folders,
    FormatOption,
    JudgeName,
    MaxCalls,
    MaxCost,
    MaxItems,
    PriceTable,
    Quiet,
    ReasonPlace,
    ReportFormat,
    Seed,
    Temperature,
    Timeout,
    create_console,
    require_judge,
)
from greval.cli.progress_bar import ProgressBar
from greval.cli.stopping import describe_stop, stop_on_signals
from greval.datasets import read_cases
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.metrics.library import add_dependencies, load_metric
from greval.records.metric import Metric, set_reason_depth

if TYPE_CHECKING:
    from greval.trust.probing.records import Probe
    from greval.trust.probing.stages import ProbeOptions


def probe(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    metric: Annotated[str, typer.Argument(help="a judged metric, by its name or its file")],
    *,
    cases: Annotated[
        str | None, typer.Option("--cases", metavar="FILE", help="cases with good answers; shipped ones by default")
    ] = None,
    judge: JudgeName = None,
    checks: Annotated[
        str | None, typer.Option(metavar="NAMES", help="as repeats,padded,injected; all that fit the metric by default")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="probe on the first N cases that fit")] = 20,
    mutants: Annotated[int, typer.Option(min=1, help="the variants of each check that are made of a case")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="how often the unchanged cases are judged")] = 3,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="RUN", help="the run folder; runs/probe-METRIC by default")
    ] = None,
    library: Folders = None,
    base_url: BaseUrl = None,
    temperature: Temperature = 0.0,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    max_items: MaxItems = None,
    reason: ReasonPlace = "before",
    reason_depth: Depth = None,
    concurrency: Concurrency = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prices: PriceTable = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what it would ask at most, and ask nothing")] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="RATE", help="exit with 1 where the kill rate of a check is below"),
    ] = None,
    show: Annotated[int, typer.Option(min=0, metavar="N", help="show N mutants that were not caught")] = 5,
    quiet: Quiet = False,
    form: FormatOption = ReportFormat.table,
) -> None:
    """Measure which planted faults a judge detects. The same command again judges only what is missing."""
    folders = library or []
    (definition,) = set_reason_depth([load_metric(metric, *folders)], reason_depth)
    model = require_judge(
        judge,
        base_url=base_url,
        temperature=temperature,
        seed=seed,
        timeout=timeout,
        max_items=max_items,
        reason=reason,
    )
    wishes: ProbeOptions = {
        "checks": [name.strip() for name in checks.split(",") if name.strip()] if checks else None,
        "limit": limit,
        "mutants": mutants,
        "repeats": repeats,
        "out": out,
        "built_on": add_dependencies([definition], *folders),
        "concurrency": concurrency,
        "max_calls": max_calls,
        "max_cost": max_cost,
        "prices": Prices.load(prices),
        "debug": bool(context.obj),
    }
    if dry_run:
        _print_forecast(definition, model, cases, wishes)
        return
    found = asyncio.run(_probe(definition, model, cases, wishes, ProgressBar(quiet=quiet)))
    if form is ReportFormat.json:
        typer.echo(found.model_dump_json(indent=2))
    elif not quiet:
        from greval.report.probe import render

        render(found, create_console(), show=show)
        print_failure_hints(Path(found.folder), found.failures, found.judge, found.why or "")
    _exit_with_status(found, fail_under)


async def _probe(metric: Metric, judge: Judge, cases: str | None, options: ProbeOptions, bar: ProgressBar) -> Probe:
    """Probe with a progress bar. The first Ctrl-C finishes calls in flight, the second stops immediately."""
    from greval.trust.probing.api import probe_async

    stop = asyncio.Event()
    stop_on_signals(stop)
    reading = read_cases(cases) if cases else None
    shown: ProbeOptions = {**options, "on_progress": bar.show, "on_result": bar.add_result}
    with bar:
        found = await probe_async(metric, judge, reading, stop=stop, **shown)
        if reading and (notice := reading.notice()):
            bar.print_line(notice)
    return found


def _print_forecast(metric: Metric, judge: Judge, cases: str | None, options: ProbeOptions) -> None:
    """Print the maximum number of calls of the probe, and their cost."""
    from greval.report.forecast import render
    from greval.trust.probing.api import forecast_probe

    render(forecast_probe(metric, judge, read_cases(cases) if cases else None, **options), create_console())


def _exit_with_status(found: Probe, fail_under: float | None) -> None:
    """Exit with an error code if the judge missed the threshold or the probe is incomplete."""
    from greval.runs.evaluation import STOP_REQUESTED as ASKED

    below = found.below(fail_under) if fail_under is not None else ()
    if below:
        typer.echo(f"below a kill rate of {fail_under:g}: {', '.join(below)}", err=True)
    if found.why:
        typer.echo(describe_stop(found.why), err=True)
    if below:
        raise typer.Exit(MISSED)
    if found.why or found.failures or found.unread:
        raise typer.Exit(STOPPED if found.why == ASKED else FAILED)
    if fail_under is not None and not found.measured:
        typer.echo(f"no check has a kill rate to hold against {fail_under:g}", err=True)
        raise typer.Exit(MISSED)
