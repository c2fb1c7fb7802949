"""`greval duel`: judge the answers of several methods head to head, and print which is preferred."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from greval.analysis.duel.api import summarise_duel
from greval.cli import print_note
from greval.cli.evaluate import judge_cases, print_forecast, report_and_exit
from greval.cli.help_layout import input_option, output_option
from greval.cli.judge_options import CapOptions, JudgeNames, JudgeOptions
from greval.cli.metric_specs import load_named_metrics
from greval.cli.options import (
    Cache,
    ClusterBy,
    Concurrency,
    Correction,
    Deadline,
    DryRun,
    Folders,
    Level,
    OptionalMetricNames,
    Quiet,
    Repeats,
    ReportFormat,
    RetryFailed,
    StoreCalls,
    expand_groups,
    print_report,
)
from greval.cli.progress_bar import ProgressBar
from greval.datasets.case_reader import CaseReader
from greval.datasets.case_records import read_records
from greval.records.metric import Metric
from greval.report.duel import render
from greval.runs.config.run_input import CaseInput

if TYPE_CHECKING:
    from greval.judging.model.judge import Judge
    from greval.runs.config.api import Evaluation
    from greval.runs.options import EvaluateOptions


@expand_groups
def duel(  # noqa: PLR0913 - the options of a command
    run: Annotated[
        Path, typer.Argument(help="a run folder, or a file of cases of several methods; without -m it is only reported")
    ],
    *,
    metric: OptionalMetricNames = None,
    methods: Annotated[
        list[str] | None,
        input_option(
            metavar="A,B,...",
            help="the methods to compare, all by default; once for each method if names contain commas",
        ),
    ] = None,
    judge: JudgeNames = None,
    out: Annotated[
        Path | None,
        output_option("--out", "-o", metavar="RUN", help="the folder of the results; RUN itself by default"),
    ] = None,
    concurrency: Concurrency = None,
    limit: Annotated[
        int | None, input_option(min=1, metavar="N", help="only the first N questions with two answers")
    ] = None,
    repeats: Repeats = 1,
    library: Folders = None,
    settings: JudgeOptions,
    retry_failed: RetryFailed = True,
    cache: Cache = False,
    store_calls: StoreCalls = True,
    caps: CapOptions,
    deadline: Deadline = None,
    dry_run: DryRun = False,
    cluster_by: ClusterBy = None,
    correction: Correction = "bonferroni",
    level: Level = 0.95,
    form: ReportFormat = "table",
    quiet: Quiet = False,
) -> None:
    """Judge the answers of methods head to head, and rank the methods. Again, it judges only what is missing."""
    from greval.analysis.duel.judging import read_duel
    from greval.runs.duels import check_preferences, find_duel_folder

    metrics = load_named_metrics(metric, library).metrics if metric else ()
    names = [definition.name for definition in metrics]
    folder = find_duel_folder(run, out)
    finished = None
    if metrics:
        check_preferences(metrics)
        model, judges = settings.build_config(judge).create_judges(metrics)
        pairs, remarks = read_duel(run, metrics, methods or (), limit)
        print_note("\n".join(remarks))
        options: EvaluateOptions = {
            "judges": judges,
            "concurrency": concurrency,
            "repeats": repeats,
            "reason_depth": settings.reason_depth,
            "retry_failed": retry_failed,
            "deadline": deadline,
            "cache": cache,
            "store_calls": store_calls,
            "max_calls": caps.max_calls,
            "max_cost": caps.max_cost,
            "prices": caps.read_prices(),
            "total": len(pairs),
        }
        if dry_run:
            from greval.runs.forecast import forecast

            print_forecast(forecast(pairs, metrics, model, out=folder, **options), model)
            return
        reading = read_records(pairs)
        judging = partial(_judge_pairs, reading, metrics, model, folder, options)
        finished = asyncio.run(judge_cases(judging, ProgressBar(quiet=quiet), CaseInput(reading, iter(()))))
    if not quiet:
        summary = summarise_duel(folder, names, cluster_by=cluster_by, correction=correction, level=level)
        print_report(summary, form, render)
    if finished:
        report_and_exit(finished.run, by=(), show=0, quiet=True)


async def _judge_pairs(
    pairs: CaseReader,
    metrics: Sequence[Metric],
    model: Judge | None,
    folder: Path,
    options: EvaluateOptions,
    *,
    stop: asyncio.Event,
    **hooks: Unpack[EvaluateOptions],
) -> Evaluation:
    from greval.runs.config.api import Evaluation
    from greval.runs.evaluation import evaluate_async

    return Evaluation(await evaluate_async(pairs, metrics, model, out=folder, stop=stop, **(options | hooks)))
