"""Failure conditions of commands: their option, the formats for CI, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Literal, TypeVar

import typer

from greval.analysis.comparison.records import Comparison
from greval.analysis.gate_check import GateCheck
from greval.analysis.summary import Report
from greval.cli import MISSED, USAGE_ERROR
from greval.cli.console import escape_control_characters
from greval.cli.help_layout import output_option
from greval.cli.options import print_report
from greval.report.check_list import CheckList, format_github, format_junit, format_markdown
from greval.report.gate import format_check

FailIf = Annotated[
    list[str] | None,
    output_option(
        "--fail-if",
        metavar="CONDITION",
        help="exit with 1 if it is met, such as 'correctness < 0.8'; repeatable (docs/gates.md)",
    ),
]
CheckedFormat = Annotated[
    Literal["table", "json", "junit", "markdown", "github"],
    output_option(
        "--format",
        help="a table for people, JSON for programs, JUnit XML for CI, Markdown for a pull request, or annotations of "
        "GitHub Actions",
    ),
]
FORMATS: dict[str, Callable[[CheckList], str]] = {
    "junit": format_junit,
    "markdown": format_markdown,
    "github": format_github,
}
Checked = TypeVar("Checked", Report, Comparison)


def print_checked_report(
    report: Checked, form: str, render: Callable[..., None], list_checks: Callable[[Checked], CheckList]
) -> None:
    """Print a report or a comparison in a format, and its missed conditions on stderr if stdout is for a program."""
    if form in FORMATS:
        typer.echo(escape_control_characters(FORMATS[form](list_checks(report))))
    else:
        print_report(report, form, render)
    # The other formats are read by programs, so people are told on stderr.
    if form not in {"table", "github"}:
        print_missed(report.gate)


def print_missed(gate: Iterable[GateCheck]) -> None:
    """Print the conditions that are met or undecided on stderr."""
    for check in gate:
        if check.met:
            typer.echo(escape_control_characters(format_check(check)), err=True)


def get_gate_code(gate: Iterable[GateCheck]) -> int:
    """Return the exit code of a gate: 1 if a condition is met, otherwise 2 if one cannot be decided, otherwise 0."""
    statuses = {check.status for check in gate}
    if "failed" in statuses:
        return MISSED
    return USAGE_ERROR if "undecided" in statuses else 0
