"""Options that several commands share, in groups, and what is made of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel, JsonValue, ValidationError
from rich.markup import escape
from rich.table import Table

from greval._util.joins import OFF_SCALE
from greval.cli import FAILED
from greval.cli.completion import complete_judge, complete_metric
from greval.cli.console import ReportConsole
from greval.cli.help_layout import input_option, judge_option, limit_option, output_option
from greval.errors import DataError, JudgeError
from greval.judging.answer_schema import ReasonPosition
from greval.judging.model.judge import KEY_VARIABLE, Judge, Structured
from greval.judging.model.prices import FILE_VARIABLE, Prices
from greval.judging.prompt import PromptStart
from greval.records.judge_choice import NO_TEMPERATURE
from greval.records.metric import Metric, ReasonDepth, needs_judge
from greval.runs.config.judge_config import JUDGE_KEYS, MODEL, SETTINGS, JudgeConfig

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Cases = Annotated[
    str, typer.Argument(help="cases as .jsonl, .json, .csv, .tsv, .xlsx, .parquet or .run, or - for stdin")
]
Columns = Annotated[
    list[str] | None,
    input_option(
        "--column",
        metavar="FIELD=NAME",
        help="the column, or the path in JSON, of a field that is called otherwise; repeatable",
    ),
]
METRIC_OPTION = input_option(
    "--metric",
    "-m",
    metavar="METRIC",
    autocompletion=complete_metric,
    help="a name, a file, a folder, FILE.py:NAME, or several with commas; repeatable",
)
MetricNames = Annotated[list[str], METRIC_OPTION]
OptionalMetricNames = Annotated[list[str] | None, METRIC_OPTION]
AskedSpecs = Annotated[
    list[str] | None,
    input_option(
        "--ask",
        metavar="[NAME=]METHOD",
        help="ask this method for the responses first, as `greval collect --method` does; repeatable",
    ),
]
StoreCalls = Annotated[
    bool,
    output_option(
        "--store-calls/--no-store-calls",
        help="store each prompt and raw reply with the results (greval calls, greval replay)",
    ),
]
Limit = Annotated[
    int | None,
    input_option(
        min=1,
        # A larger number is no index of Python.
        callback=lambda count: count and min(count, sys.maxsize),
        metavar="N",
        help="judge only the first N cases",
    ),
]
AllRows = Annotated[
    bool,
    output_option("--all", help="also count rows that do not belong to the last plan, such as those of old answers"),
]
Repeats = Annotated[
    int,
    input_option(
        min=1, metavar="N", help="the number of times that each case is judged; the majority or the mean counts"
    ),
]
MethodName = Annotated[str | None, input_option(metavar="METHOD", help="the method of the cases that do not name one")]
JUDGE_VARIABLE = "GREVAL_JUDGE"
"""The environment variable that names the judge of all commands."""
SUGGESTED_MODEL, LOCAL_JUDGE = "openai:gpt-5.4-mini", "local"
JudgeName = Annotated[
    str | None,
    judge_option(
        "--judge",
        autocompletion=complete_judge,
        envvar=JUDGE_VARIABLE,
        metavar="MODEL",
        help="openai:MODEL, local, local:NAME or PROVIDER:MODEL",
    ),
]
JudgeNames = Annotated[
    list[str] | None,
    judge_option(
        "--judge",
        autocompletion=complete_judge,
        envvar=JUDGE_VARIABLE,
        metavar="[METRIC=]MODEL",
        help="openai:MODEL, local, local:NAME or PROVIDER:MODEL, for metrics that name no judge; METRIC=MODEL for one "
        "metric; repeatable",
    ),
]
By = Annotated[list[str] | None, output_option("--by", metavar="TAG", help="group by a tag or by method; repeatable")]
Show = Annotated[int, output_option(min=0, metavar="N", help="show N verdicts with their reasons")]
Quiet = Annotated[bool, output_option("--quiet/--no-quiet", "-q", show_default=False, help="no progress, no report")]
Folders = Annotated[
    list[Path] | None,
    input_option("--library", metavar="DIR", help="a folder with metric files of your own; repeatable"),
]
AnnotationFiles = Annotated[
    list[Path] | None,
    input_option(
        metavar="FILE", help="a file of annotations in any format, repeatable; by default those in the run folder"
    ),
]
LabelFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="LABELS", show_default=False, help="files of labels, such as id,human_label; as --annotations"
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
Concurrency = Annotated[int | None, limit_option(min=1, metavar="N", help="the maximum number of concurrent calls")]
Level = Annotated[float, output_option(metavar="SHARE", help="the confidence level of the intervals")]
ReportFormat = Annotated[
    Literal["table", "json"], output_option("--format", help="a table for people, or JSON for programs")
]
RunFolder = Annotated[Path, typer.Argument(help="a run folder")]
OtherTags = Annotated[
    list[str] | None,
    output_option("--by", metavar="TAG", help="also by each value of a tag; repeatable, for each combination"),
]

PriceFile = Annotated[
    Path | None,
    limit_option(
        "--prices", envvar=FILE_VARIABLE, metavar="FILE", help="your own price table; greval judge prices shows it"
    ),
]
DryRun = Annotated[bool, limit_option("--dry-run", help="forecast the maximum number of calls without any call")]
Depth = Annotated[
    ReasonDepth | None,
    judge_option(
        "--reason-depth", help="how much the judge writes for each verdict; by default as each metric defines"
    ),
]
FIELDS = {"traversal": "traversals", "json": "json_events"}
"""The fields of a configuration that are not called like their option, of those that describe it."""
REPEATABLE = ("where", "gold", "traversal")
"""The options that are repeatable, of those that are described by their key."""
FILE_WIDTH = 160
MAX_WORD_CHARS = 24
"""A longer word may be broken in a table."""
COLUMN_GAP = 2


def parse_columns(lines: Iterable[str] | None) -> dict[str, str]:
    """Parse the columns of fields, each as `FIELD=NAME`; raise `typer.BadParameter` if one is not."""
    from greval.datasets import column_map

    try:
        return column_map.parse_columns(lines or ())
    except DataError as error:
        raise typer.BadParameter(f"--{error}") from error


def parse_tag_filters(filters: Iterable[str], option: str = "--where") -> dict[str, set[str]]:
    """Parse tag filters: a mapping from each tag to its accepted values.

    Raises:
        typer.BadParameter: If a filter is not written as tag=value.

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

    Raises:
        JudgeError: If one has no name, is given twice, or is JSON that cannot be read.

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
    judge_options: Annotated[
        list[str] | None,
        judge_option(
            "--judge-option",
            metavar="NAME=JSON",
            help="an option that is passed to the judge's model, such as reasoning_effort=low or "
            'extra_body={"top_k":1}; repeatable',
        ),
    ] = None
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
        """Build the judge of a command, by the names that it gives.

        Raises:
            JudgeError: If a setting is invalid.
        """
        settings = self._asdict()
        # The depth of reasons belongs to the metrics, not to the judge.
        del settings["reason_depth"]
        return build_judge_config({**settings, MODEL: [*names]} if names else settings)

    def create_judge(self, name: str | None) -> Judge:
        """Create the judge of this name.

        Raises:
            JudgeError: If no judge is named, or if its name or a setting is invalid.
        """
        return self.build_config().create_judge(name)


def describe_option(name: str) -> str:
    """Return the help of an option that has none of its own: the description of its key.

    Example:
        >>> describe_option("seed"), describe_option("gold")
        ("the judge's random seed", 'gold, joined to the cases by id; repeatable')
    """
    # Imported here, because only commands that run a configuration need it.
    from greval.runs.config.model import RunConfig

    description = JUDGE_KEYS.get(name) or RunConfig.model_fields[FIELDS.get(name, name)].description
    text = " ".join(str(description).split()).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}{'; repeatable' if name in REPEATABLE else ''}"


def build_judge_config(settings: Mapping[str, Any]) -> JudgeConfig:
    """Build the judge of a run from its names and the values of the options of `JudgeOptions`.

    Raises:
        JudgeError: If a setting is invalid.
    """
    content = {name: value for name, value in settings.items() if name != "judge_options"}
    if pairs := settings.get("judge_options"):
        content["options"] = parse_judge_options(pairs)
    try:
        return JudgeConfig.model_validate(content)
    except ValidationError as error:
        raise JudgeError("\n".join(map(_format_option_error, error.errors()))) from error


class CapOptions(NamedTuple):
    """What ends a run early, and the prices that its cost is computed with."""

    max_calls: Annotated[
        int | None, limit_option(min=1, metavar="N", help="stop after N calls of the run, counted over all commands")
    ] = None
    max_cost: Annotated[
        float | None,
        limit_option(min=0, metavar="USD", help="stop before the run costs more, counted over all commands"),
    ] = None
    prices: PriceFile = None

    def read_prices(self) -> Prices | None:
        """Read the price table, or the one that greval finds by itself."""
        return Prices.load(self.prices)


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
        for name in names:
            option = get_args(fields[name])[-1]
            option.help = option.help or describe_option(name)
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
    table = Table(box=None, pad_edge=False)
    for name, width in zip(names, widths, strict=True):
        table.add_column(name, overflow="fold", min_width=width if fits else None)
    for row in listed:
        table.add_row(*map(escape, row))
    # Rich rounds the widths of the columns that it narrows, and the sum may be one too many.
    console.print(table, width=console.width - (console.measure(table).maximum >= console.width))


def print_report(report: BaseModel, form: str, render: Callable[..., None], **options: object) -> None:
    """Print a report as a table, by its renderer, or as JSON."""
    if form == "json":
        typer.echo(report.model_dump_json(indent=2))
    else:
        render(report, create_console(), **options)


def exit_if_off_scale(warnings: Iterable[str]) -> None:
    """Exit with the code of failures if most labels are not on the scale of the verdicts."""
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


def list_label_files(run: Path, labels: Iterable[Path] | None, annotations: Iterable[Path] | None) -> list[Path] | None:
    """Return the files of labels, None without any; raise `typer.BadParameter` if one is in place of the run."""
    if run.is_file():
        raise typer.BadParameter(f"{run.name} is a file; name the run folder first: RUN {run.name}")
    return [*(labels or ()), *(annotations or ())] or None
