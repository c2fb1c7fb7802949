"""`greval panel`: agreement of several judges on the same cases, and their combined verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from greval.cli.agreement import TreatAs
from greval.cli.options import By, Floors, LabelColumns, Level, ReportFormat, exit_if_off_scale, print_report

if TYPE_CHECKING:
    from greval.trust.panels.api import PanelOptions


def panel(  # noqa: PLR0913 - the options of a command
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="run folders on the same cases, one for each judge")
    ],
    *,
    metric: Annotated[str, typer.Option("--metric", "-m", metavar="METRIC", help="the metric that all judges used")],
    annotations: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="a file of annotations, repeatable; by default those in the run folders"),
    ] = None,
    label_column: LabelColumns = None,
    by: By = None,
    combine: Annotated[
        Literal["majority", "median", "mean"] | None,
        typer.Option(help="the panel's verdict; by default the majority of categories, the median of numbers"),
    ] = None,
    treat_as: TreatAs = None,
    floor: Floors = None,
    level: Level = 0.95,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="write the panel's verdicts as annotations, .jsonl or .csv"),
    ] = None,
    form: ReportFormat = "table",
) -> None:
    """Compare several judges on the same cases. An outlier is named."""
    from greval.report.panel import render
    from greval.trust.annotations.files import write_annotations
    from greval.trust.panels.api import panel as compare_judges
    from greval.trust.panels.api import panel_annotations

    options: PanelOptions = {
        "annotations": annotations or None,
        "label_columns": label_column or (),
        "combine": combine,
        "treat_as": treat_as,
        "by": by or (),
        "floors": floor or (),
        "level": level,
    }
    comparison = compare_judges(runs, metric, **options)
    if out:
        write_annotations(panel_annotations(runs, metric, **options), out)
    print_report(comparison, form, render)
    exit_if_off_scale(comparison.warnings)
