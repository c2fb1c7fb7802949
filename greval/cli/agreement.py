"""`greval agreement`: how far a run's judge agrees with people, with the ceiling and the floor beside it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from greval.cli.options import By, page
from greval.cli.run import ReportFormat


class TreatAs(StrEnum):
    """How the levels of a value scale are compared."""

    categories = "categories"
    numbers = "numbers"


class People(StrEnum):
    """What stands for several people."""

    majority = "majority"
    mean = "mean"
    each = "each"


def agreement(  # noqa: PLR0913 - the options of a command
    run: Annotated[Path, typer.Argument(help="a run folder")],
    *,
    metric: Annotated[str, typer.Option("--metric", "-m", metavar="METRIC", help="the metric that people valued too")],
    annotations: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="CSV or JSON lines of annotations, may be given often; else those in the run's folder",
        ),
    ] = None,
    by: By = None,
    people: Annotated[
        People | None,
        typer.Option(help="what stands for several people; default: majority of categories, mean of numbers"),
    ] = None,
    treat_as: Annotated[
        TreatAs | None,
        typer.Option(help="how the levels of a value scale are compared; default: two as categories, more as numbers"),
    ] = None,
    level: Annotated[float, typer.Option(metavar="SHARE", help="of the intervals")] = 0.95,
    format: Annotated[ReportFormat, typer.Option(help="for people or for programs")] = ReportFormat.table,  # noqa: A002
) -> None:
    """Say how far the judge of a run agrees with people."""
    from greval.agreement import agreement as agreed  # noqa: PLC0415 - only where it is asked for
    from greval.report.agreement import render  # noqa: PLC0415

    found = agreed(
        run,
        metric,
        annotations or None,
        combine=people.value if people else None,
        treat_as=treat_as.value if treat_as else None,
        by=by or (),
        level=level,
    )
    if format is ReportFormat.table:
        render(found, page())
    else:
        typer.echo(found.model_dump_json(indent=2))
