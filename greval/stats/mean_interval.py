"""The confidence interval of a mean: the scale decides on the method, and the interval stays within the scale."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from greval.stats.difference import ClusterSums, bounded_interval, student_interval
from greval.stats.interval import LEVEL, Interval, wilson_interval
from greval.stats.number_range import NumberRange

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

ROUNDING = 1e-12
"""Means that differ by no more than this share of the largest one, or of the scale, differ by rounding only."""


def mean_interval(
    sums: Sequence[float] | Floats, sizes: Sequence[int] | Integers, numbers: NumberRange, *, level: float = LEVEL
) -> Interval | None:
    """Compute the confidence interval of a mean over cases, each of which has one or more values.

    The method depends on the scale, not on the values that happen to be observed:

    - Two possible numbers, one per case: Wilson's interval ("wilson").
    - Two ends: Wilson's interval with the effective sample size, which is the number of independent
      0/1 values whose mean would be as uncertain as this one, p (1 - p) / variance, corrected
      for the degrees of freedom, cases - 1 ("wilson, effective n"; see `effective_wilson`).
    - Two ends and equal means, or a single case: the exact bound on the unobserved part
      ("bounded"; see `greval.stats.difference.bounded_interval`). A variance of 0 would claim certainty.
    - No upper end: Student's interval, clipped at the lower end ("t").

    Several values of one case are not independent. The variance is therefore that between cases, linearised
    for a ratio (Cochran 1977), so that a case with many items counts as one observation.

    Args:
        sums: The sum of each case's numbers, shape (cases,).
        sizes: The number of each case's numbers, at least 1.
        numbers: The range of numbers of the scale.
        level: The confidence level.

    Returns:
        The interval. None if nothing bounds it (fewer than two cases, or equal values, and no upper end),
        or if values are outside the ends, so that this is not their scale.

    Example:
        >>> depth = NumberRange(1.0, 5.0)
        >>> found = mean_interval([5.0] * 30, [1] * 30, depth)
        >>> found.method, round(found.low, 2), found.high
        ('bounded', 4.62, 5.0)
        >>> found = mean_interval([5.0] * 28 + [4.0, 3.0], [1] * 30, depth)
        >>> found.method, round(found.low, 2), round(found.high, 2)
        ('wilson, effective n', 4.62, 4.98)
    """
    import numpy as np

    found = ClusterSums(np.asarray(sums, dtype=float), np.asarray(sizes, dtype=np.int64))
    alone = bool((found.sizes == 1).all())
    if numbers.binary and alone and numbers.ends and bool(np.isin(found.sums, numbers.ends).all()):
        low, high = numbers.ends
        return wilson_interval(found.mean, len(found.sums), low=low, high=high, level=level)
    means = found.sums / found.sizes
    if not numbers.contains(means.min(), means.max()):
        return None
    mean = found.mean
    width = numbers.ends[1] - numbers.ends[0] if numbers.ends else 0.0
    equal = len(means) == 1 or means.max() - means.min() <= ROUNDING * max(abs(means).max(), width)
    if equal or (numbers.ends and mean in numbers.ends):  # rounding can move a mean to an end
        return bounded_interval(mean, len(means), level=level, ends=numbers.ends)
    if numbers.ends is None:
        return student_interval(found, level=level).clip((numbers.low, inf))
    return effective_wilson(found, numbers.ends, level=level)


def effective_wilson(found: ClusterSums, ends: tuple[float, float], *, level: float = LEVEL) -> Interval:
    """Compute Wilson's interval of a mean of bounded values, with the effective sample size from their variance.

    p is the mean scaled to 0 to 1. The effective sample size is p (1 - p) / variance, times
    (z / t)^2, with t of clusters - 1 degrees of freedom, because the variance is estimated. For independent
    0/1 values it is about their number. The interval never leaves the
    ends and is skewed towards the middle of the scale, as the distribution of such a mean is.

    Args:
        found: The values by cluster; the cluster means must differ.
        ends: The lowest and the highest number of the scale.
        level: The confidence level.

    Source:
        Korn and Graubard, "Confidence intervals for proportions with small expected number of positive
        counts estimated from survey data", Survey Methodology 1998; Franco, Little, Louis and Slud,
        "Comparative study of confidence intervals for proportions in complex sample surveys", Journal
        of Survey Statistics and Methodology 2019. For means of fractions the variance function
        p (1 - p) is that of Papke and Wooldridge, Journal of Applied Econometrics 1996.

    Example:
        >>> import numpy as np
        >>> from greval.stats.difference import sum_by_cluster
        >>> interval = effective_wilson(sum_by_cluster(np.array([0.0, 0.5, 1.0, 1.0]), None), (0.0, 1.0))
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.118, 0.954)
    """
    from scipy.special import ndtri

    low, high = ends
    centre = student_interval(found, level=level)
    half = (centre.high - centre.low) / 2
    spread = (found.mean - low) * (high - found.mean)
    effective = spread * (float(ndtri(0.5 + level / 2)) / half) ** 2
    interval = wilson_interval(found.mean, effective, low=low, high=high, level=level)
    return interval.model_copy(update={"method": "wilson, effective n"})
