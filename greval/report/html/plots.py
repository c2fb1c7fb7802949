"""The geometry of the small plots in rows of figures, in percent of their width; templates draw them as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from greval.records.scale import Scale, find_direction
from greval.report.console import format_figure
from greval.report.html.tones import find_tone
from greval.stats.interval import Interval

MAX_SEGMENTS = 12
"""The number of different values up to which a distribution is a bar of segments; more are columns."""
COLUMNS = 12
LABELLED_WIDTH = 9.0
"""The width in percent from which a segment has its count as a label."""


class IntervalPlot(NamedTuple):
    """The places of a figure, of the ends of its interval and of zero, each None if it is not drawn."""

    at: float
    low: float | None
    high: float | None
    zero: float | None


class Segment(NamedTuple):
    """A part of a bar, or a column: its place, its size, its tone, its label and its description."""

    at: float
    size: float
    tone: int | None
    label: str
    text: str


class DistributionPlot(NamedTuple):
    """The distribution of values: segments of a bar, or columns between two ends that are given as text."""

    segments: tuple[Segment, ...]
    ends: tuple[str, str] | None = None


def plot_interval(
    value: float, interval: Interval | None, axis: tuple[float, float], *, zero: bool = False
) -> IntervalPlot:
    """Place a figure with its interval on an axis."""

    def place(number: float) -> float:
        share = (number - axis[0]) / (axis[1] - axis[0])
        return round(100 * min(1.0, max(0.0, share)), 2)

    return IntervalPlot(
        at=place(value),
        low=place(interval.low) if interval else None,
        high=place(interval.high) if interval else None,
        zero=place(0.0) if zero else None,
    )


def find_axis(numbers: Sequence[float], scale: Scale | None) -> tuple[float, float]:
    """Return the ends of the axis that figures share: those of the scale, or else those of the figures."""
    direction = find_direction(scale) if scale else None
    if direction and direction.ends:
        return direction.ends
    usable = [number for number in numbers if isfinite(number)]
    low = min([*usable, *([] if direction is None or direction.low is None else [direction.low])], default=0.0)
    high = max(usable, default=1.0)
    # A single figure stands in the middle of an axis that has no length of its own.
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def plot_distribution(
    distribution: Mapping[str, int], scale: Scale | None, values: Sequence[str]
) -> DistributionPlot | None:
    """Draw how often each value occurs, None without values.

    `values` are those of the scale in its order; they are empty if there are too many to list.
    """
    total = sum(distribution.values())
    if not total:
        return None
    listed = [*values, *(value for value in distribution if value not in values)]
    if len(listed) > MAX_SEGMENTS or not values:
        return _plot_columns(distribution, scale)
    counts = {value: distribution.get(value, 0) for value in listed}
    return build_bar(
        [
            (count, find_tone(scale, value), f"{value}: {count:,} of {total:,} ({count / total:.0%})")
            for value, count in counts.items()
        ]
    )


def build_bar(parts: Sequence[tuple[int, int | None, str]]) -> DistributionPlot | None:
    """Build a bar of segments from the count, the tone and the description of each, None without any count."""
    total = sum(count for count, *_ in parts)
    segments, at = [], 0.0
    for count, tone, text in parts:
        if count:
            size = 100 * count / total
            label = f"{count:,}" if size >= LABELLED_WIDTH else ""
            # Rounded here only: the errors of many segments would add up.
            segments.append(Segment(round(at, 2), round(size, 2), tone, label, text))
            at += size
    return DistributionPlot(tuple(segments)) if segments else None


def _plot_columns(distribution: Mapping[str, int], scale: Scale | None) -> DistributionPlot | None:
    """Draw columns of equal width, None if a value is not a number."""
    try:
        numbers = {float(value): count for value, count in distribution.items()}
    except ValueError:
        return None
    low, high = find_axis([*numbers], scale)
    bins: Counter[int] = Counter()
    for number, count in numbers.items():
        # The highest value belongs to the last column, and values outside of the scale to the outermost ones.
        bins[min(COLUMNS - 1, max(0, int((number - low) / (high - low) * COLUMNS)))] += count
    step, most = (high - low) / COLUMNS, max(bins.values())
    columns = tuple(
        Segment(
            at=round(100 * index / COLUMNS, 2),
            size=round(100 * bins[index] / most, 2),
            tone=find_tone(scale, str(low + (index + 0.5) * step)),
            label="",
            text=f"{format_figure(low + index * step)} to {format_figure(low + (index + 1) * step)}: {bins[index]:,}",
        )
        for index in sorted(bins)
    )
    return DistributionPlot(columns, (format_figure(low), format_figure(high)))
