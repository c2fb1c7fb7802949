"""`greval estimate`: estimate what people would say about all judged items, from labels of some of them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from greval.cli.options import (
    LabelOptions,
    Level,
    OtherTags,
    ReportFormat,
    RunFolder,
    exit_if_off_scale,
    expand_groups,
    print_report,
)


@expand_groups
def estimate(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    labels: LabelOptions,
    metric: Annotated[str, typer.Option("--metric", "-m", metavar="METRIC", help="the metric that was labelled")],
    by: OtherTags = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="also estimate the difference of each other method from this one"),
    ] = None,
    drawn_by: Annotated[
        Literal["items", "questions"] | None,
        typer.Option(help="the sampling unit of the annotation; by default it is derived from the labels"),
    ] = None,
    new_questions: Annotated[
        bool, typer.Option("--new-questions", help="intervals for new questions like these, not for this run only")
    ] = False,
    floor: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="a computed metric to use beside the judge; by default shared words"),
    ] = None,
    level: Level = 0.95,
    form: ReportFormat = "table",
) -> None:
    """Estimate what people would say about all judged items. The interval includes the judge's error."""
    from greval.report.estimates import render
    from greval.trust.estimates.api import estimate as estimated

    estimates = estimated(
        run,
        metric,
        labels.list_files(run),
        label_columns=labels.label_column or (),
        by=by or (),
        baseline=baseline,
        drawn_by=drawn_by,
        new_questions=new_questions,
        floor=floor,
        level=level,
    )
    print_report(estimates, form, render)
    exit_if_off_scale(estimates.warnings)
