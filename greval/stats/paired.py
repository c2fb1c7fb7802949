"""Paired comparisons of two methods on the same questions: intervals, tests, effect sizes, detectable differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from greval.records.record import Record
from greval.stats.bootstrap import (
    DRAWS_AT_ONCE,
    Floats,
    Integers,
    bca_interval,
    expand_level,
    percentile_interval,
    resample_means,
)
from greval.stats.interval import (
    ClusterSums,
    Interval,
    bounded_interval,
    find_student_quantile,
    student_interval,
)

RESAMPLES = 9_999
SEED = 20260102
MAX_ENUMERATED = 100_000
"""Up to this number of different sums the test enumerates all sign flips; beyond it they are sampled."""
MIN_REPEATS = 40
"""From this mean number of differences per size on, it is cheaper to sample how many are flipped than which."""
DIGITS = 12
"""Differences are rounded to this number of decimals, so that 0.3 - 0.1 ties with 0.2."""
BITS = 8
EXACT_BELOW = 25
"""Below this number of discordant pairs McNemar's test is exact, otherwise chi-square with continuity correction."""
POWER = 0.8
MAX_COUNTED_COINS = 1_000
MAX_EXACT = 50
"""Up to this number of differences without ties the signed-rank test is exact."""
MAX_EXACT_WITH_TIES = 13
"""Up to this number of differences with ties the signed-rank test is exact."""
MIN_BOOTSTRAP_CLUSTERS = 8
"""The minimum number of clusters for the bootstrap; fewer represent a distribution too poorly to resample them."""
MIN_BCA_CLUSTERS = 30
"""The minimum number of clusters for BCa; with fewer, noise in the acceleration lowers its coverage."""


def round_differences(differences: Sequence[float] | Floats) -> Floats:
    """Return the differences rounded to `DIGITS` decimals."""
    return np.round(np.asarray(differences, dtype=float), DIGITS)


class DifferenceIntervals(NamedTuple):
    """Three intervals of one difference; None if undefined."""

    interval: Interval | None
    percentile: Interval | None
    bca: Interval | None


def compute_difference_intervals(
    clusters: ClusterSums, *, level: float, ends: tuple[float, float] | None = None
) -> DifferenceIntervals:
    """Compute the bootstrap intervals of a mean difference: expanded percentile, plain percentile, BCa.

    Whole clusters are drawn. The first and the BCa interval use the level of
    `greval.stats.bootstrap.expand_level`, because plain bootstrap intervals of few clusters are too narrow. With
    fewer than `MIN_BOOTSTRAP_CLUSTERS` clusters the first is Student's. BCa needs `MIN_BCA_CLUSTERS`. If all
    differences are equal, resampling is impossible, and the first is that of `bounded_interval`. `ends` are the lowest
    and the highest possible difference, None if unbounded.
    """
    means = clusters.sums / clusters.sizes
    if len(means) < 2 or means.min() == means.max():  # noqa: PLR2004 - a variance needs two
        return DifferenceIntervals(bounded_interval(float(means[0]), len(means), level=level, ends=ends), None, None)
    drawn = resample_means(*clusters)
    # No bootstrap interval leaves the range of the observed values, of which few clusters show too little.
    if len(means) < MIN_BOOTSTRAP_CLUSTERS:
        low, high = percentile_interval(drawn, level=level)
        plainly = Interval(low=low, high=high, level=level, method="percentile")
        return DifferenceIntervals(student_interval(clusters, level=level).clip(ends), plainly, None)
    wide = expand_level(level, len(means))
    low, high = percentile_interval(drawn, level=wide)
    plain = percentile_interval(drawn, level=level)
    corrected = bca_interval(drawn, *clusters, level=wide) if len(means) >= MIN_BCA_CLUSTERS else None
    return DifferenceIntervals(
        Interval(low=low, high=high, level=level, method="expanded percentile"),
        Interval(low=plain[0], high=plain[1], level=level, method="percentile"),
        corrected and Interval(low=corrected[0], high=corrected[1], level=level, method="bca"),
    )


def relative_difference_interval(method: ClusterSums, baseline: ClusterSums, *, level: float) -> Interval | None:
    """Compute Fieller's interval of the difference of two paired means in relation to the baseline's mean.

    It has the ratios of means at which Student's interval of `method` minus ratio times `baseline` includes 0, minus 1.
    The sums are those of the same clusters of questions. Undefined (None) for fewer than two clusters, if all
    differences are equal, and if the baseline's mean is not known to be above 0: then any ratio is possible.

    Source:
        Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B 1954.
    """
    sizes, n = baseline.sizes, len(baseline.sizes)
    differences = round_differences((method.sums - baseline.sums) / sizes)
    if n < 2 or differences.min() == differences.max():  # noqa: PLR2004 - a variance needs two
        return None
    means = np.array([method.mean, baseline.mean])
    residuals = np.array([method.sums, baseline.sums]) - means[:, None] * sizes
    covariance = residuals @ residuals.T * n / (n - 1) / float(sizes.sum()) ** 2
    products = np.outer(means, means) - find_student_quantile(n - 1, 0.5 - level / 2) ** 2 * covariance
    (of_method, of_both), (_, of_baseline) = products.tolist()
    if of_baseline <= 0 or means[1] <= 0:
        return None
    half = sqrt(max(of_both**2 - of_method * of_baseline, 0.0)) / of_baseline
    middle = of_both / of_baseline - 1
    return Interval(low=middle - half, high=middle + half, level=level, method="fieller")


def sign_flip_test(differences: Sequence[float] | Floats, *, resamples: int = RESAMPLES) -> float:
    """Compute the two-sided p of the paired permutation test of a mean of zero.

    Under the null hypothesis of no difference, each difference is as likely with the other sign. p is the
    share of all sign flips whose sum is at least as far from zero as the observed one. All flips are enumerated
    if there are few different sums, as with 0/1 or five levels. Otherwise they are sampled, and p is
    (1 + hits) / (1 + resamples), never 0. p does not depend on the order or the direction of the differences.

    Source:
        Fisher, "The Design of Experiments", 1935, section 21; Phipson and Smyth, "Permutation p-values
        should never be zero", Statistical Applications in Genetics and Molecular Biology 2010.
    """
    rounded = round_differences(differences)
    sizes, times = _count_sizes(rounded)
    if not len(sizes):
        return 1.0
    # Sums of the same numbers in another order differ by rounding, and count as equal.
    reached = abs(float(rounded.sum())) * (1 - 1e-9)
    if _is_enumerable(times):
        sums, weights = _enumerate_sums(sizes, times)
        return min(1.0, float(weights[np.abs(sums) >= reached].sum()))
    draw = _draw_by_size if times.sum() >= MIN_REPEATS * len(sizes) else _draw_by_byte
    hits = sum(int((np.abs(sums) >= reached).sum()) for sums in draw(sizes, times, resamples))
    return (1 + hits) / (1 + resamples)


def min_sign_flip_p(differences: Sequence[float] | Floats, *, resamples: int = RESAMPLES) -> float:
    """Return a lower bound of the p of `sign_flip_test` for differences of these sizes.

    With m differences other than zero, two of the 2^m sign flips put all on one side: 2^(1 - m).
    If flips are sampled, p may also be 1 / (1 + resamples).
    """
    times = _count_sizes(differences)[1]
    least = float(min(1.0, 2.0 ** (1 - int(times.sum()))))
    return least if _is_enumerable(times) else min(least, 1 / (1 + resamples))


def _count_sizes(differences: Sequence[float] | Floats) -> tuple[Floats, Integers]:
    """Return the distinct sizes of the differences other than zero, and the count of each."""
    rounded = round_differences(differences)
    sizes, times = np.unique(np.abs(rounded[rounded != 0]), return_counts=True)
    return sizes, times


def _is_enumerable(times: Integers) -> bool:
    """Return whether there are few enough different sums to enumerate them."""
    return bool(np.log2(times + 1.0).sum() <= np.log2(MAX_ENUMERATED))


def _enumerate_sums(sizes: Floats, times: Integers) -> tuple[Floats, Floats]:
    """Return every sum that sign flips can have, and its probability."""
    sums, weights = np.zeros(1), np.ones(1)
    for size, n in zip(sizes, times, strict=True):
        plus = np.arange(n + 1)
        sums = np.add.outer(sums, size * (2 * plus - n)).ravel()
        weights = np.multiply.outer(weights, _toss_fair_coins(n)).ravel()
    return sums, weights


def _toss_fair_coins(n: int) -> Floats:
    """Return the probability of 0 to `n` heads among `n` fair coins."""
    from scipy.special import betaln, comb

    heads = np.arange(n + 1)
    # Exact for a few coins, so that 0.375 is printed as 0.38; the counts of more than 1,000 overflow.
    if n <= MAX_COUNTED_COINS:
        return np.asarray(comb(n, heads) * 0.5**n)
    return np.asarray(np.exp(-betaln(heads + 1, n - heads + 1) - np.log(n + 1) - n * np.log(2)))


def _draw_by_size(sizes: Floats, times: Integers, resamples: int) -> list[Floats]:
    """Sample the number of differences of each size that keep their sign."""
    plus = np.random.default_rng(SEED).binomial(times, 0.5, size=(resamples, len(sizes)))
    return [(2 * plus - times) @ sizes]


def _draw_by_byte(sizes: Floats, times: Integers, resamples: int) -> list[Floats]:
    """Sample a sign for each difference, eight at a time: a random byte selects one of their 256 sums."""
    each = np.repeat(sizes, times)
    blocks = np.pad(each, (0, -len(each) % BITS)).reshape(-1, BITS)
    signs = np.unpackbits(np.arange(2**BITS, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1
    table = (blocks @ signs.T).ravel()
    places = np.arange(len(blocks)) * 2**BITS
    rng = np.random.default_rng(SEED)
    at_once = max(1, DRAWS_AT_ONCE // len(blocks))
    shapes = [(min(at_once, resamples - done), len(blocks)) for done in range(0, resamples, at_once)]
    drawn = (rng.integers(0, 2**BITS, size=shape, dtype=np.uint8) for shape in shapes)
    return [table[each_byte + places].sum(axis=1) for each_byte in drawn]


def wilcoxon(differences: Sequence[float] | Floats) -> float:
    """Compute the two-sided p of Wilcoxon's signed-rank test.

    Differences of zero are dropped (Wilcoxon's own method), ties get their mean rank. The distribution is exact for up
    to 50 differences without ties and up to 13 with ties, otherwise normal: the same bounds as in scipy. Without any
    difference p is 1.

    Source:
        Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1945; variance with ties: Lehmann,
        "Nonparametrics", 1975, section 3.2.
    """
    from scipy.special import ndtr

    rounded = round_differences(differences)
    rounded = rounded[rounded != 0]
    n = len(rounded)
    ranks, times = rank_sizes(rounded)
    has_ties = len(times) < n
    if n <= (MAX_EXACT_WITH_TIES if has_ties else MAX_EXACT):
        return sign_flip_test(np.sign(rounded) * ranks) if has_ties else _sum_signed_ranks(rounded, ranks)
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((times**3 - times).sum()) / 48
    from_mean = abs(float((np.sign(rounded) * ranks).sum())) / 2
    return float(2 * ndtr(-from_mean / sqrt(variance)))


def _sum_signed_ranks(differences: Floats, ranks: Floats) -> float:
    """Return the two-sided p of the rank sum on one side, for ranks without ties."""
    chances = np.ones(1)
    for rank in range(1, len(ranks) + 1):
        # Each rank is on the side of the positive differences with probability one half.
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    positive, negative = float(ranks[differences > 0].sum()), float(ranks[differences < 0].sum())
    return min(1.0, 2 * float(chances[: int(min(positive, negative)) + 1].sum()))


def rank_sizes(differences: Floats) -> tuple[Floats, Integers]:
    """Return the rank of each absolute difference, from 1 on with the mean of ties, and how often each size occurs."""
    _, sizes, times = np.unique(np.abs(differences), return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[sizes], times


class McNemarTest(Record):
    """The result of McNemar's test.

    `exact_p` is the two-sided p of the binomial test, `mid_p` its less conservative form, `chi2` and `chi2_p`
    the statistic with continuity correction. `p` is the one to report: exact below `EXACT_BELOW`
    discordant pairs, otherwise chi-square.
    """

    discordant: int
    exact: bool
    p: float
    exact_p: float
    mid_p: float
    chi2: float
    chi2_p: float


def mcnemar(only_a: int, only_b: int) -> McNemarTest:
    """Test whether two shares of the same questions differ.

    Only the discordant pairs carry information: under the null hypothesis each falls on either side with probability
    one half. Without discordant pairs p is 1.

    Source:
        McNemar, Psychometrika 1947; continuity correction: Edwards, Psychometrika 1948; mid-p:
        Fagerland, Lydersen and Laake, BMC Medical Research Methodology 2013, 13:91.
    """
    from scipy.special import chdtrc

    n = only_a + only_b
    # The statistic of two identical systems is 0 / 0; statsmodels gives p = 0 for it.
    if n == 0:
        return McNemarTest(discordant=0, exact=True, p=1.0, exact_p=1.0, mid_p=1.0, chi2=0.0, chi2_p=1.0)
    fewer = min(only_a, only_b)
    chances = _toss_fair_coins(n)
    at_most = float(chances[: fewer + 1].sum())
    exact = min(1.0, 2 * at_most)
    # Half of the probability of this very split counts on each side.
    mid = min(exact, 2 * at_most - float(chances[fewer]))
    # The continuity correction never changes the sign of a difference.
    chi2 = max(abs(only_a - only_b) - 1, 0) ** 2 / n
    chi2_p = float(chdtrc(1, chi2))
    few = n < EXACT_BELOW
    p = exact if few else chi2_p
    return McNemarTest(discordant=n, exact=few, p=p, exact_p=exact, mid_p=mid, chi2=chi2, chi2_p=chi2_p)


def cohens_g(higher: int, lower: int) -> float | None:
    """Compute Cohen's g of two shares: the share of `higher` among the discordant pairs minus 0.5, from -0.5 to 0.5.

    Conventions: 0.05 is small, 0.15 medium, 0.25 large. Undefined (None) without discordant pairs.

    Source:
        Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, chapter 5.
    """
    return higher / (higher + lower) - 0.5 if higher + lower else None


def odds_ratio(higher: int, lower: int) -> float | None:
    """Compute the matched odds ratio, `higher / lower`; None if `lower` is 0."""
    return higher / lower if lower else None


def cohens_dz(differences: Sequence[float] | Floats) -> float | None:
    """Compute Cohen's dz: the mean of the differences divided by their standard deviation.

    Conventions: 0.2 is small, 0.5 medium, 0.8 large. Undefined (None) for fewer than two or for equal differences.

    Source:
        Cohen (1988), section 2.3.5.
    """
    rounded = round_differences(differences)
    if len(rounded) < 2 or rounded.min() == rounded.max():  # noqa: PLR2004 - a deviation needs two
        return None
    return float(rounded.mean() / sqrt(float(rounded.var(ddof=1))))


def rank_biserial(differences: Sequence[float] | Floats) -> float | None:
    """Compute the matched-pairs rank-biserial correlation, from -1 to 1, the effect size of Wilcoxon's test.

    It is the rank sum of the positive differences minus that of the negative ones, divided by the sum of all ranks.
    Undefined (None) if all differences are zero.

    Source:
        Kerby, "The simple difference formula", Comprehensive Psychology 2014.
    """
    rounded = round_differences(differences)
    rounded = rounded[rounded != 0]
    if not len(rounded):
        return None
    ranks = rank_sizes(rounded)[0]
    return float((ranks * np.sign(rounded)).sum() / ranks.sum())


def detectable_mean(error: float, clusters: int, *, alpha: float) -> float | None:
    """Compute the smallest difference of paired means that a two-sided test at `alpha` finds with `POWER`.

    (t(1 - alpha/2) + t(POWER)) x standard error, t with `clusters` - 1 degrees of freedom. Undefined
    (None) for fewer than two clusters or an error of 0, because equal differences do not determine a variance.

    Args:
        error: The standard error of the mean difference; sd / sqrt(n) if the questions are independent.
        clusters: The number of independent observations.
        alpha: The level of the test, after the correction for multiple tests.

    Source:
        Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, section 2.3; Bloom, "Minimum
        detectable effects", Evaluation Review 1995.
    """
    from scipy.special import stdtrit

    if clusters < 2 or error <= 0:  # noqa: PLR2004 - a variance needs two
        return None
    return float(stdtrit(clusters - 1, 1 - alpha / 2) + stdtrit(clusters - 1, POWER)) * error


def detectable_share(discordant: int, n: int, *, alpha: float) -> float | None:
    """Compute the smallest difference of two paired shares that McNemar's test at `alpha` finds with `POWER`.

    It is the d that solves d sqrt(n) = z(1 - alpha/2) sqrt(r) + z(POWER) sqrt(r - d^2). r is the share
    of discordant pairs, but at least d. Squared, the equation is quadratic: in d if r is the observed share, and in
    sqrt(1 - d) if r is d. The formula is for the test without
    continuity correction; the exact test needs a slightly larger difference. Undefined (None) if even a difference on
    every question would not be found.

    Source:
        Connor, "Sample size for testing differences in proportions for the paired-sample design",
        Biometrics 1987.
    """
    from scipy.special import ndtri

    z_alpha, z_power = float(ndtri(1 - alpha / 2)), float(ndtri(POWER))
    if z_alpha**2 > n:
        return None
    rate, scale = discordant / n, n + z_power**2
    share = sqrt(rate) * (z_alpha * sqrt(n) + z_power * sqrt(scale - z_alpha**2)) / scale
    if share < rate:
        return share
    product = z_alpha * z_power
    return 1 - ((sqrt(product**2 - scale * (z_alpha**2 - n)) - product) / scale) ** 2
