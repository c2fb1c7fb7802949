"""The range of numbers of a scale, which intervals, tests and axes need."""

from __future__ import annotations

from typing import NamedTuple, assert_never

from greval.records.scale import CategoricalScale, MeasureScale, Scale, ValueScale


class NumberRange(NamedTuple):
    """The lowest and the highest number that a scale can give, and whether there is no third one.

    `high` is missing (None) if the scale has no upper end, such as seconds or counts.
    """

    low: float
    high: float | None
    binary: bool = False

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, or None without an upper end."""
        return None if self.high is None else (self.low, self.high)

    def contains(self, lowest: float, highest: float) -> bool:
        """Return whether the lowest and the highest observed number are within the ends."""
        return self.low <= lowest and (self.high is None or highest <= self.high)


def find_number_range(scale: Scale) -> NumberRange | None:
    """Return the range of a scale; None for fewer than two numbers, as for categories of which at most one has a score.

    Example:
        >>> find_number_range(MeasureScale(unit="s"))
        NumberRange(low=0.0, high=None, binary=False)
        >>> find_number_range(ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."}))
        NumberRange(low=0.0, high=1.0, binary=True)
    """
    match scale:
        case CategoricalScale(categories=categories):
            scores = {category.score for category in categories if category.score is not None}
            return NumberRange(min(scores), max(scores), len(scores) == 2) if len(scores) > 1 else None  # noqa: PLR2004 - binary
        case ValueScale(range=(low, high), size=size):
            return NumberRange(float(low), float(high), size == 2)  # noqa: PLR2004 - binary
        case MeasureScale(low=low, high=high):
            return NumberRange(low, high)
        case _:
            assert_never(scale)
