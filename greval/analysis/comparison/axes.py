"""The axes on which differences are drawn: one for all metrics of a unit, so that equal lengths mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import floor, log10

from greval.analysis.comparison.records import Contrast, DifferenceAxis
from greval.records.scale import ScaleDirection

MIN_SHARE = 0.25
"""The share of the width of a scale with two ends that an axis reaches at least to."""
NICE_FACTORS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""The ends of axes, times a power of ten."""
ROUNDING = 1e-9


def find_axes(contrasts: Iterable[Contrast], scales: Mapping[str, ScaleDirection]) -> Iterator[DifferenceAxis]:
    """Yield the axis of each unit: its metrics, and the end that holds all of their differences and intervals.

    Metrics have one unit if their scales name the same, or name none and are equally wide.
    """
    units: dict[tuple[str, float | None], dict[str, list[Contrast]]] = {}
    for one in contrasts:
        scale = scales.get(one.metric, ScaleDirection(known=False))
        width = scale.ends[1] - scale.ends[0] if scale.ends else None
        units.setdefault((scale.unit, width), {}).setdefault(one.metric, []).append(one)
    for (unit, width), metrics in units.items():
        ends = (abs(number) for rows in metrics.values() for one in rows for number in _list_numbers(one))
        end = _round_up(max(*ends, MIN_SHARE * (width or 0.0)) or 1.0)
        yield DifferenceAxis(unit=unit, metrics=tuple(metrics), end=end)


def _list_numbers(one: Contrast) -> tuple[float, ...]:
    ends = (one.interval.low, one.interval.high) if one.interval else ()
    return (one.difference or 0.0, *ends)


def _round_up(number: float) -> float:
    """Return the next nice number that is not below a positive one.

    Example:
        >>> _round_up(0.37), _round_up(4.0), _round_up(0.0012)
        (0.4, 4.0, 0.0015)
    """
    power = 10.0 ** floor(log10(number))
    factor = next((one for one in NICE_FACTORS if one * power >= number * (1 - ROUNDING)), NICE_FACTORS[-1])
    return float(f"{factor * power:.6g}")
