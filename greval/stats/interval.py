"""How sure a mean is: 95 % intervals for shares, means and means over clustered items."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Annotated, Literal

from pydantic import Field

from greval.record import Record

LEVEL = 0.95
RESAMPLES = 2000
SEED = 20260101
FEW_CLUSTERS = 2

IntervalMethod = Literal["wilson", "t", "cluster bootstrap", "bounded"]


class Interval(Record):
    """An interval that holds the true mean with the probability `level`, and how it was computed."""

    low: float
    high: float
    level: Annotated[float, Field(gt=0, lt=1)] = LEVEL
    method: IntervalMethod


def wilson(mean: float, n: int, *, low: float = 0.0, high: float = 1.0, level: float = LEVEL) -> Interval:
    """Give the Wilson score interval of a share, or a conservative one of a mean bounded by `low` and `high`.

    A variable bounded by 0 and 1 with mean p has a variance of at most p (1 - p), that of a 0/1
    variable: for other bounded variables the interval is therefore wider than needed, never narrower.

    Args:
        mean: The observed mean, between `low` and `high`.
        n: How many independent observations it is of, at least 1.
        low: The lowest value that can occur.
        high: The highest value that can occur.
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
    ends = (max(0.0, centre - half), min(1.0, centre + half))
    method: IntervalMethod = "wilson" if (low, high) == (0.0, 1.0) else "bounded"
    return Interval(low=low + ends[0] * (high - low), high=low + ends[1] * (high - low), level=level, method=method)


def t_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval | None:
    """Give Student's interval of a mean; undefined (None) for fewer than two or for equal values.

    Example:
        >>> interval = t_interval([1.0, 2.0, 3.0])
        >>> round(interval.low, 2), round(interval.high, 2)
        (-0.48, 4.48)
    """
    from scipy import stats  # noqa: PLC0415 - scipy is heavy, and not needed to import greval

    if len(values) < 2 or len(set(values)) == 1:  # noqa: PLR2004 - a variance needs two
        return None
    error = float(stats.sem(values))
    mean = sum(values) / len(values)
    low, high = stats.t.interval(level, len(values) - 1, loc=mean, scale=error)
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
    import numpy as np  # noqa: PLC0415 - scipy's companion
    from scipy import stats  # noqa: PLC0415 - scipy is heavy, and not needed to import greval

    if len(clusters) < FEW_CLUSTERS or len({value for cluster in clusters for value in cluster}) == 1:
        return None
    sums = np.array([sum(cluster) for cluster in clusters])
    sizes = np.array([len(cluster) for cluster in clusters])
    drawn = stats.bootstrap(
        (sums, sizes),
        lambda s, n, axis: s.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    low, high = drawn.confidence_interval
    if low == high:
        return None
    return Interval(low=float(low), high=float(high), level=level, method="cluster bootstrap")
