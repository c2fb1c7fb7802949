"""Options that several commands share, in groups, and what is made of them.

An option without a help text has that of its key of a run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel

from greval.cli import FAILED, print_note
from greval.cli.completion import complete_metric
from greval.cli.help_layout import input_option, limit_option, output_option, resuming_option
from greval.datasets.row_faults import describe_row_faults
from greval.errors import DataError, StoreError
from greval.report.tables import COLUMN_GAP, Column, ReportConsole, build_table

Cases = Annotated[
    str, typer.Argument(help="cases or traces as .jsonl, .json, .csv, .tsv, .xlsx, .parquet or .run, or - for stdin")
]
Columns = Annotated[list[str] | None, input_option("--column", metavar="FIELD=NAME")]
JoinedFiles = Annotated[list[Path] | None, input_option(metavar="FILE")]
METRIC_OPTION = input_option("--metric", "-m", metavar="METRIC", autocompletion=complete_metric)
MetricNames = Annotated[list[str], METRIC_OPTION]
OptionalMetricNames = Annotated[list[str] | None, METRIC_OPTION]
MetricFilter = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="METRIC", help="only these metrics; repeatable"),
]
AskedSpecs = Annotated[list[str] | None, input_option("--ask", metavar="[NAME=]METHOD")]
StoreCalls = Annotated[bool, output_option("--store-calls/--no-store-calls")]
Limit = Annotated[
    int | None,
    # A larger number is no index of Python.
    input_option(min=1, callback=lambda count: count and min(count, sys.maxsize), metavar="N"),
]
AllRows = Annotated[
    bool,
    output_option("--all", help="also count rows that do not belong to the last plan, such as those of old answers"),
]
Repeats = Annotated[int, input_option(min=1, metavar="N")]
MethodName = Annotated[str | None, input_option(metavar="METHOD")]
By = Annotated[list[str] | None, output_option("--by", metavar="TAG")]
Show = Annotated[int, output_option(min=0, metavar="N")]
Quiet = Annotated[bool, output_option("--quiet/--no-quiet", "-q", show_default=False)]
Folders = Annotated[list[Path] | None, input_option("--library", metavar="DIR")]
FailIf = Annotated[list[str] | None, output_option("--fail-if", metavar="CONDITION")]
RetryFailed = Annotated[bool, resuming_option()]
Cache = Annotated[bool, resuming_option("--cache/--no-cache", show_default=False)]
Deadline = Annotated[float | None, limit_option(min=0, metavar="SECONDS")]
AnnotationFiles = Annotated[
    list[Path] | None,
    input_option(
        metavar="FILE", help="a file of annotations in any format, repeatable; by default those in the run folder"
    ),
]
LabelColumns = Annotated[
    list[str] | None,
    input_option(
        "--label-column",
        metavar="COLUMN",
        help="a column with labels, of the files or else of the cases; repeatable, each is an annotator",
    ),
]
Concurrency = Annotated[int | None, limit_option(min=1, metavar="N")]
Level = Annotated[float, output_option(metavar="SHARE", help="the confidence level of the intervals")]
Floors = Annotated[
    list[str] | None,
    output_option(
        "--floor", metavar="METRIC", help="a computed metric that the judge has to beat as well; may be repeated"
    ),
]
ReportFormat = Annotated[
    Literal["table", "json"], output_option("--format", help="a table for people, or JSON for programs")
]
RunFolder = Annotated[Path, typer.Argument(help="a run folder")]
OtherTags = Annotated[
    list[str] | None,
    output_option("--by", metavar="TAG", help="also by each value of a tag; repeatable, for each combination"),
]

Correction = Annotated[
    Literal["bonferroni", "holm"], output_option(help="how p values are corrected for the number of tests")
]
CorrectedLevel = Annotated[
    float, output_option(metavar="SHARE", help="the confidence level of the intervals, and of all tests together")
]
ClusterBy = Annotated[
    str | None,
    output_option(
        metavar="TAG", help="questions with the same value are not independent, such as those on one document"
    ),
]
OutputFile = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="write to this file instead of stdout")
]
DryRun = Annotated[bool, limit_option("--dry-run")]
FILE_WIDTH = 160
MAX_WORD_CHARS = 28
"""A longer word may be broken in a table."""


def parse_columns(lines: Iterable[str] | None) -> dict[str, str]:
    """Parse the columns of fields, each as `FIELD=NAME`; raise `typer.BadParameter` if one is not."""
    from greval.datasets import column_map

    try:
        return column_map.parse_columns(lines or ())
    except DataError as error:
        raise typer.BadParameter(f"--{error}") from error


def parse_tag_filters(filters: Iterable[str], option: str = "--where") -> dict[str, set[str]]:
    """Parse tag filters: a mapping from each tag to its accepted values.

    Example:
        >>> parse_tag_filters(["movie=tt1", "level=easy", "level=hard"])["level"] == {"easy", "hard"}
        True
    """
    accepted: dict[str, set[str]] = {}
    for text in filters:
        tag, sign, value = text.partition("=")
        if not sign or not tag.strip():
            raise typer.BadParameter(f"{option} {text}: write it as TAG=VALUE")
        accepted.setdefault(tag.strip(), set()).add(value.strip())
    return accepted


class LabelOptions(NamedTuple):
    """Where the labels of people are read from."""

    labels: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="LABELS", show_default=False, help="files of labels, such as id,human_label; as --annotations"
        ),
    ] = None
    annotations: AnnotationFiles = None
    label_column: LabelColumns = None

    def list_files(self, run: Path) -> list[Path] | None:
        """Return the files of labels, None without any; raise `typer.BadParameter` if one is in place of the run."""
        if run.is_file():
            raise typer.BadParameter(f"{run.name} is a file; name the run folder first: RUN {run.name}")
        return [*(self.labels or ()), *(self.annotations or ())] or None


class Only(tuple[str, ...]):
    """Marks a parameter that takes some options of a group only: `Annotated[JudgeOptions, Only(["timeout"])]`."""

    __slots__ = ()


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options.

    A parameter whose type is a `NamedTuple` becomes one option for each field, at its place in the help. The command
    receives the group; fields that it left out with `Only` have their defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[Callable[..., object], tuple[str, ...]]] = {}
    parameters = []
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else [hint]
        # Only a NamedTuple has these.
        if not hasattr(kind, "_field_defaults"):
            parameters.append(parameter.replace(annotation=hint))
            continue
        fields = get_type_hints(kind, include_extras=True)
        names = next((mark for mark in marks if isinstance(mark, Only)), tuple(fields))
        groups[parameter.name] = kind, names
        parameters += [
            parameter.replace(name=name, annotation=fields[name], default=kind._field_defaults[name]) for name in names
        ]

    @wraps(command)
    def call(**values: Any) -> None:  # noqa: ANN401 - the options of any command
        for name, (group, names) in groups.items():
            values[name] = group(**{field: values.pop(field) for field in names})
        command(**values)

    # typer reads the options from the signature, and their types from the annotations.
    call.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def list_given_options(context: Any, names: Iterable[str]) -> list[str]:  # noqa: ANN401 - typer's own context
    """List the options that were given on the command line, of those with these names in Python."""
    parameter_names = {*names}
    return [
        # The long form, if there is a short one.
        max(param.opts, key=len)
        for param in context.command.params
        if param.name in parameter_names and context.get_parameter_source(param.name).name == "COMMANDLINE"
    ]


def print_row_faults(what: str, faults: Iterable[str], count: int | None = None) -> None:
    """Print the faults of rows on stderr, the first of them if there are many."""
    for line in describe_row_faults(faults, count):
        print_note(f"{what}: {line}")


def create_console() -> ReportConsole:
    """Create the console for reports. It is wide if stdout is not a terminal, so that no name is truncated."""
    return ReportConsole() if sys.stdout.isatty() or "COLUMNS" in os.environ else ReportConsole(width=FILE_WIDTH)


def print_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print rows of texts below the names of their columns. If there is room, no words but long ones are broken."""
    names, listed, console = [*columns], [tuple(row) for row in rows], create_console()
    cells = [[name, *(row[index] for row in listed)] for index, name in enumerate(names)]
    words = [[word for cell in column for word in cell.split()] for column in cells]
    widths = [max(len(word) for word in column if len(word) <= MAX_WORD_CHARS) for column in words]
    spare = console.width - sum(widths) - COLUMN_GAP * (len(widths) - 1)
    lacking = [max(map(len, column)) - width for column, width in zip(cells, widths, strict=True)]
    table = build_table([Column(name, left=True) for name in names], listed)
    if 0 <= spare < sum(lacking):
        # Rich breaks words, or makes the table too wide, if it chooses the widths.
        widths = [width + spare * missing // sum(lacking) for width, missing in zip(widths, lacking, strict=True)]
        sized = [Column(name, left=True, width=width) for name, width in zip(names, widths, strict=True)]
        table = build_table(sized, listed)
    console.print(table)


def print_report(report: BaseModel, form: str, render: Callable[..., None], **options: object) -> None:
    """Print a report as a table, by its renderer, or as JSON."""
    if form == "json":
        typer.echo(report.model_dump_json(indent=2))
    else:
        render(report, create_console(), **options)


@contextmanager
def translate_write_errors(out: Path | None) -> Iterator[None]:
    """Turn write errors of an output file, by default stdout, into a `StoreError`."""
    try:
        yield
    # The command ends without a message if the reader of the output, such as `head`, is gone.
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(f"{out or 'stdout'}: cannot be written: {error.strerror or error}") from error


def exit_if_off_scale(warnings: Iterable[str]) -> None:
    """Exit with the code of failures if too many labels are not on the scale of the verdicts."""
    from greval._util.joins import OFF_SCALE

    if any(warning.startswith(OFF_SCALE) for warning in warnings):
        raise typer.Exit(FAILED)
