"""`greval align`: improve a metric from its disagreements with people, or report that nothing helped."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from greval.cli import FAILED, STOPPED, print_note
from greval.cli.completion import complete_metric
from greval.cli.help_layout import input_option, judge_option, output_option
from greval.cli.judge_options import CapOptions, JudgeNames, JudgeOptions, require_judged
from greval.cli.metric_specs import load_named_metric
from greval.cli.options import (
    AnnotationFiles,
    Concurrency,
    DryRun,
    Folders,
    LabelColumns,
    Level,
    Only,
    ReportFormat,
    expand_groups,
    print_report,
)
from greval.cli.progress_bar import describe_stop, stop_on_signals
from greval.errors import StoppedError

if TYPE_CHECKING:
    from greval.records.metric import Metric
    from greval.runs.judges import JudgeModel
    from greval.trust.alignment.api import AlignOptions
    from greval.trust.alignment.records import Alignment, AlignStrategy


SETTINGS = Only(field for field in JudgeOptions._fields if field not in {"seed", "reason_depth", "confidence"})


@expand_groups
def align(  # noqa: PLR0913 - the options of a command
    metric: Annotated[str, typer.Argument(autocompletion=complete_metric, help="a metric, by name or file")],
    *,
    run: Annotated[Path, input_option("--run", metavar="RUN", help="the run folder that people annotated")],
    annotations: AnnotationFiles = None,
    label_column: LabelColumns = None,
    judge: JudgeNames = None,
    writer: Annotated[
        str | None, judge_option(metavar="MODEL", help="the model that writes texts and reasons; the judge by default")
    ] = None,
    out: Annotated[
        Path | None,
        output_option("--out", "-o", metavar="NEW.yaml", help="the new file; RUN/align/NAME.yaml by default"),
    ] = None,
    ways: Annotated[str, input_option(metavar="WAY,WAY", help="what to try")] = "examples,rewrite",
    folds: Annotated[int, input_option(min=2, metavar="N", help="the number of folds for the labels")] = 5,
    choosing: Annotated[
        int,
        input_option(min=1, metavar="N", help="the maximum number of labels that choose between the ways in each fold"),
    ] = 60,
    limit: Annotated[int | None, input_option(min=1, metavar="N", help="use only N labelled items")] = None,
    seed: Annotated[int, input_option(metavar="N", help="the random seed for folds and samples of labels")] = 0,
    level: Level = 0.95,
    work: Annotated[
        Path | None, output_option(metavar="DIR", help="the folder of the judgements; RUN/align by default")
    ] = None,
    library: Folders = None,
    concurrency: Concurrency = None,
    settings: Annotated[JudgeOptions, SETTINGS],
    caps: CapOptions,
    dry_run: DryRun = False,
    form: ReportFormat = "table",
) -> None:
    """Improve a metric from its disagreements with people. A new metric is written only if it is a sure improvement."""
    from greval.report.align import render, render_forecast
    from greval.runs.judges import choose_judge
    from greval.trust.alignment.api import forecast_align

    defined, built_on = load_named_metric(metric, library)
    require_judged(defined, "aligned")
    default, judges = settings.build_config(judge).create_judges(built_on)
    model = choose_judge(defined, default, judges)
    options: AlignOptions = {
        "out": out,
        "ways": cast("list[AlignStrategy]", [way.strip() for way in ways.split(",") if way.strip()]),
        "writer": settings.create_judge(writer) if writer else None,
        "folds": folds,
        "choosing": choosing,
        "limit": limit,
        "seed": seed,
        "level": level,
        "label_columns": label_column or (),
        "work": work,
        "concurrency": concurrency,
        "on_told": print_note,
        "max_calls": caps.max_calls,
        "max_cost": caps.max_cost,
        "prices": caps.read_prices(),
    }
    if out and out.is_dir():
        raise typer.BadParameter(f"-o {out}: is a folder; name the file of the new metric in it")
    if dry_run:
        print_report(forecast_align(run, defined, model, annotations or None, **options), form, render_forecast)
    else:
        print_report(asyncio.run(_align(run, defined, model, annotations or None, options)), form, render)


async def _align(
    run: Path, metric: Metric, judge: JudgeModel, annotations: list[Path] | None, options: AlignOptions
) -> Alignment:
    """Align the metric and print each step. The first Ctrl-C finishes calls in flight."""
    from greval.runs.evaluation import STOP_REQUESTED as ASKED
    from greval.trust.alignment.api import align_async

    try:
        return await align_async(run, metric, judge, annotations, stop=stop_on_signals(), **options)
    except StoppedError as error:
        print_note(describe_stop(str(error)))
        raise typer.Exit(STOPPED if str(error) == ASKED else FAILED) from error
