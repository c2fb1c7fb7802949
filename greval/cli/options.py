"""Options that several commands share, and the judge built from them."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from greval.cli.console import ReportConsole
from greval.errors import JudgeError
from greval.judging.answer_schema import ReasonPosition
from greval.judging.model.failures import parse_judge_name
from greval.judging.model.judge import NO_JUDGE_MESSAGE, Judge, Structured
from greval.records.metric import ReasonDepth

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class ReportFormat(StrEnum):
    """The output format of a report."""

    table = "table"
    json = "json"


Cases = Annotated[str, typer.Argument(help="cases as .jsonl, .json, .csv, .tsv or .parquet, or - for stdin")]
MetricNames = Annotated[
    list[str], typer.Option("--metric", "-m", metavar="METRIC", help="a name or a file; may be given often")
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1, callback=lambda wanted: wanted and min(wanted, sys.maxsize), help="judge the first N cases only"
    ),
]
AllRows = Annotated[
    bool, typer.Option("--all", help="count the rows too that do not belong to the last plan, such as of old answers")
]
Repeats = Annotated[int, typer.Option(min=1, help="judge each case so often; the majority or the mean counts")]
MethodName = Annotated[str | None, typer.Option(help="the method's name, where the cases do not tell it")]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge", envvar="GREVAL_JUDGE", metavar="MODEL", help="openai:MODEL, local, local:NAME or PROVIDER:MODEL"
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="an OpenAI-compatible server, with openai:MODEL")
]
Temperature = Annotated[float, typer.Option(help="the judge's sampling temperature")]
Seed = Annotated[int | None, typer.Option(help="the judge's random seed")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="how long one call may take")]
MaxTokens = Annotated[int | None, typer.Option(help="the longest answer of the judge, in tokens")]
MaxItems = Annotated[int | None, typer.Option(help="the most chunks or triples judged in one call")]
Confidence = Annotated[bool, typer.Option("--confidence", help="ask for the probability of each verdict")]
AnswerForm = Annotated[Structured, typer.Option("--structured", help="how the answer is asked for")]
ReasonPlace = Annotated[ReasonPosition, typer.Option("--reason", help="where the reason stands in the judge's answer")]
Depth = Annotated[
    ReasonDepth | None,
    typer.Option("--reason-depth", help="how much the judge writes for each verdict; by default what each metric says"),
]
MaxRetries = Annotated[int, typer.Option(min=0, help="how often a call is made again that may pass")]
RequestsPerMinute = Annotated[float | None, typer.Option(metavar="N", help="the provider's limit of calls")]
TokensPerMinute = Annotated[float | None, typer.Option(metavar="N", help="the provider's limit of tokens")]
By = Annotated[
    list[str] | None, typer.Option("--by", metavar="TAG", help="group by a tag or by method; may be given often")
]
Show = Annotated[int, typer.Option(min=0, metavar="N", help="show N verdicts with their reasons")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no progress, no report")]
Folders = Annotated[
    list[Path] | None,
    typer.Option("--library", metavar="DIR", help="a folder with metric files of your own; may be given often"),
]
AnnotationFiles = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="CSV or JSON lines of annotations, may be given often; else those in the run's folder"
    ),
]
Concurrency = Annotated[int | None, typer.Option(min=1, help="how many calls are in flight at most")]
MaxCalls = Annotated[int | None, typer.Option(min=1, help="stop when the run has made N calls, by all commands")]
MaxCost = Annotated[
    float | None, typer.Option(min=0, metavar="USD", help="stop before the run costs more, by all commands")
]
PriceTable = Annotated[Path | None, typer.Option(metavar="FILE", help="a price table of your own (docs/money.md)")]
Level = Annotated[float, typer.Option(metavar="SHARE", help="of the intervals")]
FormatOption = Annotated[ReportFormat, typer.Option("--format", help="for people or for programs")]
RunFolder = Annotated[Path, typer.Argument(help="a run folder")]
OtherTags = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="TAG", help="also by each value of a tag; given often: each combination"),
]

FILE_WIDTH = 160


def create_console() -> ReportConsole:
    """Create the console for reports. It is wide if stdout is not a terminal, so that no name is truncated."""
    return ReportConsole() if sys.stdout.isatty() or "COLUMNS" in os.environ else ReportConsole(width=FILE_WIDTH)


def require_judge(name: str | None, **settings: object) -> Judge:
    """Build the judge from the options.

    Raises:
        JudgeError: If no judge is named, or if its name or a setting is invalid.
    """
    if not name:
        raise JudgeError(NO_JUDGE_MESSAGE)
    try:
        judge = Judge(name, **settings)
    except ValidationError as error:
        raise JudgeError("\n".join(_format_option_error(fault) for fault in error.errors())) from error
    parse_judge_name(judge.model)
    return judge


def _format_option_error(fault: ErrorDetails) -> str:
    """Format a validation error as an option and what is wrong with it."""
    what = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"--{'.'.join(map(str, fault['loc'])).replace('_', '-')}: {what}"
