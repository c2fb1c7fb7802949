"""What the formats for CI show of a report or a comparison: a check for each figure and each condition of the gate.

They are written as JUnit XML, as Markdown for a comment on a pull request, and as annotations of GitHub Actions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from greval._util.wording import format_count
from greval.analysis.comparison.records import Comparison, Contrast
from greval.analysis.summary import CheckStatus, GateCheck, Report
from greval.report.comparison import describe_findings, format_difference, format_verdict
from greval.report.console import (
    describe_sources,
    describe_troubles,
    describe_weighting,
    format_distribution,
    format_mean,
)
from greval.report.tables import format_place
from greval.stats.interval import Undefined
from greval.stats.summary import Summary

GATE = "greval.gate"
METRICS = "greval.metrics"
CONTRASTS = "greval.contrasts"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even as references."""
REPLACEMENT = "\ufffd"
OUTCOMES = {"failed": "failure", "undecided": "error", "skipped": "skipped"}
"""The element of each status; a passed check has none."""
NO_TIME = "0"
CODE_ENTITIES = re.compile(r"[!-,:-<>-@\[-`{-~]")
"""ASCII punctuation but for `-./=`, written as entities in `<code>`, so that Markdown gives no character a meaning."""
NO_CODE_SPAN = re.compile(r"[`|\\]")
LABELS = {"passed": "passed", "failed": "**FAILED**", "undecided": "**UNDECIDED**"}


class Check(NamedTuple):
    """One check: a figure, which is passed or skipped, or a condition, which can also be failed or undecided."""

    name: str
    group: str
    status: CheckStatus | Literal["skipped"]
    text: str


class CheckList(NamedTuple):
    """The checks of a report or a comparison, its figures as a table, its warnings, and what was found."""

    title: str
    checks: tuple[Check, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...]
    findings: tuple[str, ...] = ()

    def count(self, *statuses: str) -> int:
        """Return the number of checks with one of these statuses."""
        return sum(check.status in statuses for check in self.checks)

    def list_conditions(self) -> tuple[Check, ...]:
        """Return the checks that are conditions of the gate."""
        return tuple(check for check in self.checks if check.group == GATE)

    def describe(self) -> str:
        """Describe the result of the gate, or the number of figures if there is no gate."""
        conditions = self.list_conditions()
        if not conditions:
            return format_count(len(self.checks), "figure")
        failed, undecided = self.count("failed"), self.count("undecided")
        of = f"of {format_count(len(conditions), 'condition')}"
        parts = [f"{count} {of} {what}" for count, what in ((failed, "failed"), (undecided, "undecided")) if count]
        return ", ".join(parts) or f"{format_count(len(conditions), 'condition')} passed"


def list_report_checks(report: Report) -> CheckList:
    """List the checks of a report: one for each row of it, and one for each condition."""
    rows = tuple(
        (
            format_place(summary.metric, summary.group),
            format_mean(summary),
            f"{summary.scored} of {summary.planned}",
            str(summary.failed),
        )
        for summary in report.summaries
    )
    return CheckList(
        title=report.folder,
        checks=(*(_check_summary(report, summary) for summary in report.summaries), *_check_conditions(report.gate)),
        columns=("metric", "mean [95 % interval]", "scored", "failed"),
        rows=rows,
        warnings=(
            *report.warnings,
            *describe_weighting(report.summaries),
            *describe_sources(report),
            *describe_troubles(report),
        ),
    )


def list_comparison_checks(comparison: Comparison) -> CheckList:
    """List the checks of a comparison: one for each contrast, and one for each condition."""
    rows = tuple(
        (
            *(
                format_place(contrast.metric, contrast.group),
                f"{contrast.method} against {contrast.baseline}",
                str(contrast.n),
            ),
            *(format_difference(contrast), format_verdict(contrast)),
        )
        for contrast in comparison.contrasts
    )
    against = f" against {comparison.against}" if comparison.against else ""
    worse = (
        f"{_name_contrast(contrast)}: {format_verdict(contrast)}"
        for contrast in comparison.contrasts
        if contrast.verdict == "worse"
    )
    return CheckList(
        title=f"{comparison.folder}{against}",
        checks=(*map(_check_contrast, comparison.contrasts), *_check_conditions(comparison.gate)),
        columns=("metric", "methods", "n", f"difference [{comparison.level:.0%}]", "verdict"),
        rows=rows,
        warnings=(*worse, *comparison.warnings),
        findings=tuple(describe_findings(comparison)),
    )


def _check_summary(report: Report, summary: Summary) -> Check:
    """Build the check of a row of a report; it is skipped if no case has a value."""
    name = format_place(summary.metric, summary.group)
    if not summary.scored:
        text = f"no case has a value: {summary.failed} failed, {summary.skipped} skipped"
        return Check(name, METRICS, "skipped", text)
    counts = f"{summary.scored} of {summary.planned} scored, {summary.skipped} skipped, {summary.failed} failed"
    # A figure alone never fails: what is too low is for the conditions of the gate to say.
    return Check(name, METRICS, "passed", f"{format_mean(summary)}; {counts}; {format_distribution(report, summary)}")


def _check_contrast(contrast: Contrast) -> Check:
    """Build the check of a contrast; it is skipped if no question has both figures."""
    if isinstance(contrast.difference_value, Undefined):
        return Check(_name_contrast(contrast), CONTRASTS, "skipped", contrast.difference_value.reason)
    counts = f"{contrast.won} won, {contrast.tied} tied, {contrast.lost} lost of {contrast.n}"
    return Check(
        _name_contrast(contrast),
        CONTRASTS,
        "passed",
        f"{format_verdict(contrast)}; {format_difference(contrast)}; {counts}",
    )


def _name_contrast(contrast: Contrast) -> str:
    return f"{format_place(contrast.metric, contrast.group)}: {contrast.method} against {contrast.baseline}"


def _check_conditions(gate: Iterable[GateCheck]) -> Iterator[Check]:
    for check in gate:
        yield Check(check.condition, GATE, check.status, "; ".join(check.told))


def format_github(check_list: CheckList) -> str:
    """Format checks as one annotation a line.

    A condition that is missed or cannot be decided is an error, a warning of the report a warning. A notice at the end
    holds the result.
    """
    return "\n".join(_yield_commands(check_list))


def _yield_commands(check_list: CheckList) -> Iterator[str]:
    for check in check_list.list_conditions():
        if check.status != "passed":
            yield format_workflow_command("error", f"greval: {check.status}", f"{check.name}; {check.text}")
    for line in check_list.warnings:
        yield format_workflow_command("warning", "greval", line)
    yield format_workflow_command("notice", "greval", f"{check_list.title}: {check_list.describe()}")


def format_workflow_command(level: str, title: str, text: str) -> str:
    r"""Format a workflow command; neither the title nor the text can end it or begin another one."""
    # The title is a property, which ends at a comma or a colon.
    title = _escape(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{_escape(text)}"


def _escape(text: str) -> str:
    """Escape the data of a command."""
    # As in GitHub's own toolkit. The percent sign comes first, or it would escape the other escapes.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def format_junit(check_list: CheckList) -> str:
    """Format checks as JUnit XML in ASCII: one suite, with a test case for each check.

    A missed condition is a failure, and a condition that cannot be decided is an error. Figures never fail: without a
    value they are skipped, otherwise they are passed, with the figure as their output.
    """
    counts = {
        "tests": str(len(check_list.checks)),
        "failures": str(check_list.count("failed")),
        "errors": str(check_list.count("undecided")),
        "skipped": str(check_list.count("skipped")),
        "time": NO_TIME,
    }
    root = Element("testsuites", {"name": "greval", **counts})
    suite = SubElement(root, "testsuite", {"name": _clean(check_list.title), **counts})
    for check in check_list.checks:
        _add_check(suite, check)
    if check_list.warnings:
        SubElement(suite, "system-err").text = _clean("\n".join(check_list.warnings))
    indent(root)
    # Other characters become references, so that the encoding of a terminal or a pipe cannot spoil the file.
    text: bytes = tostring(root, encoding="us-ascii", xml_declaration=True)
    return text.decode("ascii")


def _add_check(suite: Element, check: Check) -> None:
    """Add the test case of a check."""
    names = {"classname": _clean(check.group), "name": _clean(check.name), "time": NO_TIME}
    case, text = SubElement(suite, "testcase", names), _clean(check.text)
    outcome = OUTCOMES.get(check.status)
    if outcome == "skipped":
        SubElement(case, outcome, {"message": text})
    elif outcome:
        SubElement(case, outcome, {"message": text, "type": check.status}).text = text
    else:
        SubElement(case, "system-out").text = text


def _clean(text: str) -> str:
    """Return a text with a substitute for characters that XML cannot hold."""
    return NOT_XML.sub(REPLACEMENT, text)


def format_markdown(check_list: CheckList) -> str:
    """Format checks as Markdown: a heading, what was found, the conditions, the figures, and the warnings."""
    return "\n".join(_yield_lines(check_list))


def _yield_lines(check_list: CheckList) -> Iterator[str]:
    conditions = check_list.list_conditions()
    yield f"### greval: {check_list.describe()}" if conditions else "### greval"
    # Every text from the data is code, so that it formats nothing, links nowhere and mentions no user.
    for line in (check_list.title, *check_list.findings):
        yield from ("", format_code(line))
    if conditions:
        cells = (
            [LABELS[condition.status], format_code(condition.name), format_code(condition.text)]
            for condition in conditions
        )
        yield from _format_table(("result", "fails if", "figures"), cells)
    if check_list.rows:
        yield from _format_table(check_list.columns, (map(format_code, row) for row in check_list.rows))
    if check_list.warnings:
        yield ""
        yield from (f"- {format_code(line)}" for line in check_list.warnings)


def _format_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table of cells that are Markdown already."""
    yield from ("", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}")
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def format_code(text: str) -> str:
    """Format a text as code on one line, which Markdown shows verbatim, also in a cell of a table."""
    line = " ".join(text.split())
    if not line:
        return ""
    # A backtick ends a code span, and a pipe ends a cell of a table even within one.
    if not NO_CODE_SPAN.search(line):
        return f"`{line}`"
    return f"<code>{CODE_ENTITIES.sub(lambda match: f'&#{ord(match[0])};', line)}</code>"
