"""`greval agreement`: agreement of a run's judge with people, with its upper and lower reference values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from greval.cli.options import (
    AnnotationFiles,
    By,
    FormatOption,
    Level,
    ReportFormat,
    RunFolder,
    create_console,
)


class TreatAs(StrEnum):
    """The way in which the levels of a value scale are compared."""

    categories = "categories"
    numbers = "numbers"


class CombinePeople(StrEnum):
    """The way in which the judgements of several people are combined."""

    majority = "majority"
    mean = "mean"
    each = "each"


def agreement(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    metric: Annotated[str, typer.Option("--metric", "-m", metavar="METRIC", help="the metric that people valued too")],
    annotations: AnnotationFiles = None,
    by: By = None,
    people: Annotated[
        CombinePeople | None,
        typer.Option(help="what stands for several people; default: majority of categories, mean of numbers"),
    ] = None,
    treat_as: Annotated[
        TreatAs | None,
        typer.Option(help="how the levels of a value scale are compared; default: two as categories, more as numbers"),
    ] = None,
    level: Level = 0.95,
    form: FormatOption = ReportFormat.table,
) -> None:
    """Measure how far the judge of a run agrees with people."""
    from greval.report.agreement import render
    from greval.trust.agreement import agreement as agreed

    found = agreed(
        run,
        metric,
        annotations or None,
        combine=people.value if people else None,
        treat_as=treat_as.value if treat_as else None,
        by=by or (),
        level=level,
    )
    if form is ReportFormat.table:
        render(found, create_console())
    else:
        typer.echo(found.model_dump_json(indent=2))
