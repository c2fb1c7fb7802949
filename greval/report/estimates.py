"""Estimates for the terminal: for each mean the figures from the judge, from the labels, and from both."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.console import Console
from rich.table import Table

from greval._util.joins import JOIN_REMARKS
from greval._util.wording import format_count
from greval.report.tables import (
    NO_INTERVAL,
    Cell,
    Column,
    build_table,
    format_interval,
    format_number,
    print_line,
    print_lines,
    print_tables,
    split_warnings,
)
from greval.trust.estimates.records import Estimate, EstimateFigure, EstimateRow

PROMINENT = "ENRICHED SAMPLE"
NAMES = {
    "judge": "judge alone",
    "labels_only": "labels alone",
    "plain": "labels, plain",
    "prediction_powered": "both (PPI++)",
    "with_rule": "both and a rule",
    "rogan_gladen": "Rogan-Gladen",
}
BEST = "prediction_powered"
MAX_LISTED = 5
MAX_REASON = 24
"""Longer reasons are printed in the last column."""


def render(estimate: Estimate, console: Console) -> None:
    """Print an estimate: important warnings, title, what people would say, the table, its explanation, warnings."""
    important, other_warnings = split_warnings(estimate.warnings, JOIN_REMARKS)
    print_lines(console, important, "bold red")
    print_line(console, _format_title(estimate), "italic")
    if estimate.enriched:
        line = f"{PROMINENT}: each label is weighted by the inverse probability of drawing its item"
        print_line(console, line, "bold yellow")
    if estimate.refused:
        print_line(console, f"NO ESTIMATE: {estimate.refused}", "bold red")
    print_lines(console, describe_estimates(estimate))
    print_tables(console, [_build_table(estimate)])
    print_lines(console, format_estimate_legend(estimate), "dim")
    print_lines(console, estimate.notes, "yellow")
    more = (
        [f"not read: {format_count(len(estimate.unread) - MAX_LISTED, 'more row')}"]
        if len(estimate.unread) > MAX_LISTED
        else []
    )
    unread = (f"not read: {row}" for row in estimate.unread[:MAX_LISTED])
    print_lines(console, (*unread, *more, *other_warnings), "yellow")


def describe_estimates(estimate: Estimate) -> Iterator[str]:
    """Yield a plain sentence for each of the first figures of all questions: what people would say, and the judge."""
    for row in [row for row in estimate.rows if not row.group][:MAX_LISTED]:
        people, judge = row.prediction_powered, row.judge
        if people.value is None or judge.value is None:
            continue
        is_difference = row.baseline is not None
        share = f", share of {row.category}" if row.category else ""
        text = f"{_name_methods(row)}{share}: people would say {format_estimate(people, sign=is_difference)}"
        low, high = (people.interval.low, people.interval.high) if people.interval else (judge.value, judge.value)
        side = ", which is too low" if judge.value < low else ", which is too high" if judge.value > high else ""
        yield f"{text}; the judge alone says {format_number(judge.value, digits=3, sign=is_difference)}{side}."


def format_estimate_legend(estimate: Estimate) -> Iterator[str]:
    """Yield sentences that explain the table's figures."""
    population = "new questions like these" if estimate.new_questions else "the judged items of this run"
    yield (
        f"Intervals: {estimate.level:.0%}. The interval of the judge alone assumes that the judge is right; the others "
        f"estimate what people would say of {population}."
    )
    yield "To halve: this number of labels, drawn in the same way, would give an interval of half the length."
    if any(row.with_rule for row in estimate.rows):
        yield f"The rule beside the judge: {estimate.rule}. It needs no judge, and cannot make the estimate wrong."
    if refused := next((row.plain.reason for row in estimate.rows if row.plain), None):
        yield f"labels, plain: {refused}."
    if lines := [f"{count} {name.replace('_', ' ')}" for name, count in estimate.not_used if count]:
        yield f"Annotations without a label: {', '.join(lines)}."


def format_estimate(figure: EstimateFigure, *, sign: bool = False) -> str:
    """Format a figure with its interval, or the reason why it has no value."""
    if figure.value is None:
        short = (figure.reason or "").split(":")[0]
        return short if len(short) <= MAX_REASON else "none"
    write = partial(format_number, digits=3, sign=sign)
    return f"{write(figure.value)} {format_interval(figure.interval, write) or NO_INTERVAL}"


def _format_title(estimate: Estimate) -> str:
    """Format the title: what is estimated, from how many labels."""
    drawn = "" if estimate.drawn_by == "items" else ", drawn by whole questions"
    return (
        f"{estimate.folder}, {estimate.metric}: what people would say of {estimate.judged:,} judged items, "
        f"estimated from labels of {estimate.labels:,}{drawn}"
    )


def _build_table(estimate: Estimate) -> Table:
    """Build the table, with a block of lines for each mean or difference."""
    columns = (
        Column(", by ".join(["method", *([" · ".join(estimate.by)] if estimate.by else [])]), left=True),
        Column("estimate", left=True, wrap=False),
        Column(f"mean [{estimate.level:.0%}]", left=True, wrap=False),
        Column("to halve", wrap=False),
        Column("", left=True),
    )
    return build_table(columns, (cells for row in estimate.rows for cells in _format_block(row, estimate.refused)))


def _format_block(row: EstimateRow, refused: str | None) -> Iterator[tuple[Cell, ...]]:
    """Yield the lines of one mean or difference."""
    names = iter(_format_names(row))
    for key, name in NAMES.items():
        figure: EstimateFigure | None = getattr(row, key)
        if figure is not None:
            cells = (
                name,
                format_estimate(figure, sign=row.baseline is not None),
                f"{figure.labels_to_halve:,}" if figure.labels_to_halve else "",
                format_remark(row, key, refused),
            )
            yield next(names, ""), *((cell, "bold" if key == BEST else "") for cell in cells)
    yield (next(names, ""),)


def _name_methods(row: EstimateRow) -> str:
    return row.method if row.baseline is None else f"{row.method} less {row.baseline}"


def _format_names(row: EstimateRow) -> Iterator[str]:
    """Yield the lines that name a block, with the number of labelled items."""
    yield _name_methods(row)
    if row.group:
        yield f"  {row.group}"
    if row.category:
        yield f"  share of {row.category}"
    yield f"  {row.labels:,} of {row.judged:,} labelled"


def format_remark(row: EstimateRow, key: str, refused: str | None = None) -> str:
    """Format the remarks on a figure."""
    figure: EstimateFigure = getattr(row, key)
    remarks: list[str] = []
    # What is wrong with all figures is above the table, and a short reason is in the cell itself.
    if figure.reason and figure.reason not in {refused, format_estimate(figure)} and key != "plain":
        remarks.append(figure.reason)
    if key == "judge":
        remarks.append("not corrected")
    if key == BEST and row.power is not None:
        strata = " (strata hold the judge)" if row.plain and not row.power else ""
        remarks.append(f"power {row.power:.2f}{strata}")
    if key == "rogan_gladen" and row.sensitivity is not None and row.specificity is not None:
        remarks.append(f"sensitivity {row.sensitivity:.2f}, specificity {row.specificity:.2f}")
    if figure.cut:
        remarks.append("cut at the end of the scale")
    return "; ".join(remarks)
