"""`greval metrics`: list, show, check and draft metric definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.files import write_atomically
from greval._util.wording import format_count
from greval.cli import print_note
from greval.cli.completion import complete_metric
from greval.cli.judge_options import JudgeName, JudgeOptions
from greval.cli.metric_specs import load_named_metric
from greval.cli.options import Folders, Only, create_console, expand_groups, print_table, translate_write_errors
from greval.errors import DefinitionError
from greval.judging.model.prices import Prices
from greval.metrics.dependencies import list_dependency_names
from greval.metrics.file_check import CheckedMetric, check_metrics
from greval.metrics.files import write_metric
from greval.metrics.files.json_schema import write_file_schema
from greval.metrics.files.yaml_text import SCHEMA_FILE
from greval.metrics.library import FILE_SUFFIX, get_expected_name, predefined
from greval.records.case import Over
from greval.records.formula_metric import FileMetric
from greval.records.metric import JudgedMetric, Metric
from greval.records.result import Usage
from greval.records.scale import CategoricalScale, MeasureScale
from greval.report.tables import format_cost

if TYPE_CHECKING:
    from greval.judging.drafting.brief import DraftScale

MIN_WIDTH_FOR_SCALES = 110
"""On a narrower terminal the list leaves out scales, and what derived metrics build on; `metrics show` has both."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")

app = typer.Typer(help="List, show, check and draft metrics.", no_args_is_help=True)


@app.command("list")
def list_metrics(library: Folders = None) -> None:
    """List the predefined metrics and those of the given folders. A faulty file is a row too."""
    is_wide = create_console().width >= MIN_WIDTH_FOR_SCALES
    rows = {name: _build_row(metric, is_wide=is_wide) for name, metric in predefined().items()}
    faults: list[str] = []
    # The first folder goes before the others, as when a metric is used.
    for folder in reversed(library or ()):
        for checked in check_metrics(folder, *(library or ())):
            rows[checked.name] = (
                _build_row(checked.metric, is_wide=is_wide) if checked.metric else _build_faulty_row(checked)
            )
            faults.extend(checked.faults)
    columns = ["metric", "judges", "needs", "scale", "description"]
    if not is_wide:
        columns.remove("scale")
        rows = {name: (*row[:3], *row[4:]) for name, row in rows.items()}
    print_table(columns, rows.values())
    if faults:
        raise DefinitionError(*faults)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(autocompletion=complete_metric, help="a name, a file, or FILE.py:NAME")],
    library: Folders = None,
) -> None:
    """Print the definition of a metric as a file."""
    metric, _ = load_named_metric(name, library)
    if isinstance(metric, FileMetric):
        typer.echo(write_metric(metric), nl=False)
    else:
        typer.echo(f"name: {metric.name}\ndescription: {metric.description}\nneeds: [{', '.join(metric.inputs)}]")
        if names := list_dependency_names(metric):
            typer.echo(f"built_on: [{', '.join(names)}]")
        typer.echo(f"scale: {_format_scale(metric)}\ncomputed: true")


@app.command("check")
def check(
    paths: Annotated[
        list[str], typer.Argument(metavar="FILE_OR_DIR...", help="metric files, folders, or FILE.py:NAME")
    ],
    library: Folders = None,
) -> None:
    """Check metric files: report all faults, and remarks on what makes judging unreliable."""
    faults: list[str] = []
    for path in paths:
        for checked in check_metrics(path, *(library or ())):
            faults.extend(checked.faults)
            if checked.metric:
                _print_remarks(checked.place, [*checked.remarks, *_find_own_name(Path(path), checked.metric)])
    if faults:
        raise DefinitionError(*faults)


def _print_remarks(location: str, remarks: Sequence[str]) -> None:
    typer.echo(f"{location}: {'good, with remarks' if remarks else 'good'}")
    for remark in remarks:
        typer.echo(f"  {remark}")


def _find_own_name(file: Path, metric: Metric) -> Iterator[str]:
    """Find that a single file has another name than its metric, so that it is found by its path only."""
    if file.is_file() and file.suffix == FILE_SUFFIX and get_expected_name(file) != metric.name:
        yield f"name: is {metric.name!r}; in a folder, the file must be called {metric.name}{FILE_SUFFIX}"


def _build_row(metric: Metric, *, is_wide: bool) -> tuple[str, ...]:
    scale = _format_scale(metric)
    summary = _SENTENCE_END.split(metric.description.strip())[0]
    # Metrics that a judged one needs are added by themselves.
    names = list_dependency_names(metric) if is_wide and metric.kind == "computed" else ()
    return metric.name, _name_judged_part(metric), ", ".join((*metric.inputs, *names)), scale, summary


def _build_faulty_row(checked: CheckedMetric) -> tuple[str, ...]:
    more = f" (and {len(checked.faults) - 1} more)" if len(checked.faults) > 1 else ""
    return checked.name, "faulty", "", "", f"{checked.faults[0]}{more}"


@app.command("draft")
@expand_groups
def draft(  # noqa: PLR0913 - the options of a command
    name: Annotated[str, typer.Argument(help="the metric's name")],
    description: Annotated[str, typer.Argument(help="what it judges, in a sentence")],
    *,
    scale: Annotated[
        str,
        typer.Option(
            metavar="SCALE", help="categorical, value (1 to 5), a range LOW..HIGH, or names, best first: Good,Fair,Poor"
        ),
    ] = "categorical",
    over: Annotated[Over | None, typer.Option(help="judge each of these by itself")] = None,
    judge: JudgeName = None,
    try_out: Annotated[
        bool,
        typer.Option("--check/--no-check", help="try the draft on good and bad examples that the model makes up"),
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="write it to this file or folder, with its JSON schema beside"
        ),
    ] = None,
    options: Annotated[JudgeOptions, Only(["base_url", "temperature", "judge_options"])],
) -> None:
    """Draft a complete metric with a model, and print it or write it to a file. Review it before use."""
    # Before a model is paid for.
    file = _choose_draft_file(name, out) if out else None
    model = options.create_judge(judge)
    from greval.judging.metric_draft import write_draft

    metric_draft = write_draft(name, description, scale=_parse_scale(scale), over=over, judge=model, check=try_out)
    if file:
        _write_draft(file, metric_draft.metric)
    else:
        typer.echo(write_metric(metric_draft.metric), nl=False)
    print_note(f"# drafted with {model.label}: review it before use")
    print_note(f"# {_format_draft_cost(model.label, metric_draft.usage)}")
    if metric_draft.is_good:
        print_note("# good: no remark is left, and each good example that it was tried on got more than the bad one")
    elif not metric_draft.is_tried:
        print_note("# not tried on examples (--no-check)")
    if metric_draft.remarks:
        print_note(f"# {format_count(len(metric_draft.remarks), 'remark')} left, which you can mend in the file:")
    for remark in metric_draft.remarks:
        print_note(f"# {remark}")


def _choose_draft_file(name: str, out: Path) -> Path:
    """Return the file of a new metric, before a model is called for it.

    Raises:
        typer.BadParameter: If it is there already, is no metric file, or its folder is missing.
    """
    file = out / f"{name}{FILE_SUFFIX}" if out.is_dir() else out
    if file.suffix != FILE_SUFFIX:
        raise typer.BadParameter(f"-o {out}: a metric file ends in {FILE_SUFFIX}; write -o {name}{FILE_SUFFIX}")
    if not file.parent.is_dir():
        raise typer.BadParameter(f"-o {out}: there is no folder {file.parent}; create it first")
    if file.exists():
        raise typer.BadParameter(f"-o {out}: {file} exists; choose another name, or remove it first")
    return file


def _write_draft(file: Path, metric: JudgedMetric) -> None:
    """Write a metric file, and beside it the JSON schema that its first line names for editors."""
    schema = file.with_name(SCHEMA_FILE)
    with translate_write_errors(file):
        if not schema.exists():
            write_atomically(schema, write_file_schema())
        write_atomically(file, write_metric(metric))
    typer.echo(f"{file}: written, with {schema.name} beside it for editors")


def _format_draft_cost(label: str, usage: Usage) -> str:
    """Format what all calls for a draft cost."""
    tokens = f"{usage.input_tokens or 0:,} input tokens, {usage.output_tokens or 0:,} output tokens"
    cost = format_cost(Prices.load().cost(label, usage))
    return f"spent: {format_count(usage.calls, 'call')}, {tokens}, cost {cost}"


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
    """Return which part of a case is judged, or how a metric without a judge comes to its values."""
    if metric.kind == "computed":
        return "derived" if metric.dependency_places else "computed"
    return (metric.over or "answer").removeprefix("expected_")


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
