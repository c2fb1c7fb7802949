"""Measured values and their confidence intervals, those of shares and those of means.

The scale decides on the method of an interval of a mean, and the interval stays within the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import exp, fsum, inf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field

from greval.errors import DataError
from greval.records.record import Record
from greval.records.scale import NumberRange

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

LEVEL = 0.95
EXPANDED_DEGREES = 1_000
"""The degrees of freedom from which on the expansion of Student's quantile is exact to twelve digits."""
MAX_STEPS = 1_000
QUANTILE_ROUNDING = 1e-15

IntervalMethod = Literal[
    "wilson", "wilson, effective n", "t", "bounded", "percentile", "expanded percentile", "bca", "fieller"
]


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


# scipy has both quantiles; its import takes longer than all else that prints a report.
find_normal_quantile = NormalDist().inv_cdf
"""The quantile of the normal distribution for a share of it. A lower tail is finite also for levels next to 1."""


@cache
def find_student_quantile(degrees: int, share: float) -> float:
    """Return the quantile of Student's distribution for a share of at most one half.

    The tail is a regularized incomplete beta function, by its continued fraction, and Newton's method inverts it. From
    1,000 degrees of freedom on, the expansion around the normal quantile is as exact.

    Source:
        Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.5.8, 26.5.27 and 26.7.5; Lentz, "Generating
        Bessel functions in Mie scattering calculations using continued fractions", Applied Optics 1976.

    Example:
        >>> round(find_student_quantile(4, 0.025), 6)
        -2.776445
    """
    z = find_normal_quantile(share)
    if share == 0.5 or degrees >= EXPANDED_DEGREES:  # noqa: PLR2004 - the middle
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
        )
        return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, 1))
    low, high, t = 0.0, inf, -z
    for _ in range(MAX_STEPS):
        tail = _compute_student_tail(degrees, t)
        low, high = (t, high) if tail > share else (low, t)
        log_density = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - (degrees + 1) / 2 * log1p(t * t / degrees)
        # on a logarithmic scale, on which tails are nearly straight
        step = log(tail / share) * tail / exp(log_density) * sqrt(degrees * pi)
        following = t + step
        if not low < following < high:
            following = 2 * t + 1 if high == inf else (low + high) / 2
        if abs(following - t) <= QUANTILE_ROUNDING * t:
            return -following
        t = following
    return -t


def _compute_student_tail(degrees: int, t: float) -> float:
    """Compute the probability of Student's distribution above a positive number."""
    a, b = degrees / 2, 0.5
    # both shares by themselves, because their sum of 1 would round the small one
    x, y = degrees / (degrees + t * t), t * t / (degrees + t * t)
    log_front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y)
    if x < (a + 1) / (a + b + 2):
        return exp(log_front) * _sum_beta_fraction(a, b, x) / a / 2
    return (1 - exp(log_front) * _sum_beta_fraction(b, a, y) / b) / 2


def _sum_beta_fraction(a: float, b: float, x: float) -> float:
    """Sum the continued fraction of the incomplete beta function."""
    numerator, denominator = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = denominator
    for m in range(1, MAX_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            denominator = 1 / (1 + part * denominator)
            numerator = 1 + part / numerator
            fraction *= denominator * numerator
        if abs(denominator * numerator - 1) <= QUANTILE_ROUNDING:
            break
    return fraction


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
    z = -find_normal_quantile(0.5 - level / 2)
    p = (mean - low) / (high - low)
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z / scale * sqrt(max(p * (1 - p), 0.0) / n + z * z / (4 * n * n))
    lower, upper = (low + end * (high - low) for end in (centre - half, centre + half))
    # Rounding must not leave the mean outside of its own interval.
    return Interval(low=min(lower, mean), high=max(upper, mean), level=level, method="wilson").clip((low, high))


Distance = Literal["nominal", "ordinal", "interval"]
"""How far Krippendorff's alpha takes two values to be apart: equal or not, by their order, or by their difference."""


class MeasuredValue(Record):
    """A value of `n` observations.

    `interval` resamples single items, `clustered` all items of a question together. Each is missing (None)
    if the spread cannot be estimated; `clustered` also if each question has a single item.
    """

    status: Literal["known"] = "known"
    value: float
    n: int
    interval: Interval | None = None
    clustered: Interval | None = None


class Undefined(Record):
    """A value that is not defined for these data, with the reason."""

    status: Literal["undefined"] = "undefined"
    n: int
    reason: str


Measured = Annotated[MeasuredValue | Undefined, Field(discriminator="status")]


class NumberSpread(Record):
    """The distribution of numbers; `sd` divides by n - 1 and is undefined for one number. Extremes have no interval."""

    n: int
    mean: Measured
    median: Measured
    sd: Measured
    min: float
    max: float


def build_measured(value: float | None, n: int, reason: str, *, interval: Interval | None = None) -> Measured:
    """Build a value, or the reason why it is missing."""
    if value is None:
        return Undefined(n=n, reason=reason)
    return MeasuredValue(value=value, n=n, interval=interval)


ROUNDING = 1e-12
"""Means that differ by no more than this share of the largest one, or of the scale, differ by rounding only."""
MIN_RATIO_LEVEL = 1e-6
"""Below this level the ratio of a normal quantile to Student's is its limit, to six digits."""


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
        residuals = self.sums - self.mean * self.sizes
        # Squares of very small numbers would be 0.
        unit = float(abs(residuals).max()) or 1.0
        squares = fsum(((residuals / unit) ** 2).tolist())
        return unit * sqrt(squares * n / (n - 1)) / int(self.sizes.sum()) if n > 1 else 0.0


def sum_by_cluster(differences: Floats, codes: Integers | None) -> ClusterSums:
    """Sum differences by cluster."""
    import numpy as np

    if codes is None:
        return ClusterSums(differences, np.ones(len(differences), dtype=np.int64))
    _, places = np.unique(codes, return_inverse=True)
    sums, sizes = np.bincount(places, weights=differences), np.bincount(places)
    return ClusterSums(sums.astype(np.float64), sizes.astype(np.int64))


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
      ("bounded"; see `bounded_interval`). A variance of 0 would claim certainty.
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
    """
    import numpy as np

    clusters = ClusterSums(np.asarray(sums, dtype=float), np.asarray(sizes, dtype=np.int64))
    alone = bool((clusters.sizes == 1).all())
    # Several values of one case are not independent, so that their mean is no simple proportion.
    if numbers.binary and alone and numbers.ends and bool(np.isin(clusters.sums, numbers.ends).all()):
        low, high = numbers.ends
        return wilson_interval(clusters.mean, len(clusters.sums), low=low, high=high, level=level)
    means = clusters.sums / clusters.sizes
    if not numbers.contains(means.min(), means.max()):
        return None
    mean = clusters.mean
    width = numbers.ends[1] - numbers.ends[0] if numbers.ends else 0.0
    equal = len(means) == 1 or means.max() - means.min() <= ROUNDING * max(abs(means).max(), width)
    # Rounding can move a mean to an end, where the effective sample size would be 0.
    if equal or (numbers.ends and mean in numbers.ends):
        return bounded_interval(mean, len(means), level=level, ends=numbers.ends)
    if numbers.ends is None:
        return student_interval(clusters, level=level).clip((numbers.low, inf))
    return effective_wilson(clusters, numbers.ends, level=level)


def effective_wilson(clusters: ClusterSums, ends: tuple[float, float], *, level: float = LEVEL) -> Interval:
    """Compute Wilson's interval of a mean of bounded values, with the effective sample size from their variance.

    p is the mean scaled to 0 to 1. The effective sample size is p (1 - p) / variance, times
    (z / t)^2, with t of clusters - 1 degrees of freedom, because the variance is estimated. For independent
    0/1 values it is about their number. The interval never leaves the
    ends and is skewed towards the middle of the scale, as the distribution of such a mean is.

    Source:
        Korn and Graubard, "Confidence intervals for proportions with small expected number of positive
        counts estimated from survey data", Survey Methodology 1998; Franco, Little, Louis and Slud,
        "Comparative study of confidence intervals for proportions in complex sample surveys", Journal
        of Survey Statistics and Methodology 2019. For means of fractions the variance function
        p (1 - p) is that of Papke and Wooldridge, Journal of Applied Econometrics 1996.
    """
    low, high = ends
    # near a level of 0 both quantiles are rounded to 0, and below this level their ratio is its limit
    ratio_level = max(level, MIN_RATIO_LEVEL)
    centre = student_interval(clusters, level=ratio_level)
    half = (centre.high - centre.low) / 2
    spread = (clusters.mean - low) * (high - clusters.mean)
    effective = spread * (find_normal_quantile(0.5 - ratio_level / 2) / half) ** 2
    interval = wilson_interval(clusters.mean, effective, low=low, high=high, level=level)
    return interval.model_copy(update={"method": "wilson, effective n"})


def student_interval(clusters: ClusterSums, *, level: float) -> Interval:
    """Compute Student's interval of a mean difference, with the standard error linearised over clusters."""
    mean = clusters.mean
    half = -find_student_quantile(len(clusters.sums) - 1, 0.5 - level / 2) * clusters.error
    return Interval(low=mean - half, high=mean + half, level=level, method="t")


def bounded_interval(value: float, n: int, *, level: float, ends: tuple[float, float] | None) -> Interval | None:
    """Compute the interval of a mean whose n observations are all equal.

    At confidence `level`, at most a share 1 - (1 - level)^(1/n) of the population differs from the observed value
    (Clopper and Pearson's bound for 0 of n), and by no more than the distance to the scale's ends. Undefined (None)
    without ends.

    Source:
        Clopper and Pearson, Biometrika 1934; for 0/1 known as the rule of three.
    """
    if ends is None:
        return None
    share = 1 - (1 - level) ** (1 / n)
    low, high = value - share * (value - ends[0]), value + share * (ends[1] - value)
    return Interval(low=low, high=high, level=level, method="bounded").clip(ends)
