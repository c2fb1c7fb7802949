"""Confidence intervals: ends, level and method; and the Wilson score interval."""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Literal

from pydantic import Field

from greval.errors import DataError
from greval.records.record import Record

LEVEL = 0.95

IntervalMethod = Literal["wilson", "wilson, effective n", "t", "bounded", "percentile", "expanded percentile", "bca"]


def check_level(level: float) -> float:
    """Return a confidence level if it is one.

    Raises:
        DataError: If it is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise DataError(f"level: expected a number between 0 and 1, got {level:g}; 0.95 is usual")
    return level


class Interval(Record):
    """A confidence interval of a mean, with its level and method."""

    low: float
    high: float
    level: Annotated[float, Field(gt=0, lt=1)] = LEVEL
    method: IntervalMethod

    def clip(self, ends: tuple[float, float] | None) -> Interval:
        """Return the interval clipped to the ends; its coverage does not change, as no mean is outside the ends."""
        if ends is None or (ends[0] <= self.low and self.high <= ends[1]):
            return self
        return self.model_copy(update={"low": max(self.low, ends[0]), "high": min(self.high, ends[1])})


def wilson_interval(mean: float, n: float, *, low: float = 0.0, high: float = 1.0, level: float = LEVEL) -> Interval:
    """Compute the Wilson score interval of a share, or of the mean of values that are either `low` or `high`.

    (p + z^2 / 2n ± z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), with p the mean scaled to 0 to 1 and
    z = Phi^-1(0.5 + level / 2).

    Args:
        mean: The observed mean, between `low` and `high`.
        n: The number of independent observations, above 0; an effective number need not be an integer.
        low: The lower of the two values.
        high: The higher of the two values.
        level: The confidence level.

    Source:
        Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.
    """
    from scipy.special import ndtri

    # The lower tail: it is finite also for levels next to 1, where 0.5 + level / 2 is rounded to 1.
    z = float(-ndtri(0.5 - level / 2))
    p = (mean - low) / (high - low)
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z / scale * sqrt(max(p * (1 - p), 0.0) / n + z * z / (4 * n * n))
    lower, upper = (low + end * (high - low) for end in (centre - half, centre + half))
    # Rounding must not leave the mean outside of its own interval.
    return Interval(low=min(lower, mean), high=max(upper, mean), level=level, method="wilson").clip((low, high))
