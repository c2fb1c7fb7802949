"""`greval duel`: judge the answers of several methods head to head, and print which is preferred."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from greval.analysis.duel.api import summarise_duel
from greval.analysis.duel.schedule import PairSchedule, WidthGoal
from greval.cli.batch import print_submitted
from greval.cli.console import print_note
from greval.cli.evaluate import judge_cases, print_forecast, report_and_exit
from greval.cli.help_layout import input_option, judge_option, limit_option, output_option
from greval.cli.metric_specs import load_named_metrics
from greval.cli.options import (
    Cache,
    CapOptions,
    ClusterBy,
    Concurrency,
    Correction,
    Deadline,
    DryRun,
    Folders,
    JudgeNames,
    JudgeOptions,
    Level,
    OptionalMetricNames,
    Quiet,
    Repeats,
    ReportFormat,
    RetryFailed,
    StoreCalls,
    expand_groups,
    list_given_options,
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

UNBATCHED = ("concurrency", "until_width", "retry_failed", "cache", "store_calls", "max_calls", "max_cost", "deadline")
"""The options that a batch cannot keep, by their names in Python."""


@expand_groups
def duel(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
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
    until_width: Annotated[
        float | None,
        limit_option(
            metavar="W",
            help="judge only until the interval of each win rate is at most W wide, such as 0.2; questions in "
            "arbitrary order",
        ),
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
    batch: Annotated[
        bool,
        judge_option(
            "--batch", help="submit the requests as a batch; `greval batch collect RUN` judges with the replies"
        ),
    ] = False,
    cluster_by: ClusterBy = None,
    correction: Correction = "bonferroni",
    level: Level = 0.95,
    form: ReportFormat = "table",
    quiet: Quiet = False,
) -> None:
    """Judge the answers of methods head to head, and rank the methods. Again, it judges only what is missing."""
    from greval.runs.duels import (
        check_preferences,
        find_duel_folder,
        find_pair_remarks,
        list_case_keys,
        list_pairs,
        read_responses,
        split_method_names,
    )

    metrics = load_named_metrics(metric, library).metrics if metric else ()
    names = [definition.name for definition in metrics]
    folder = find_duel_folder(run, out)
    finished = None
    if metrics:
        check_preferences(metrics)
        model, judges = settings.build_config(judge).create_judges(metrics)
        cases, faults = read_responses(run)
        chosen = split_method_names(methods or (), cases)
        pairs = list_pairs(cases, metrics, chosen, limit=limit, source=run)
        print_note("\n".join(find_pair_remarks(list_case_keys(cases), chosen)))
        schedule = None
        if until_width is not None:
            goal = WidthGoal(until_width, cluster_by, level)
            schedule = PairSchedule.resume(pairs, names, goal, folder)
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
            # How many pairs are judged until the intervals are narrow enough is not known.
            "total": None if schedule else len(faults) + len(pairs),
        }
        if batch and not dry_run:
            from greval.runs.batch import submit

            _refuse_unbatched_options(context)
            sending = submit(
                [*faults, *pairs],
                metrics,
                model,
                out=folder,
                judges=judges,
                repeats=repeats,
                reason_depth=settings.reason_depth,
            )
            print_submitted(asyncio.run(sending), folder)
            return
        if dry_run:
            from greval.runs.forecast import forecast

            print_forecast(forecast(chain(faults, pairs), metrics, model, out=folder, **options))
            if schedule:
                typer.echo("at most: judging ends when the win rates are known (--until-width)")
            return
        bar = ProgressBar(quiet=quiet, json=False, also=schedule.add_result if schedule else None)
        reading = read_records(chain(faults, schedule or pairs))
        judging = partial(_judge_pairs, reading, metrics, model, folder, options)
        finished = asyncio.run(judge_cases(judging, bar, CaseInput(reading, iter(()))))
        if schedule and not quiet:
            print_note("\n".join(schedule.describe()))
    if not quiet:
        summary = summarise_duel(folder, names, cluster_by=cluster_by, correction=correction, level=level)
        print_report(summary, form, render)
    if finished:
        report_and_exit(finished.run, by=(), show=0, quiet=True)


def _refuse_unbatched_options(context: typer.Context) -> None:
    """Raise `typer.BadParameter` if an option was given that a batch cannot keep."""
    if options := list_given_options(context, UNBATCHED):
        raise typer.BadParameter(f"{', '.join(options)}: a batch sends all requests at once; leave it out with --batch")


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
