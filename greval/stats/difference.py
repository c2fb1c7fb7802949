"""The mean difference of two methods on the same questions: standard error and confidence intervals."""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, NamedTuple

from greval.stats.bootstrap import bca_interval, expand_level, percentile_interval, resample_means
from greval.stats.interval import Interval

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers


MIN_BOOTSTRAP_CLUSTERS = 8
"""The minimum number of clusters for the bootstrap; fewer represent a distribution too poorly to resample them."""


MIN_BCA_CLUSTERS = 30
"""The minimum number of clusters for BCa; with fewer, noise in the acceleration lowers its coverage."""


class ClusterSums(NamedTuple):
    """The sum of the values or differences of each cluster of questions, and its number of questions."""

    sums: Floats
    sizes: Integers

    @property
    def mean(self) -> float:
        """The mean over all questions; it does not depend on their order, to the last digit."""
        return fsum(self.sums.tolist()) / int(self.sizes.sum())

    @property
    def error(self) -> float:
        """The standard error of the mean, linearised if the clusters differ in size; as exact as `mean`.

        0 for a single cluster.

        Source:
            Cochran, "Sampling Techniques", 1977, section 6.4.
        """
        n = len(self.sums)
        rest = self.sums - self.mean * self.sizes
        unit = float(abs(rest).max()) or 1.0  # squares of very small numbers would be 0
        squares = fsum(((rest / unit) ** 2).tolist())
        return unit * sqrt(squares * n / (n - 1)) / int(self.sizes.sum()) if n > 1 else 0.0


def sum_by_cluster(differences: Floats, codes: Integers | None) -> ClusterSums:
    """Sum differences by cluster.

    Args:
        differences: The difference of each question, shape (questions,).
        codes: The cluster number of each question; None if each question is its own cluster.

    Example:
        >>> import numpy as np
        >>> sum_by_cluster(np.array([1.0, 0.0, 1.0]), np.array([4, 4, 7])).sizes.tolist()
        [2, 1]
    """
    import numpy as np

    if codes is None:
        return ClusterSums(differences, np.ones(len(differences), dtype=np.int64))
    _, places = np.unique(codes, return_inverse=True)
    return ClusterSums(
        np.bincount(places, weights=differences).astype(np.float64), np.bincount(places).astype(np.int64)
    )


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


def student_interval(found: ClusterSums, *, level: float) -> Interval:
    """Compute Student's interval of a mean difference, with the standard error linearised over clusters.

    Example:
        >>> import numpy as np
        >>> interval = student_interval(sum_by_cluster(np.array([1.0, 2.0, 3.0]), None), level=0.95)
        >>> round(interval.low, 2), round(interval.high, 2)
        (-0.48, 4.48)
    """
    from scipy.special import stdtrit

    mean = found.mean
    half = float(stdtrit(len(found.sums) - 1, 0.5 + level / 2)) * found.error
    return Interval(low=mean - half, high=mean + half, level=level, method="t")


def bounded_interval(value: float, n: int, *, level: float, ends: tuple[float, float] | None) -> Interval | None:
    """Compute the interval of a mean whose n observations are all equal.

    At confidence `level`, at most a share 1 - (1 - level)^(1/n) of the population differs from the observed value
    (Clopper and Pearson's bound for 0 of n), and by no more than the distance to the scale's ends. Undefined (None)
    without ends.

    Source:
        Clopper and Pearson, Biometrika 1934; for 0/1 known as the rule of three.

    Example:
        >>> round(bounded_interval(0.0, 100, level=0.95, ends=(-1.0, 1.0)).high, 3)
        0.03
    """
    if ends is None:
        return None
    share = 1 - (1 - level) ** (1 / n)
    low, high = value - share * (value - ends[0]), value + share * (ends[1] - value)
    return Interval(low=low, high=high, level=level, method="bounded").clip(ends)
