"""The direction of a scale: whether higher or lower figures are better, and the lowest and highest possible ones."""

from __future__ import annotations

from typing import NamedTuple

from greval.records.number_range import find_number_range
from greval.records.scale import Better, CategoricalScale, MeasureScale, Scale


class ScaleDirection(NamedTuple):
    """Which figures are better, and the lowest and highest possible ones; `known` is false if this is a default.

    `computed` is true if the metric needs no judge. `unit` is that of a measure, such as s; empty for other scales.
    """

    better: Better = "higher"
    low: float | None = None
    high: float | None = None
    known: bool = True
    computed: bool = False
    unit: str = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, or None if one is missing."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def difference_ends(self) -> tuple[float, float] | None:
        """The lowest and highest possible difference of two figures, or None if an end is missing."""
        return (self.ends[0] - self.ends[1], self.ends[1] - self.ends[0]) if self.ends else None


def find_direction(scale: Scale) -> ScaleDirection:
    """Return the direction and ends of a scale.

    Example:
        >>> find_direction(MeasureScale(unit="s", better="lower"))
        ScaleDirection(better='lower', low=0.0, high=None, known=True, computed=False, unit='s')
    """
    numbers = find_number_range(scale)
    better = "higher" if isinstance(scale, CategoricalScale) else scale.better
    unit = (scale.unit or "") if isinstance(scale, MeasureScale) else ""
    return (
        ScaleDirection(better, numbers.low, numbers.high, unit=unit) if numbers else ScaleDirection(better, unit=unit)
    )
