"""The direction and ends of a metric's scale, as a comparison needs them."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from greval.metrics.library import predefined
from greval.records.number_range import find_number_range
from greval.records.scale import Better, CategoricalScale, Scale
from greval.runs.manifest import read_scales


class ScaleDirection(NamedTuple):
    """Which figures are better, and the lowest and highest possible ones; `known` is false if this is a default.

    `computed` is true if the metric needs no judge.
    """

    better: Better = "higher"
    low: float | None = None
    high: float | None = None
    known: bool = True
    computed: bool = False

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
        >>> from greval.records.scale import MeasureScale
        >>> find_direction(MeasureScale(unit="s", better="lower"))
        ScaleDirection(better='lower', low=0.0, high=None, known=True, computed=False)
    """
    numbers = find_number_range(scale)
    better = "higher" if isinstance(scale, CategoricalScale) else scale.better
    return ScaleDirection(better, numbers.low, numbers.high) if numbers else ScaleDirection(better)


def find_directions(*facts: JsonValue) -> dict[str, ScaleDirection]:
    """Return the direction of each metric that a run contains or that is predefined, in their order.

    Args:
        facts: The manifest entry "metrics" of each run, the one with precedence first.
    """
    found: dict[str, ScaleDirection] = {}
    for fact in facts:
        metrics = [metric for metric in fact if isinstance(metric, dict)] if isinstance(fact, list) else []
        judged = {metric["name"] for metric in metrics if "steps" in metric}
        for name, scale in read_scales(fact).items():
            found.setdefault(name, find_direction(scale)._replace(computed=name not in judged))
    for name, known in predefined().items():
        found.setdefault(name, find_direction(known.scale)._replace(computed=known.kind == "computed"))
    return found
