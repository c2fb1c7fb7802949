"""What a comparison needs of a metric's scale: which way is better, and where it ends."""

from __future__ import annotations

from typing import NamedTuple, assert_never

from pydantic import JsonValue, TypeAdapter

from greval.library import predefined
from greval.metric import ComputedMetric
from greval.scale import Better, CategoricalScale, MeasureScale, Scale, ValueScale

_SCALE: TypeAdapter[Scale] = TypeAdapter(Scale)


class Direction(NamedTuple):
    """Which figures are better, and the lowest and highest that can occur; `known` is false where it is a guess.

    `computed` says that the metric asks no judge.
    """

    better: Better = "higher"
    low: float | None = None
    high: float | None = None
    known: bool = True
    computed: bool = False

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, None where one is missing."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def differences(self) -> tuple[float, float] | None:
        """The lowest and highest difference of two figures, None where there is no end."""
        return (self.ends[0] - self.ends[1], self.ends[1] - self.ends[0]) if self.ends else None


def direction(scale: Scale) -> Direction:
    """Give what a scale says of its numbers.

    Example:
        >>> direction(MeasureScale(unit="s", better="lower"))
        Direction(better='lower', low=0.0, high=None, known=True, computed=False)
    """
    match scale:
        case CategoricalScale(categories=categories):
            scores = [category.score for category in categories if category.score is not None]
            return Direction("higher", min(scores), max(scores)) if len(set(scores)) > 1 else Direction()
        case ValueScale(range=(low, high), better=better):
            return Direction(better, float(low), float(high))
        case MeasureScale(low=low, high=high, better=better):
            return Direction(better, low, high)
        case _:
            assert_never(scale)


def directions(*facts: JsonValue) -> dict[str, Direction]:
    """Give the direction of each metric that a run holds or that ships, in their order.

    Args:
        facts: The fact "metrics" of each run, the one that counts most first.
    """
    found: dict[str, Direction] = {}
    for fact in facts:
        for metric in fact if isinstance(fact, list) else ():
            if isinstance(metric, dict) and isinstance(metric.get("scale"), dict):
                way = direction(_SCALE.validate_python(metric["scale"]))
                found.setdefault(str(metric["name"]), way._replace(computed="steps" not in metric))
    for name, known in predefined().items():
        found.setdefault(name, direction(known.scale)._replace(computed=isinstance(known, ComputedMetric)))
    return found
