"""Findings as plots: which figures are drawn on which axis; `greval.report.plots` draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from greval.analysis.comparison.records import Comparison, Contrast
from greval.analysis.duel.records import Duel, DuelVerdict
from greval.analysis.history.records import RunHistory
from greval.records.scale import ScaleDirection
from greval.report.agreement import GROUP_FIGURES
from greval.report.estimates import BEST
from greval.report.estimates import NAMES as ESTIMATES
from greval.report.finding_rows import JUDGE_AND_PEOPLE, list_compared_figures
from greval.report.history import format_title
from greval.report.plots import PlotAxis, PlotPoint, PointTone
from greval.report.tables import format_name, format_place
from greval.stats.interval import Interval, Measured, MeasuredValue, Undefined
from greval.stats.summary import Summary
from greval.trust.agreement.records import Agreement
from greval.trust.estimates.records import Estimate, EstimateFigure, EstimateRow
from greval.trust.probing.records import Probe

ERRORS = {"mae", "bias"}
"""The figures of agreement that have no highest value; that of the others is 1."""
ALL = "all"
"""The label of a point that is of all cases."""
TONES: dict[str, PointTone] = {"better": "better", "worse": "worse"}
"""The tones of verdicts of a comparison; other verdicts are neutral."""

DUEL_TONES: dict[DuelVerdict, PointTone] = {"first preferred": "better", "second preferred": "worse"}
"""The tones of verdicts of a duel, as those of a comparison of the first method with the second."""


def plot_summaries(summaries: Sequence[Summary], directions: Mapping[str, ScaleDirection]) -> Iterator[PlotAxis]:
    """Yield an axis for each metric with numbers: the mean of each group, on an axis as long as the scale."""
    by_metric: dict[str, list[Summary]] = {}
    for summary in summaries:
        by_metric.setdefault(summary.metric, []).append(summary)
    for metric, groups in by_metric.items():
        if any(summary.mean is not None for summary in groups):
            direction = directions.get(metric, ScaleDirection())
            points = [_build_point(summary.group or ALL, summary.mean, summary.interval) for summary in groups]
            yield PlotAxis(f"{metric}: mean", points, limits=(direction.low, direction.high))


def plot_comparison(comparison: Comparison) -> Iterator[PlotAxis]:
    """Yield an axis for each metric: the difference of each pair of methods and each group, with a line at 0."""
    by_metric: dict[str, list[Contrast]] = {}
    for contrast in comparison.contrasts:
        by_metric.setdefault(contrast.metric, []).append(contrast)
    several = len({(contrast.method, contrast.baseline) for contrast in comparison.contrasts}) > 1
    for metric, contrasts in by_metric.items():
        points = [
            _build_point(
                _name_contrast(contrast, several=several),
                contrast.difference,
                contrast.interval,
                TONES.get(contrast.verdict, "neutral"),
            )
            for contrast in contrasts
        ]
        pair = "" if several else f", {_name_pair(contrasts[0])}"
        axis = next((axis for axis in comparison.axes if metric in axis.metrics), None)
        unit = f" in {axis.unit}" if axis and axis.unit else ""
        title = f"{metric}: difference{unit}{pair} ({contrasts[0].better} is better)"
        # Metrics of one unit share an axis, so that equal differences are equally long.
        yield PlotAxis(title, points, reference=0.0, limits=(-axis.end, axis.end) if axis else (None, None))


def plot_history(history: RunHistory) -> Iterator[PlotAxis]:
    """Yield an axis for each metric and method: the mean of each run, oldest first."""
    for line in history.metrics:
        verdicts = {change.run: TONES[change.verdict] for change in line.changes}
        points = [
            _build_point(history.runs[point.run].label, point.mean, point.interval, verdicts.get(point.run, "neutral"))
            for point in line.points
        ]
        yield PlotAxis(f"{format_title(line)}: mean", points)


def _name_contrast(contrast: Contrast, *, several: bool) -> str:
    return format_place(_name_pair(contrast), contrast.group) if several else contrast.group or ALL


def _name_pair(contrast: Contrast) -> str:
    return f"{contrast.method} less {contrast.baseline}"


def plot_duel(duel: Duel) -> Iterator[PlotAxis]:
    """Yield an axis for each metric: the win rate of each pair of methods, with a line at one half."""
    for findings in duel.metrics:
        points = [
            _build_measured_point(
                f"{pair.first} against {pair.second}", pair.win_rate, DUEL_TONES.get(pair.verdict, "neutral")
            )
            for pair in findings.pairs
        ]
        yield PlotAxis(f"{findings.metric}: win rate", points, limits=(0.0, 1.0), reference=0.5)


def plot_agreement(agreement: Agreement) -> Iterator[PlotAxis]:
    """Yield an axis for each main figure over all items: judge and people, people among themselves, and the floors."""
    overall = agreement.groups[0]
    compared = list_compared_figures(overall)
    for name in (*GROUP_FIGURES[overall.judge.kind], "alpha"):
        points = [
            _build_measured_point(label, figure, "neutral" if label == JUDGE_AND_PEOPLE else "muted")
            for label, figures in compared.items()
            if (figure := figures.get(name))
        ]
        if points:
            high = None if name in ERRORS else 1.0
            title = f"{agreement.metric}: {format_name(name, overall.judge.distance)}"
            yield PlotAxis(title, points, limits=(None, high))


def plot_estimate(estimate: Estimate) -> Iterator[PlotAxis]:
    """Yield an axis for each mean, share or difference: each way to estimate it."""
    for row in estimate.rows:
        figures: dict[str, EstimateFigure | None] = {name: getattr(row, name) for name in ESTIMATES}
        points = [
            _build_point(ESTIMATES[name], figure.value, figure.interval, "neutral" if name == BEST else "muted")
            for name, figure in figures.items()
            if figure is not None
        ]
        yield PlotAxis(_name_estimate(estimate, row), points, reference=None if row.baseline is None else 0.0)


def _name_estimate(estimate: Estimate, row: EstimateRow) -> str:
    """Return the title of an estimate: the metric, and of what the figure is."""
    method = row.method if row.baseline is None else f"{row.method} less {row.baseline}"
    share = f"share of {row.category}" if row.category else ""
    what = ", ".join(part for part in (method, row.group, share) if part)
    return f"{estimate.metric}: {what or 'mean'}"


def plot_probe(probe: Probe) -> Iterator[PlotAxis]:
    """Yield one axis: the share of planted faults that the judge caught, for each check."""
    points = [_build_measured_point(check.name, check.rate) for check in probe.checks]
    if points:
        yield PlotAxis(f"{probe.metric}: planted faults caught", points, limits=(0.0, 1.0))


def _build_measured_point(label: str, figure: Measured, tone: PointTone = "neutral") -> PlotPoint:
    match figure:
        case MeasuredValue(value=value, interval=interval):
            return _build_point(label, value, interval, tone)
        case Undefined():
            return PlotPoint(label, None, tone=tone)


def _build_point(label: str, value: float | None, interval: Interval | None, tone: PointTone = "neutral") -> PlotPoint:
    low, high = (interval.low, interval.high) if interval else (None, None)
    return PlotPoint(label, value, low, high, tone)
