"""What the formats for CI show of a report or a comparison: a check for each figure and each condition of the gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from greval._util.wording import format_count
from greval.analysis.comparison.records import Comparison, Contrast
from greval.analysis.gate.records import CheckStatus, GateCheck
from greval.analysis.summary import Report
from greval.report.comparison import format_difference, format_verdict
from greval.report.console import (
    describe_sources,
    describe_troubles,
    describe_weighting,
    format_distribution,
    format_mean,
)
from greval.report.tables import format_place
from greval.stats.measured import Undefined
from greval.stats.summary import Summary

GATE = "greval.gate"
METRICS = "greval.metrics"
CONTRASTS = "greval.contrasts"


class Check(NamedTuple):
    """One check: a figure, which is passed or skipped, or a condition, which can also be failed or undecided."""

    name: str
    group: str
    status: CheckStatus | Literal["skipped"]
    text: str


class CheckList(NamedTuple):
    """The checks of a report or a comparison, its figures as a table, and its warnings."""

    title: str
    checks: tuple[Check, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...]

    def count(self, *statuses: str) -> int:
        """Return the number of checks with one of these statuses."""
        return sum(check.status in statuses for check in self.checks)

    def list_conditions(self) -> tuple[Check, ...]:
        """Return the checks that are conditions of the gate."""
        return tuple(check for check in self.checks if check.group == GATE)

    def describe(self) -> str:
        """Describe the result of the gate, or the number of figures if there is no gate.

        Example:
            >>> check = Check("tone < 0.7", GATE, "failed", "0.6 < 0.7 (n = 9)")
            >>> CheckList("runs/x", (check,), (), (), ()).describe()
            '1 of 1 condition failed'
        """
        conditions = self.list_conditions()
        if not conditions:
            return format_count(len(self.checks), "figure")
        failed, undecided = self.count("failed"), self.count("undecided")
        of = f"of {format_count(len(conditions), 'condition')}"
        found = [f"{count} {of} {what}" for count, what in ((failed, "failed"), (undecided, "undecided")) if count]
        return ", ".join(found) or f"{format_count(len(conditions), 'condition')} passed"


def list_report_checks(report: Report) -> CheckList:
    """List the checks of a report: one for each row of it, and one for each condition."""
    rows = tuple(
        (format_place(one.metric, one.group), format_mean(one), f"{one.scored} of {one.planned}", str(one.failed))
        for one in report.summaries
    )
    return CheckList(
        title=report.folder,
        checks=(*(_check_summary(report, one) for one in report.summaries), *_check_conditions(report.gate)),
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
            *(format_place(one.metric, one.group), f"{one.method} against {one.baseline}", str(one.n)),
            *(format_difference(one), format_verdict(one)),
        )
        for one in comparison.contrasts
    )
    against = f" against {comparison.against}" if comparison.against else ""
    worse = (f"{_name_contrast(one)}: {format_verdict(one)}" for one in comparison.contrasts if one.verdict == "worse")
    return CheckList(
        title=f"{comparison.folder}{against}",
        checks=(*map(_check_contrast, comparison.contrasts), *_check_conditions(comparison.gate)),
        columns=("metric", "methods", "n", f"difference [{comparison.level:.0%}]", "verdict"),
        rows=rows,
        warnings=(*worse, *comparison.warnings),
    )


def _check_summary(report: Report, one: Summary) -> Check:
    """Build the check of a row of a report; it is skipped if no case has a value."""
    name = format_place(one.metric, one.group)
    if not one.scored:
        text = f"no case has a value: {one.failed} failed, {one.skipped} skipped"
        return Check(name, METRICS, "skipped", text)
    counts = f"{one.scored} of {one.planned} scored, {one.skipped} skipped, {one.failed} failed"
    return Check(name, METRICS, "passed", f"{format_mean(one)}; {counts}; {format_distribution(report, one)}")


def _check_contrast(one: Contrast) -> Check:
    """Build the check of a contrast; it is skipped if no question has both figures."""
    if isinstance(one.difference_value, Undefined):
        return Check(_name_contrast(one), CONTRASTS, "skipped", one.difference_value.reason)
    counts = f"{one.won} won, {one.tied} tied, {one.lost} lost of {one.n}"
    return Check(_name_contrast(one), CONTRASTS, "passed", f"{format_verdict(one)}; {format_difference(one)}; {counts}")


def _name_contrast(one: Contrast) -> str:
    return f"{format_place(one.metric, one.group)}: {one.method} against {one.baseline}"


def _check_conditions(gate: Iterable[GateCheck]) -> Iterator[Check]:
    for one in gate:
        yield Check(one.condition, GATE, one.status, "; ".join(one.told))
