"""`greval import`: take verdicts that were given elsewhere into a run folder, and print the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from greval._util.wording import format_count, format_names
from greval.cli import print_note
from greval.cli.evaluate import report_and_exit
from greval.cli.options import Columns, Folders, MethodName, Quiet, parse_columns, print_row_faults
from greval.datasets.file_identity import UNKNOWN_SOURCE, identify_file
from greval.datasets.labelled_rows import LABEL_NAMES, VALUE, read_labelled_rows
from greval.datasets.row_sources import STDIN
from greval.errors import DataError
from greval.metrics.dependencies import list_dependency_names
from greval.metrics.scale_text import PAIR, UNORDERED, build_scale_metric
from greval.metrics.sources import load_metrics
from greval.records.case import Over
from greval.records.metric import Metric
from greval.records.scale import CategoricalScale, Scale
from greval.runs.run_folder import choose_folder

DEFAULT_NAME = "verdict"
MAX_VALUES = 12
WHICH_SCALE = (
    "say what the verdicts are of: -m METRIC for a metric of greval or a file, "
    "or --scale 0..3 --name NAME for any other"
)


def import_verdicts(  # noqa: PLR0913 - the options of a command
    verdicts: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="verdicts as .csv, .tsv, .json, .jsonl or .parquet, one a row, or - for stdin"
        ),
    ],
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", metavar="METRIC", help="the metric that the verdicts are of: a name or a file; repeatable"
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="SCALE",
            help="the scale, if there is no metric: 0..3, 0.0..1.0 (any number between), 0..3:0.5, yes/no, "
            "full=1/partly=0.5/none=0 (best first), 'red|green|blue' (no order)",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="the name of the metric with --scale; repeatable, one for each column"),
    ] = None,
    over: Annotated[
        Over | None,
        typer.Option(help="with --scale: each verdict is of one of these items, by its id"),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="NAME", help="who gave the verdicts; by default the name of the file")
    ] = None,
    cases: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the cases, joined by id, if the file does not hold them")
    ] = None,
    method: MethodName = None,
    column: Columns = None,
    library: Folders = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="RUN", help="the run folder; runs/NAME by default")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Import verdicts that were given elsewhere as a run. They may be of another tool, of people or of a judge.

    What reads a run reads them: report, compare, agreement, estimate, panel. Importing a file again changes nothing.
    """
    from greval.runs.importing.api import import_verdicts as import_file

    columns = parse_columns(column)
    if not metric and not scale:
        raise typer.BadParameter(f"{WHICH_SCALE}{_describe_values(verdicts, columns)}")
    metrics = _load_metrics(metric, scale, name, over, library)
    if not quiet:
        print_note(_describe_assumed_order(metrics[0].scale if scale else None))
    unread: list[str] = []
    origin = UNKNOWN_SOURCE if verdicts == STDIN else identify_file(Path(verdicts))
    run = import_file(
        verdicts,
        metrics,
        out=out or choose_folder(verdicts, origin, print_note),
        judge=judge,
        cases=cases,
        method=method,
        columns=columns,
        on_note=lambda note: None if quiet else print_note(note),
        on_unread=unread.append,
    )
    if not quiet:
        counts = f"{format_count(run.progress.done - run.progress.kept, 'result')} imported"
        print_note(f"{counts}, {run.progress.kept:,} unchanged" if run.progress.kept else counts)
        print_row_faults("not imported", unread, run.progress.unread)
    report_and_exit(run, by=(), show=0, quiet=quiet)


def _describe_assumed_order(scale: Scale | None) -> str:
    """Describe that categories are taken in order, if they may have none; return an empty text for other scales."""
    if not isinstance(scale, CategoricalScale) or not scale.ordered or len(scale.names) == PAIR:
        return ""
    if any(category.score is not None for category in scale.categories):
        return ""
    unordered = UNORDERED.join(scale.names)
    return f"{format_names(scale.names)} are taken in order, the best first; write {unordered!r} if they have no order"


def _describe_values(source: str, columns: Mapping[str, str]) -> str:
    """Describe the values in a file, so that its scale can be written; empty if they cannot be found."""
    value_columns = {name: column for name, column in columns.items() if name == VALUE}
    if source == STDIN:
        return ""
    try:
        rows = read_labelled_rows(source, {VALUE: LABEL_NAMES[VALUE]}, value_columns).rows
    except DataError as error:
        return f" ({error})"
    values = sorted({str(row.values[VALUE]) for row in rows if row.values.get(VALUE) is not None})
    return f" (the values are {format_names(values, MAX_VALUES)})" if values else ""


def _load_metrics(
    names: list[str] | None,
    scale: str | None,
    own_names: list[str] | None,
    over: Over | None,
    library: list[Path] | None,
) -> list[Metric]:
    """Return the metrics that verdicts are of; raise `typer.BadParameter` if options exclude each other."""
    if names and scale:
        raise typer.BadParameter(WHICH_SCALE)
    if names and (own_names or over):
        raise typer.BadParameter("--name and --over belong to --scale; a metric has both in its definition")
    if names:
        return [*{metric.name: metric for name in names for metric in _load_alone(name, library or [])}.values()]
    return [build_scale_metric(name, scale or "", over=over) for name in own_names or [DEFAULT_NAME]]


def _load_alone(spec: str, folders: Iterable[Path]) -> Iterator[Metric]:
    """Yield the metrics that `-m` names, without those that they build on: the file need not hold their verdicts."""
    metrics = load_metrics([spec], *folders)
    below = {name for metric in metrics for name in list_dependency_names(metric)}
    yield from (metric for metric in metrics if metric.name not in below)
