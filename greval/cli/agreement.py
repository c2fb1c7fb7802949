"""`greval agreement`: agreement of a run's judge with people, with its upper and lower reference values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from greval.cli.options import (
    By,
    Floors,
    LabelOptions,
    Level,
    ReportFormat,
    RunFolder,
    exit_if_off_scale,
    expand_groups,
    print_report,
)
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store

TreatAs = Annotated[
    Literal["categories", "unordered", "numbers"] | None,
    typer.Option(
        help="how values are compared: levels by default as numbers, two of them as categories; unordered leaves the "
        "order of categories out"
    ),
]


@expand_groups
def agreement(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    labels: LabelOptions,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="METRIC",
            help="the metric that people judged as well; not needed if it is the only one",
        ),
    ] = None,
    by: By = None,
    people: Annotated[
        Literal["majority", "mean", "each"] | None,
        typer.Option(
            help="how several people are combined; by default the majority of categories, the mean of numbers"
        ),
    ] = None,
    treat_as: TreatAs = None,
    floor: Floors = None,
    level: Level = 0.95,
    form: ReportFormat = "table",
) -> None:
    """Measure how far the judge of a run agrees with people."""
    from greval.report.agreement import render
    from greval.trust.agreement.api import agreement as agreed

    figures = agreed(
        run,
        metric or _find_only_metric(run),
        labels.list_files(run),
        label_columns=labels.label_column or (),
        combine=people,
        treat_as=treat_as,
        by=by or (),
        floors=floor or (),
        level=level,
    )
    print_report(figures, form, render)
    exit_if_off_scale(figures.warnings)


def _find_only_metric(run: Path) -> str:
    """Return the metric of a run that has one; raise `typer.BadParameter` if it has several."""
    with Store.open(run) as store:
        metrics = [*read_metrics(store)]
    if len(metrics) != 1:
        raise typer.BadParameter(
            f"name the metric that people judged as well: -m {' or -m '.join(metrics) or 'METRIC'}"
        )
    return metrics[0]
