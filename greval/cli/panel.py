"""`greval panel`: agreement of several judges on the same cases, and their combined verdicts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval.cli.agreement import TreatAs
from greval.cli.options import By, FormatOption, Level, ReportFormat, create_console

if TYPE_CHECKING:
    from greval.trust.panels.api import PanelOptions


class CombineJudges(StrEnum):
    """The way in which the verdicts of the judges are combined."""

    majority = "majority"
    median = "median"
    mean = "mean"


def panel(  # noqa: PLR0913 - the options of a command
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="run folders over the same cases, one a judge")],
    *,
    metric: Annotated[str, typer.Option("--metric", "-m", metavar="METRIC", help="the metric that all judged by")],
    annotations: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="what people said, may be given often; else what the run folders hold"),
    ] = None,
    by: By = None,
    combine: Annotated[
        CombineJudges | None,
        typer.Option(help="the panel's verdict; default: majority of categories, median of numbers"),
    ] = None,
    treat_as: Annotated[
        TreatAs | None,
        typer.Option(help="how the levels of a value scale are compared; default: two as categories, more as numbers"),
    ] = None,
    level: Level = 0.95,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="write the panel's verdicts as annotations, .jsonl or .csv"),
    ] = None,
    form: FormatOption = ReportFormat.table,
) -> None:
    """Compare several judges on the same cases, and identify outliers."""
    from greval.report.panel import render
    from greval.trust.annotations import write_annotations
    from greval.trust.panels import panel as held
    from greval.trust.panels import panel_annotations

    wishes: PanelOptions = {
        "annotations": annotations or None,
        "combine": combine.value if combine else None,
        "treat_as": treat_as.value if treat_as else None,
        "by": by or (),
        "level": level,
    }
    found = held(runs, metric, **wishes)
    if out:
        write_annotations(panel_annotations(runs, metric, **wishes), out)
    if form is ReportFormat.table:
        render(found, create_console())
    else:
        typer.echo(found.model_dump_json(indent=2))
