"""Options that several commands share, in groups, and what is made of them.

An option without a help text has that of its key of a run.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel, JsonValue, ValidationError

from greval.cli import FAILED, print_note
from greval.cli.completion import complete_metric
from greval.cli.help_layout import input_option, judge_option, limit_option, output_option, resuming_option
from greval.datasets.row_faults import describe_row_faults
from greval.errors import DataError, JudgeError, StoreError
from greval.judging.answer_schema import ReasonPosition
from greval.judging.model.judge import KEY_VARIABLE, Judge, Structured
from greval.judging.model.prices import FILE_VARIABLE, Prices
from greval.judging.prompt import PromptStart
from greval.records.judge_choice import NO_TEMPERATURE
from greval.records.metric import Metric, ReasonDepth, needs_judge
from greval.report.tables import COLUMN_GAP, Column, ReportConsole, build_table
from greval.runs.config.judge_config import MODEL, SETTINGS, JudgeConfig

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Cases = Annotated[
    str, typer.Argument(help="cases as .jsonl, .json, .csv, .tsv, .xlsx, .parquet or .run, or - for stdin")
]
Columns = Annotated[list[str] | None, input_option("--column", metavar="FIELD=NAME")]
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
JUDGE_VARIABLE = "GREVAL_JUDGE"
"""The environment variable that names the judge of all commands."""
SUGGESTED_MODEL, LOCAL_JUDGE = "openai:gpt-5.4-mini", "local"
JudgeName = Annotated[
    str | None,
    judge_option(
        "--judge",
        envvar=JUDGE_VARIABLE,
        metavar="MODEL",
        help="openai:MODEL, local, local:NAME or PROVIDER:MODEL",
    ),
]
JudgeNames = Annotated[list[str] | None, judge_option("--judge", envvar=JUDGE_VARIABLE, metavar="[METRIC=]MODEL")]
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
PriceFile = Annotated[Path | None, limit_option("--prices", envvar=FILE_VARIABLE, metavar="FILE")]
DryRun = Annotated[bool, limit_option("--dry-run")]
Depth = Annotated[ReasonDepth | None, judge_option("--reason-depth")]
FILE_WIDTH = 160
MAX_WORD_CHARS = 24
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


def parse_temperature(text: str | float) -> float | str:
    """Parse a temperature: a number, or `none` for a judge that is asked without one."""
    if str(text).strip().lower() == NO_TEMPERATURE:
        return NO_TEMPERATURE
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected a number or {NO_TEMPERATURE}, got {text!r}") from error


def parse_judge_options(pairs: Iterable[str]) -> dict[str, JsonValue]:
    """Parse options of the judge's model, each as `NAME=JSON`; a word that is no JSON is a text.

    Example:
        >>> parse_judge_options(["reasoning_effort=low", "streaming=true", 'extra_body={"top_k": 1}'])
        {'reasoning_effort': 'low', 'streaming': True, 'extra_body': {'top_k': 1}}
    """
    options: dict[str, JsonValue] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not (name and sign and text):
            raise JudgeError(f"--judge-option {pair}: write it as NAME=JSON, such as reasoning_effort=low")
        if name in options:
            raise JudgeError(f"--judge-option {name}: it is given twice; name each option once")
        try:
            options[name] = json.loads(text)
        except ValueError as error:
            # What begins like JSON is meant as JSON, and no word.
            if text[0] in '{["':
                raise JudgeError(f"--judge-option {name}: {text} is not JSON: {error}") from error
            options[name] = text
    return options


class JudgeOptions(NamedTuple):
    """Settings of the judge, with the defaults of `Judge`."""

    base_url: Annotated[str | None, judge_option("--base-url", metavar="URL")] = None
    temperature: Annotated[Any, judge_option(metavar="T", parser=parse_temperature)] = 0.0
    seed: Annotated[int | None, judge_option(metavar="N")] = None
    timeout: Annotated[float, limit_option(metavar="SECONDS")] = 60.0
    judge_options: Annotated[list[str] | None, judge_option("--judge-option", metavar="NAME=JSON")] = None
    max_tokens: Annotated[int | None, judge_option(metavar="N")] = None
    max_items: Annotated[int | None, judge_option(metavar="N")] = None
    structured: Annotated[Structured, judge_option("--structured")] = "auto"
    reason: Annotated[ReasonPosition | None, judge_option("--reason")] = None
    prompt_start: Annotated[PromptStart, judge_option("--prompt-start")] = "metric"
    reason_depth: Depth = None
    confidence: Annotated[bool, judge_option("--confidence/--no-confidence", show_default=False)] = False
    max_retries: Annotated[int, limit_option(min=0, metavar="N")] = 6
    requests_per_minute: Annotated[float | None, limit_option(metavar="N")] = None
    tokens_per_minute: Annotated[float | None, limit_option(metavar="N")] = None

    def build_config(self, names: Iterable[str] | None = None) -> JudgeConfig:
        """Build the judge of a command, by the names that it gives; raise `JudgeError` if a setting is invalid."""
        settings = self._asdict()
        # The depth of reasons belongs to the metrics, not to the judge.
        del settings["reason_depth"]
        return build_judge_config({**settings, MODEL: [*names]} if names else settings)

    def create_judge(self, name: str | None) -> Judge:
        """Create the judge of this name; raise `JudgeError` without one, or if it or a setting is invalid."""
        return self.build_config().create_judge(name)


def build_judge_config(settings: Mapping[str, Any]) -> JudgeConfig:
    """Build the judge of a run from its names and the values of the options of `JudgeOptions`."""
    content = {name: value for name, value in settings.items() if name != "judge_options"}
    if pairs := settings.get("judge_options"):
        content["options"] = parse_judge_options(pairs)
    try:
        return JudgeConfig.model_validate(content)
    except ValidationError as error:
        raise JudgeError("\n".join(map(_format_option_error, error.errors()))) from error


class CapOptions(NamedTuple):
    """What ends a run early, and the prices that its cost is computed with."""

    max_calls: Annotated[int | None, limit_option(min=1, metavar="N")] = None
    max_cost: Annotated[float | None, limit_option(min=0, metavar="USD")] = None
    prices: PriceFile = None

    def read_prices(self) -> Prices | None:
        """Read the price table, or the one that greval finds by itself."""
        return Prices.load(self.prices)


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


def require_judged(metric: Metric, done: str) -> None:
    """Raise `typer.BadParameter` for a computed metric, before a judge is asked for that it does not need."""
    if not needs_judge([metric]):
        raise typer.BadParameter(f"{metric.name} is computed: only what a model judges can be {done}")


def print_row_faults(what: str, faults: Iterable[str], count: int | None = None) -> None:
    """Print the faults of rows on stderr, the first of them if there are many."""
    for line in describe_row_faults(faults, count):
        print_note(f"{what}: {line}")


def create_console() -> ReportConsole:
    """Create the console for reports. It is wide if stdout is not a terminal, so that no name is truncated."""
    return ReportConsole() if sys.stdout.isatty() or "COLUMNS" in os.environ else ReportConsole(width=FILE_WIDTH)


def suggest_judge() -> str:
    """Return the judge to begin with: a model of OpenAI if the environment holds a key, else the embedded one."""
    return SUGGESTED_MODEL if os.environ.get(KEY_VARIABLE) else LOCAL_JUDGE


def print_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print rows of texts below the names of their columns. If there is room, no words but long ones are broken."""
    names, listed, console = [*columns], [tuple(row) for row in rows], create_console()
    words = [[name, *(word for row in listed for word in row[index].split())] for index, name in enumerate(names)]
    widths = [max(len(word) for word in column if len(word) <= MAX_WORD_CHARS) for column in words]
    fits = sum(widths) + COLUMN_GAP * len(widths) <= console.width
    aligned = (
        Column(name, left=True, min_width=width if fits else None) for name, width in zip(names, widths, strict=True)
    )
    table = build_table([*aligned], listed)
    # Rich rounds the widths of the columns that it narrows, and the sum may be one too many.
    console.print(table, width=console.width - (console.measure(table).maximum >= console.width))


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
    """Exit with the code of failures if most labels are not on the scale of the verdicts."""
    from greval._util.joins import OFF_SCALE

    if any(warning.startswith(OFF_SCALE) for warning in warnings):
        raise typer.Exit(FAILED)


def _format_option_error(fault: ErrorDetails) -> str:
    """Format a validation error as an option and what is wrong with it."""
    # pydantic begins its messages with these.
    what = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    key_path = [str(part) for part in fault["loc"] if part != SETTINGS]
    if key_path[:1] == ["options"]:
        return f"--judge-option: {what}"
    return f"--{'.'.join(key_path).replace('_', '-')}: {what}"
