"""`greval metrics`: list, show, check and draft metric definitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval.cli.completion import complete_metric
from greval.cli.options import Folders, JudgeName, JudgeOptions, Only, expand_groups, print_table
from greval.errors import DefinitionError
from greval.metrics.files import read_metric, write_metric
from greval.metrics.library import load_folder, load_metric, predefined
from greval.metrics.lint import lint_metric
from greval.records.case import Over
from greval.records.metric import JudgedMetric, Metric
from greval.records.scale import CategoricalScale, MeasureScale

if TYPE_CHECKING:
    from greval.judging.metric_draft import DraftScale

app = typer.Typer(help="List, show, check and draft metrics.", no_args_is_help=True)


@app.command("list")
def list_metrics(library: Folders = None) -> None:
    """List the predefined metrics and those of the given folders."""
    known = dict(predefined())
    for folder in library or ():
        known.update(load_folder(folder))
    print_table(
        ("metric", "judges", "needs", "scale", "description"),
        (
            (name, _name_judged_part(metric), _format_needs(metric), _format_scale(metric), metric.description)
            for name, metric in known.items()
        ),
    )


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(autocompletion=complete_metric, help="a name or a file")],
    library: Folders = None,
) -> None:
    """Print the definition of a metric as a file."""
    metric = load_metric(name, *(library or ()))
    if isinstance(metric, JudgedMetric):
        typer.echo(write_metric(metric), nl=False)
    else:
        typer.echo(f"name: {metric.name}\ndescription: {metric.description}\nneeds: [{_format_needs(metric)}]")
        typer.echo(f"scale: {_format_scale(metric)}\ncomputed: true")


@app.command("check")
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE_OR_DIR...", help="metric files or folders")],
) -> None:
    """Check metric files: report all faults, and remarks on what makes judging unreliable."""
    files = [file for path in paths for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]
    if not files:
        raise DefinitionError(f"{', '.join(map(str, paths))}: no metric file (*.yaml) found")
    faults: list[str] = []
    for file in files:
        try:
            metric = read_metric(file)
        except DefinitionError as error:
            faults.extend(error.faults)
            continue
        remarks_on = lint_metric(metric)
        typer.echo(f"{file}: {'good' if not remarks_on else 'good, with remarks'}")
        for remark in remarks_on:
            typer.echo(f"  {remark}")
    if faults:
        raise DefinitionError(*faults)


@app.command("draft")
@expand_groups
def draft(
    name: Annotated[str, typer.Argument(help="the metric's name")],
    description: Annotated[str, typer.Argument(help="what it judges, in a sentence")],
    *,
    scale: Annotated[
        str,
        typer.Option(metavar="SCALE", help="categorical, value (1 to 5), a range LOW..HIGH, or names: Good,Fair,Poor"),
    ] = "categorical",
    over: Annotated[Over | None, typer.Option(help="judge each of these by itself")] = None,
    judge: JudgeName = None,
    options: Annotated[JudgeOptions, Only(["base_url", "temperature"])],
) -> None:
    """Draft a complete metric with a model and print it. Review it before saving it as a file."""
    model = options.create_judge(judge)
    from greval.judging.metric_draft import draft as draft_metric

    metric = draft_metric(name, description, scale=_parse_scale(scale), over=over, judge=model)
    typer.echo(write_metric(metric), nl=False)
    typer.echo(f"# drafted with {model.label}: review it before use", err=True)
    for remark in lint_metric(metric):
        typer.echo(f"# {remark}", err=True)


def _parse_scale(scale: str) -> DraftScale:
    """Parse the option for the scale.

    Raises:
        typer.BadParameter: If it has none of the accepted forms.
    """
    if scale == "categorical":
        return "categorical"
    if scale == "value":
        return "value"
    low, dots, high = scale.partition("..")
    if dots and low.lstrip("-").isdigit() and high.lstrip("-").isdigit():
        return int(low), int(high)
    names = [name.strip() for name in scale.split(",") if name.strip()]
    if len(names) > 1:
        return names
    raise typer.BadParameter(f"{scale!r}: use categorical, value, LOW..HIGH or names such as Good,Fair,Poor")


def _name_judged_part(metric: Metric) -> str:
    return "computed" if metric.kind == "computed" else metric.over or "answer"


def _format_needs(metric: Metric) -> str:
    """Format the inputs of a metric: the case fields that it reads."""
    return ", ".join(metric.inputs)


def _format_scale(metric: Metric) -> str:
    """Format a scale in a few words."""
    scale = metric.scale
    if isinstance(scale, CategoricalScale):
        return ", ".join(scale.names)
    if isinstance(scale, MeasureScale):
        ends = "number" if scale.high is None else f"{scale.low:g} to {scale.high:g}"
        unit = f" ({scale.unit})" if scale.unit else ""
        return f"{ends}{unit}{', lower is better' if scale.better == 'lower' else ''}"
    step = f" by {scale.step:g}" if scale.step else ""
    return f"{scale.range[0]} to {scale.range[1]}{step}"
