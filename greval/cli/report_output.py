"""Output of reports and comparisons: formats for CI, files to share, failure conditions and their exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from shlex import join
from typing import Annotated, Literal, TypeVar

import typer

from greval._util.files import write_atomically
from greval.analysis.comparison.records import Comparison
from greval.analysis.gate_check import GateCheck
from greval.analysis.summary import Report
from greval.cli import MISSED, USAGE_ERROR
from greval.cli.console import escape_control_characters, print_note
from greval.cli.options import print_report, translate_write_errors
from greval.report.check_list import CheckList, format_github, format_junit, format_markdown
from greval.report.gate import format_check

CheckedFormat = Annotated[
    Literal["table", "json", "junit", "markdown", "github"],
    typer.Option(
        "--format",
        help="a table for people, JSON for programs, JUnit XML for CI, Markdown for a pull request, or annotations of "
        "GitHub Actions",
    ),
]
HtmlFile = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="write an HTML page to share, in one file")
]
MarkdownFile = Annotated[
    Path | None,
    typer.Option("--md", metavar="FILE", help="write the short form as Markdown, such as for a pull request"),
]
FORMATS: dict[str, Callable[[CheckList], str]] = {
    "junit": format_junit,
    "markdown": format_markdown,
    "github": format_github,
}
Checked = TypeVar("Checked", Report, Comparison)


def print_checked_report(
    report: Checked,
    form: str,
    render: Callable[..., None],
    list_checks: Callable[[Checked], CheckList],
    markdown: Path | None,
) -> None:
    """Print a report or a comparison in a format, and its missed conditions on stderr if stdout is for a program.

    Its short form is also written to the file `markdown`, if there is one.
    """
    if markdown:
        write_shared_file(markdown, f"{escape_control_characters(format_markdown(list_checks(report)))}\n")
    if form in FORMATS:
        typer.echo(escape_control_characters(FORMATS[form](list_checks(report))))
    else:
        print_report(report, form, render)
    # The other formats are read by programs, so people are told on stderr.
    if form not in {"table", "github"}:
        print_missed(report.gate)


def write_shared_file(path: Path, text: str) -> None:
    """Write a file to share, and report its size."""
    with translate_write_errors(path):
        write_atomically(path, text)
    print_note(f"wrote {path} ({path.stat().st_size / 1000:,.0f} KB)")


def format_command() -> str:
    """Format the command line that runs, as a shell reads it."""
    return join(["greval", *sys.argv[1:]])


def print_missed(gate: Iterable[GateCheck]) -> None:
    """Print the conditions that are met or undecided on stderr."""
    for check in gate:
        if check.met:
            print_note(format_check(check))


def get_gate_code(gate: Iterable[GateCheck]) -> int:
    """Return the exit code of a gate: 1 if a condition is met, otherwise 2 if one cannot be decided, otherwise 0."""
    statuses = {check.status for check in gate}
    if "failed" in statuses:
        return MISSED
    return USAGE_ERROR if "undecided" in statuses else 0
