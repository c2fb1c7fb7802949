"""How sure a mean is: 95 % intervals for shares, means and means over clustered items."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from greval.record import Record
from greval.stats.bootstrap import by_kind, different, one_by_one, percentile

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

LEVEL = 0.95
FEW_CLUSTERS = 2
MANY = 10_000
MANY_DIFFERENT = 2_000

IntervalMethod = Literal[
    "wilson",
    "wilson, effective n",
    "t",
    "cluster bootstrap",
    "cluster normal",
    "bounded",
    "percentile",
    "expanded percentile",
    "bca",
]


class Interval(Record):
    """An interval that holds the true mean with the probability `level`, and how it was computed."""

    low: float
    high: float
    level: Annotated[float, Field(gt=0, lt=1)] = LEVEL
    method: IntervalMethod

    def within(self, ends: tuple[float, float] | None) -> Interval:
        """Give the interval without what lies beyond the ends, where no mean can be; it holds the true mean as often.

        Example:
            >>> Interval(low=-0.1, high=0.4, method="t").within((0.0, 1.0)).low
            0.0
        """
        if ends is None or (ends[0] <= self.low and self.high <= ends[1]):
            return self
        return self.model_copy(update={"low": max(self.low, ends[0]), "high": min(self.high, ends[1])})


def wilson(mean: float, n: float, *, low: float = 0.0, high: float = 1.0, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a share, or of a mean of values that are either `low` or `high`.

    Args:
        mean: The observed mean, between `low` and `high`.
        n: How many independent observations it is of, above 0; an effective number need not be whole.
        low: The lower of the two values.
        high: The higher of them.
        level: The probability that the interval holds the true mean.

    Source:
        Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.

    Example:
        >>> interval = wilson(0.5, 10)
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.237, 0.763)
    """
    from scipy.special import ndtri  # noqa: PLC0415 - scipy is heavy, and not needed to import greval

    z = float(ndtri(0.5 + level / 2))
    p = (mean - low) / (high - low)
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z / scale * sqrt(max(p * (1 - p), 0.0) / n + z * z / (4 * n * n))
    lower, upper = (low + end * (high - low) for end in (centre - half, centre + half))
    return Interval(low=min(lower, mean), high=max(upper, mean), level=level, method="wilson").within((low, high))


def t_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval | None:
    """Give Student's interval of a mean; undefined (None) for fewer than two or for equal values.

    Example:
        >>> interval = t_interval([1.0, 2.0, 3.0])
        >>> round(interval.low, 2), round(interval.high, 2)
        (-0.48, 4.48)
    """
    import numpy as np  # noqa: PLC0415 - scipy's companion
    from scipy import stats  # noqa: PLC0415 - scipy is heavy, and not needed to import greval

    if len(values) < 2 or min(values) == max(values):  # noqa: PLR2004 - a variance needs two
        return None
    error = float(stats.sem(np.asarray(values, dtype=float)))
    low, high = stats.t.interval(level, len(values) - 1, loc=fsum(values) / len(values), scale=error)
    return Interval(low=float(low), high=float(high), level=level, method="t")


def cluster_bootstrap(clusters: Sequence[Sequence[float]], *, level: float = LEVEL) -> Interval | None:
    """Give the percentile bootstrap interval of the mean over items that come in clusters.

    Whole clusters are drawn, as items of one question are not independent of each other. Undefined
    (None) for fewer than two clusters, or where they do not differ: that tells nothing of a spread.

    Args:
        clusters: The values of each cluster, none of them empty.
        level: The probability that the interval holds the true mean.

    Source:
        Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.
    """
    if len({value for cluster in clusters for value in cluster}) <= 1:
        return None
    return ratio_bootstrap([fsum(cluster) for cluster in clusters], [len(cluster) for cluster in clusters], level=level)


def ratio_bootstrap(sums: Sequence[float], sizes: Sequence[int], *, level: float = LEVEL) -> Interval | None:
    """Give the same interval from the sum and the size of each cluster, in bounded memory.

    With more than `MANY` clusters, of which few differ, it is drawn how often each different one
    comes: the same distribution for a fraction of the work. Where many differ too, the interval is
    the normal one with the linearised variance of a ratio, which the bootstrap comes to; its method
    is "cluster normal".

    Args:
        sums: The sum of each cluster's values.
        sizes: How many values each cluster has, at least 1.
        level: The probability that the interval holds the true mean.

    Source:
        Davison and Hinkley (1997), as above; Cochran, "Sampling Techniques", 1977, section 6.4.

    Example:
        >>> interval = ratio_bootstrap([1.0, 2.0, 0.0], [2, 2, 2])
        >>> interval.low, interval.high
        (0.0, 1.0)
    """
    import numpy as np  # noqa: PLC0415 - scipy's companion

    if len(sums) < FEW_CLUSTERS:
        return None
    clusters = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=np.int64)
    method: IntervalMethod = "cluster bootstrap"
    if len(sums) <= MANY:
        low, high = _drawn_one_by_one(*clusters, level)
    elif len((found := different(*clusters))[1]) <= MANY_DIFFERENT:
        low, high = percentile(by_kind(*found[0], found[1]), level=level)
    else:
        low, high = _linearised(*clusters, level)
        method = "cluster normal"
    if low == high:
        return None
    return Interval(low=low, high=high, level=level, method=method)


def _drawn_one_by_one(sums: Floats, sizes: Integers, level: float) -> tuple[float, float]:
    """Draw each cluster by itself: exact for any clusters, and the dearest way."""
    return percentile(one_by_one(sums, sizes), level=level)


def _linearised(sums: Floats, sizes: Integers, level: float) -> tuple[float, float]:
    """Give the normal interval of a ratio of sums over clusters."""
    from scipy.special import ndtri  # noqa: PLC0415 - scipy is heavy, and not needed to import greval

    mean = float(sums.sum() / sizes.sum())
    rest = sums - mean * sizes
    error = sqrt(float(rest @ rest) * len(sums) / (len(sums) - 1)) / float(sizes.sum())
    half = float(ndtri(0.5 + level / 2)) * error
    return mean - half, mean + half
