"""An escalation for the terminal: who judged how many cases, what is guaranteed, agreement with people, and costs."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue
from rich.console import Console
from rich.table import Table

from greval._util.wording import format_count
from greval.report.tables import build_table, format_cost, format_measured, print_line, print_lines
from greval.trust.escalation.records import EscalatedMetric, Escalation

COLUMNS = ("verdicts of", "cases", "labels", "agreement with people [95 %]", "calls", "cost")


def render(content: JsonValue, console: Console) -> None:
    """Print an escalation as a run stores it: for each metric sentences, the two sides, and what was saved."""
    escalation = Escalation.model_validate(content, strict=False)
    for metric in escalation.metrics:
        console.print()
        print_line(console, " ".join(describe_escalation(metric, escalation)))
        console.print(build_escalation_table(metric))
        print_line(console, describe_saving(metric))
        print_lines(console, metric.warnings, "yellow")


def describe_stored_escalation(content: JsonValue) -> Iterator[str]:
    """Yield the sentences on each metric of an escalation as a run stores it; nothing if the run had one judge."""
    if content:
        escalation = Escalation.model_validate(content, strict=False)
        for metric in escalation.metrics:
            yield " ".join(describe_escalation(metric, escalation))
            yield describe_saving(metric)


def describe_escalation(metric: EscalatedMetric, escalation: Escalation) -> Iterator[str]:
    """Yield sentences on who judged how many cases of a metric, and what is guaranteed."""
    first, second, whole = metric.first, metric.second, metric.whole
    if metric.threshold is None:
        yield (
            f"{metric.metric}: {first.judge} decides nothing, and {second.judge} judged all "
            f"{format_count(whole.cases, 'case')}. No certainty is enough for an agreement of {escalation.agree:g}: of "
            f"the {format_count(metric.sure, 'labelled question')} where it is surest, people disagree on "
            f"{metric.sure - metric.agreeing}."
        )
        needed = metric.labels_needed
        yield (
            "More labels would not help." if needed is None else f"About {needed:,} labelled questions would be needed."
        )
        return
    yield (
        f"{metric.metric}: {first.judge} decided {first.cases:,} of {format_count(whole.cases, 'case')}, and "
        f"{second.judge} judged the other {second.cases:,} ({second.cases / max(whole.cases, 1):.0%})."
    )
    yield (
        f"Where its certainty is {metric.threshold:.6g} or more, {first.judge} agrees with people in at least "
        f"{escalation.agree:.0%} of the cases, with a probability of {1 - escalation.error:.0%}, if the "
        f"{format_count(metric.questions, 'labelled question')} are a random sample."
    )


def build_escalation_table(metric: EscalatedMetric) -> Table:
    """Build the table of the cases, agreement and costs of each judge and of both."""
    return build_table(COLUMNS, _list_rows(metric))


def _list_rows(metric: EscalatedMetric) -> Iterator[tuple[str, ...]]:
    """Yield the row of each judge and that of both."""
    first, second = metric.first_spending, metric.second_spending
    both = None if first.cost is None or second.cost is None else first.cost + second.cost
    spent = (first.calls, first.cost), (second.calls, second.cost), (first.calls + second.calls, both)
    for side, (calls, cost) in zip((metric.first, metric.second, metric.whole), spent, strict=True):
        figures = format_measured(side.agreement), f"{calls:,}", format_cost(cost)
        yield side.judge, f"{side.cases:,}", f"{side.labels:,}", *figures


def describe_saving(metric: EscalatedMetric) -> str:
    """Describe what the second judge would have spent on all cases, and what was saved of it."""
    alone = metric.alone
    if alone is None:
        return f"saved: all calls of {metric.second.judge}"
    calls = f"saved: {alone.calls - metric.second_spending.calls:,} of {alone.calls:,} calls of {metric.second.judge}"
    return calls if metric.saved is None else f"{calls}, {format_cost(metric.saved)} of {format_cost(alone.cost)}"
