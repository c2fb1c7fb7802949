"""A history as one HTML file: each metric by run with its intervals, and what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from greval.analysis.history.records import HistoryPoint, MetricHistory, RunHistory
from greval.report.history import (
    COLUMNS,
    describe_findings,
    format_heading,
    format_title,
    list_cells,
    list_legend,
)
from greval.report.html.plots import IntervalPlot, plot_interval
from greval.report.html.templating import PageOrigin, render_page

MARGIN = 0.05
"""The share of the axis that is left free on both sides."""


def build_history_page(history: RunHistory, *, made_at: datetime, command: str = "") -> str:
    """Build the page of a history, which needs no other file and makes no request."""
    import greval

    return render_page(
        "history.html",
        PageOrigin(made_at, command, greval.__version__),
        history=history,
        packed=None,
        title=format_heading(history),
        findings=[*describe_findings(history)],
        legend=[*list_legend(history)],
        columns=[column.name for column in COLUMNS],
        sections=[("metrics", "Metrics"), ("notes", "Notes")],
        **HISTORY_FUNCTIONS,
    )


def _plot_point(line: MetricHistory, point: HistoryPoint) -> IntervalPlot:
    """Draw the mean of a run on the axis of all runs of its metric."""
    ends = [end for each in line.points for end in (each.mean, *_list_ends(each))]
    low, high = min(ends), max(ends)
    margin = MARGIN * (high - low) or 1.0
    return plot_interval(point.mean, point.interval, (low - margin, high + margin))


def _list_ends(point: HistoryPoint) -> tuple[float, ...]:
    return (point.interval.low, point.interval.high) if point.interval else ()


HISTORY_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "format_title": format_title,
    "list_cells": list_cells,
    "plot_point": _plot_point,
}
"""The functions that the template calls."""
