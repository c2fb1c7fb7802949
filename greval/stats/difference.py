"""The mean difference of two methods on the same questions, with its bootstrap intervals."""

from __future__ import annotations

from typing import NamedTuple

from greval.stats.bootstrap import bca_interval, expand_level, percentile_interval, resample_means
from greval.stats.interval import Interval
from greval.stats.mean_interval import ClusterSums, bounded_interval, student_interval

MIN_BOOTSTRAP_CLUSTERS = 8
"""The minimum number of clusters for the bootstrap; fewer represent a distribution too poorly to resample them."""
MIN_BCA_CLUSTERS = 30
"""The minimum number of clusters for BCa; with fewer, noise in the acceleration lowers its coverage."""


class DifferenceIntervals(NamedTuple):
    """Three intervals of one difference; None if undefined."""

    interval: Interval | None
    percentile: Interval | None
    bca: Interval | None


def compute_difference_intervals(
    found: ClusterSums, *, level: float, ends: tuple[float, float] | None = None
) -> DifferenceIntervals:
    """Compute the bootstrap intervals of a mean difference: expanded percentile, plain percentile, BCa.

    Whole clusters are drawn. The first and the BCa interval use the level of
    `greval.stats.bootstrap.expand_level`, because plain bootstrap intervals of few clusters are too narrow. No
    bootstrap interval leaves the range of the observed values. With fewer than `MIN_BOOTSTRAP_CLUSTERS` clusters
    the first is therefore Student's. BCa needs `MIN_BCA_CLUSTERS`. If all differences are equal, resampling is
    impossible, and the first is that of `bounded_interval`.

    Args:
        found: The differences by cluster.
        level: The confidence level.
        ends: The lowest and the highest possible difference; None if unbounded.
    """
    means = found.sums / found.sizes
    if len(means) < 2 or means.min() == means.max():  # noqa: PLR2004 - a variance needs two
        return DifferenceIntervals(bounded_interval(float(means[0]), len(means), level=level, ends=ends), None, None)
    drawn = resample_means(*found)
    if len(means) < MIN_BOOTSTRAP_CLUSTERS:
        low, high = percentile_interval(drawn, level=level)
        plainly = Interval(low=low, high=high, level=level, method="percentile")
        return DifferenceIntervals(student_interval(found, level=level).clip(ends), plainly, None)
    wide = expand_level(level, len(means))
    low, high = percentile_interval(drawn, level=wide)
    plain = percentile_interval(drawn, level=level)
    corrected = bca_interval(drawn, *found, level=wide) if len(means) >= MIN_BCA_CLUSTERS else None
    return DifferenceIntervals(
        Interval(low=low, high=high, level=level, method="expanded percentile"),
        Interval(low=plain[0], high=plain[1], level=level, method="percentile"),
        corrected and Interval(low=corrected[0], high=corrected[1], level=level, method="bca"),
    )
