"""`greval probe`: measure which planted faults a judge detects; no labels are needed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval.cli import FAILED, MISSED, STOPPED, print_note
from greval.cli.completion import complete_metric
from greval.cli.help_layout import input_option, output_option
from greval.cli.judge_options import CapOptions, JudgeNames, JudgeOptions, require_judged
from greval.cli.metric_specs import load_named_metric
from greval.cli.options import (
    Columns,
    Concurrency,
    DryRun,
    Folders,
    Only,
    Quiet,
    ReportFormat,
    create_console,
    expand_groups,
    parse_columns,
    print_report,
)
from greval.cli.progress_bar import ProgressBar, describe_stop, stop_on_signals
from greval.cli.report_output import print_failure_hints
from greval.datasets.case_reader import CaseReader, read_cases
from greval.judging.model.judge import Judge
from greval.records.metric import Metric, set_reason_depth

if TYPE_CHECKING:
    from greval.trust.probing.records import Probe
    from greval.trust.probing.stages import ProbeOptions


SETTINGS = Only(["base_url", "temperature", "seed", "judge_options", "timeout", "max_items", "reason", "reason_depth"])


@expand_groups
def probe(  # noqa: PLR0913 - the options of a command
    metric: Annotated[
        str, typer.Argument(autocompletion=complete_metric, help="a judged metric, by its name or its file")
    ],
    *,
    cases: Annotated[
        str | None, input_option("--cases", metavar="FILE", help="cases with good answers; shipped ones by default")
    ] = None,
    column: Columns = None,
    judge: JudgeNames = None,
    checks: Annotated[
        str | None,
        input_option(metavar="NAMES", help="names such as repeats,padded,injected; by default all that fit the metric"),
    ] = None,
    limit: Annotated[int, input_option(min=1, metavar="N", help="probe only the first N cases that fit")] = 20,
    mutants: Annotated[
        int, input_option(min=1, metavar="N", help="the number of variants of each case for each check")
    ] = 1,
    repeats: Annotated[
        int, input_option(min=1, metavar="N", help="the number of times that the unchanged cases are judged")
    ] = 3,
    out: Annotated[
        Path | None, output_option("--out", "-o", metavar="RUN", help="the run folder; runs/probe-METRIC by default")
    ] = None,
    library: Folders = None,
    settings: Annotated[JudgeOptions, SETTINGS],
    concurrency: Concurrency = None,
    caps: CapOptions,
    dry_run: DryRun = False,
    fail_under: Annotated[
        float | None,
        output_option(min=0, max=1, metavar="RATE", help="exit with 1 if the kill rate of a check is lower"),
    ] = None,
    show: Annotated[int, output_option(min=0, metavar="N", help="show N mutants that were not caught")] = 5,
    quiet: Quiet = False,
    form: ReportFormat = "table",
) -> None:
    """Measure which planted faults a judge detects. The same command again judges only what is missing."""
    loaded, built_on = load_named_metric(metric, library)
    (definition,) = set_reason_depth([loaded], settings.reason_depth)
    require_judged(definition, "probed")
    model, judges = settings.build_config(judge).create_judges(built_on)
    options: ProbeOptions = {
        "checks": [name.strip() for name in checks.split(",") if name.strip()] if checks else None,
        "limit": limit,
        "mutants": mutants,
        "repeats": repeats,
        "out": out,
        "built_on": built_on,
        "judges": judges,
        "concurrency": concurrency,
        "max_calls": caps.max_calls,
        "max_cost": caps.max_cost,
        "prices": caps.read_prices(),
    }
    reading = read_cases(cases, columns=parse_columns(column)) if cases else None
    if dry_run:
        _print_forecast(definition, model, reading, options)
        return
    probe_result = asyncio.run(_probe(definition, model, reading, options, ProgressBar(quiet=quiet)))
    if form == "json" or not quiet:
        from greval.report.probe import render

        print_report(probe_result, form, render, show=show)
    if form == "table" and not quiet:
        print_failure_hints(
            Path(probe_result.folder), probe_result.failures, probe_result.judge, probe_result.why or ""
        )
    _exit_with_status(probe_result, fail_under)


async def _probe(
    metric: Metric, judge: Judge | None, reading: CaseReader | None, options: ProbeOptions, bar: ProgressBar
) -> Probe:
    """Probe with a progress bar. The first Ctrl-C finishes calls in flight, the second stops immediately."""
    from greval.trust.probing.api import probe_async

    stop = stop_on_signals()
    options_with_progress: ProbeOptions = {**options, "on_progress": bar.show, "on_result": bar.add_result}
    with bar:
        probe_result = await probe_async(metric, judge, reading, stop=stop, **options_with_progress)
        if reading and (notice := reading.notice()):
            bar.print_line(notice)
    return probe_result


def _print_forecast(metric: Metric, judge: Judge | None, reading: CaseReader | None, options: ProbeOptions) -> None:
    """Print the maximum number of calls of the probe, and their cost."""
    from greval.report.forecast import render
    from greval.trust.probing.api import forecast_probe

    render(forecast_probe(metric, judge, reading, **options), create_console())


def _exit_with_status(probe_result: Probe, fail_under: float | None) -> None:
    """Exit with an error code if the judge missed the threshold or the probe is incomplete."""
    from greval.runs.evaluation import STOP_REQUESTED as ASKED

    below = probe_result.below(fail_under) if fail_under is not None else ()
    if below:
        print_note(f"below a kill rate of {fail_under:g}: {', '.join(below)}")
    if probe_result.why:
        print_note(describe_stop(probe_result.why))
    if below:
        raise typer.Exit(MISSED)
    if probe_result.why or probe_result.failures or probe_result.unread:
        raise typer.Exit(STOPPED if probe_result.why == ASKED else FAILED)
    # A gate must not pass because nothing was measured.
    if fail_under is not None and not probe_result.measured:
        print_note(f"no check has a kill rate to compare with {fail_under:g}")
        raise typer.Exit(MISSED)
