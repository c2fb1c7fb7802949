"""Output of reports: formats for CI, files to share, failure conditions with their exit code, hints about failures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, cast, get_args

import typer

from greval._util.files import write_atomically
from greval._util.wording import escape_control_characters
from greval.cli import MISSED, USAGE_ERROR, print_note
from greval.cli.options import print_report, translate_write_errors
from greval.judging.model.failures import format_failure_hint
from greval.records.result import IMPORTED, Failure, FailureKind
from greval.report.console import format_check
from greval.report.tables import ReportConsole, print_line
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter

if TYPE_CHECKING:
    from greval.analysis.comparison.records import Comparison
    from greval.analysis.summary import GateCheck, Report
    from greval.report.check_list import CheckList

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
MAX_SEARCHED_ROWS = 5_000
"""The maximum number of rows searched for a failure of each kind. The hint is printed even if none is found."""
MAX_IMPORTED = 10
"""The most failures of imported verdicts that are printed of each kind: each is a row that somebody must correct."""
Checked = TypeVar("Checked", "Report", "Comparison")


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
        write_shared_file(markdown, f"{_format_checks(list_checks(report), 'markdown')}\n")
    if form in {"junit", "markdown", "github"}:
        typer.echo(_format_checks(list_checks(report), form))
    else:
        print_report(report, form, render)
    # The other formats are read by programs, so people are told on stderr.
    if form not in {"table", "github"}:
        print_missed(report.gate)


def _format_checks(checks: CheckList, form: str) -> str:
    """Format checks for CI."""
    from greval.report.check_list import format_github, format_junit, format_markdown

    formats: dict[str, Callable[[CheckList], str]] = {
        "junit": format_junit,
        "markdown": format_markdown,
        "github": format_github,
    }
    return escape_control_characters(formats[form](checks))


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


def print_failure_hints(folder: Path, kinds: Iterable[str], judge: str, printed: str = "") -> None:
    """Print hints about failures on stderr, for imported verdicts the first rows that are not on the scale.

    Args:
        folder: The run folder.
        kinds: The kinds of its failures.
        judge: The label of its judge.
        printed: Text printed before; what it contains is not repeated.
    """
    failure_kinds = {cast("FailureKind", kind) for kind in kinds if kind in get_args(FailureKind)}
    is_imported = judge.startswith(IMPORTED)
    messages: dict[FailureKind, list[str]] = {kind: [] for kind in sorted(failure_kinds)}
    for failure in (
        _find_first_failures(folder, failure_kinds, MAX_IMPORTED if is_imported else 1) if failure_kinds else ()
    ):
        messages[failure.kind].append(failure.message)
    for kind, first in messages.items():
        hint = "" if is_imported else format_failure_hint(kind, judge)
        for message in first or [""]:
            parts = [part for part in (message, hint) if part]
            if not all(part in printed for part in parts):
                print_line(ReportConsole(stderr=True), f"{kind}: {'; '.join(parts)}")


def _find_first_failures(folder: Path, kinds: set[FailureKind], most: int) -> Iterator[Failure]:
    """Yield the first failures of each kind, at most `most`, if they are found in the first rows."""
    remaining = dict.fromkeys(kinds, most)
    with Store.open(folder) as store:
        # A scored result can contain failed items.
        for status in ("failed", "scored"):
            for result in islice(store.results(ResultFilter(status=status)), MAX_SEARCHED_ROWS):
                for failure in result.failures:
                    if remaining.get(failure.kind):
                        remaining[failure.kind] -= 1
                        yield failure
                if not any(remaining.values()):
                    return
