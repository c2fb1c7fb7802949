"""Rows of figures with their plots: one for each metric and group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from greval.analysis.summary import Report
from greval.records.scale import Scale
from greval.report.console import format_distribution, format_mean, format_plain_mean
from greval.report.html.plots import DistributionPlot, IntervalPlot, find_axis, plot_distribution, plot_interval
from greval.stats.summary import Summary


class FigureRow(NamedTuple):
    """The figures of one metric and group as texts and plots.

    `mean`, `interval` and `number` are parts of the mean as reports print it. `failed` and `skipped` count
    cases, and are empty without one.
    """

    metric: str
    group: str
    mean: str
    interval: str
    number: str
    plot: IntervalPlot | None
    spread: DistributionPlot | None
    spread_text: str
    scored: str
    failed: str
    skipped: str


def build_figure_rows(
    report: Report, summaries: Sequence[Summary], scales: Mapping[str, Scale]
) -> dict[str, list[FigureRow]]:
    """Build the rows of each metric from the summaries of a report, or from those by a tag."""
    metrics: dict[str, list[Summary]] = {}
    for summary in summaries:
        metrics.setdefault(summary.metric, []).append(summary)
    return {
        metric: _build_rows(report, metric_summaries, scales.get(metric))
        for metric, metric_summaries in metrics.items()
    }


def _build_rows(report: Report, summaries: Sequence[Summary], scale: Scale | None) -> list[FigureRow]:
    numbers = [summary.mean for summary in summaries if summary.mean is not None]
    intervals = [summary.interval for summary in summaries if summary.interval]
    ends = [end for interval in intervals for end in (interval.low, interval.high)]
    axis = find_axis([*numbers, *ends], scale)
    return [_build_row(report, summary, scale, axis) for summary in summaries]


def _build_row(report: Report, summary: Summary, scale: Scale | None, axis: tuple[float, float]) -> FigureRow:
    plain = format_plain_mean(summary)
    # The text of the terminal is taken apart, so that the page cannot print another figure.
    mean, _, interval_and_count = format_mean(summary).removesuffix(plain).partition(" ")
    interval, _, number = interval_and_count.rpartition(" ")
    return FigureRow(
        metric=summary.metric,
        group=summary.group,
        mean=mean,
        interval=interval,
        number=f"{number}{plain}",
        plot=None if summary.mean is None else plot_interval(summary.mean, summary.interval, axis),
        spread=plot_distribution(summary.distribution, scale, report.scales.get(summary.metric, ())),
        spread_text=format_distribution(report, summary),
        scored=f"{summary.scored:,} of {summary.planned:,}",
        failed=f"{summary.failed:,} failed" if summary.failed else "",
        skipped=f"{summary.skipped:,} skipped" if summary.skipped else "",
    )
