"""Samples with known inclusion probabilities: the variance of a weighted estimate of the population."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Flags, Floats, Integers

MIN_UNITS = 2
"""The minimum number of units of a stratum, because a variance needs two."""
NEAR = 1e-12
DF_WITHOUT_SPREAD = 3.0
"""With these degrees of freedom, n labels without an error bound the error rate by about 3 / n (rule of three)."""


class EstimateSpread(NamedTuple):
    """The variance of an estimate, and its degrees of freedom.

    `bound` is True if the variance is a bound on unobserved errors rather than an estimate: the coverage of an interval
    from it is higher than its level.
    """

    variance: float
    df: float
    bound: bool = False

    def compute_half_width(self, level: float) -> float:
        """Return half the length of Student's interval."""
        from scipy.special import stdtrit

        return float(-stdtrit(self.df, 0.5 - level / 2)) * sqrt(self.variance)

    def add_variance(self, variance: float) -> EstimateSpread:
        """Return the spread with another variance added, which is known exactly."""
        total = self.variance + variance
        df = self.df * (total / self.variance) ** 2 if self.variance > 0 else self.df
        return EstimateSpread(total, df, self.bound and variance < self.variance)


@dataclass(frozen=True)
class WeightedSample:
    """The sampling design of labelled items; create it with `build_weighted_sample`.

    `weights` has one entry per item, scaled to add up to the number of all items.
    `unit` is the sampling unit of each item: the item itself or its question. `stratum` and
    `rest` have one entry per unit: its stratum, and the share of such units that was not sampled. `sizes` has one entry
    per stratum, its number of units, and `joined` is how many strata were merged.
    `clustered` is whether units are groups of items, such as questions, even if each may have a single item.
    """

    weights: Floats
    unit: Integers
    stratum: Integers
    rest: Floats
    sizes: Integers
    joined: int = 0
    clustered: bool = False

    @property
    def unit_count(self) -> int:
        """The number of sampled units."""
        return len(self.stratum)

    def sum_by_unit(self, scores: Floats) -> Floats:
        """Sum the weighted scores of items by unit."""
        return np.bincount(self.unit, self.weights * scores, minlength=self.unit_count).astype(np.float64)

    def max_by_unit(self, scores: Floats) -> Floats:
        """Return the highest weighted score of each unit, at least 0."""
        highest = np.zeros(self.unit_count)
        np.maximum.at(highest, self.unit, self.weights * scores)
        return highest

    def compute_unit_shares(self, shares: Floats) -> Floats:
        """Return the share of each unit in the total weight, from the share of each item."""
        totals = self.sum_by_unit(shares)
        unit_shares: Floats = totals / totals.sum()
        return unit_shares

    def compute_stretch(self, counting: Flags) -> Floats:
        """Return n / (n - 1) for each unit, with n the number of counting units of its stratum, at least 2."""
        several = np.maximum(np.bincount(self.stratum, counting, minlength=len(self.sizes)), MIN_UNITS)
        stretch: Floats = (several / (several - 1))[self.stratum]
        return stretch

    def centre_totals(self, totals: Floats) -> Floats:
        """Return the unit totals minus their stratum's mean, scaled by the root of the share that was not sampled.

        If the probabilities differ within a stratum, the mean is Hájek's, which weights each unit by
        that share. The variance is then his approximation for samples of fixed size.
        """
        share = np.bincount(self.stratum, self.rest)
        mean = np.bincount(self.stratum, self.rest * totals) / np.where(share > 0, share, 1.0)
        return np.multiply(np.sqrt(self.rest), totals - mean[self.stratum])

    def compute_covariance(self, first: Floats, second: Floats) -> float:
        """Compute the sampling covariance of two weighted sums from their unit totals."""
        products = np.bincount(self.stratum, self.centre_totals(first) * self.centre_totals(second))
        return float((self.sizes / (self.sizes - 1) * products).sum())

    def compute_spread(self, totals: Floats, max_errors: Floats, *, fitted: int = 0) -> EstimateSpread:
        """Compute the variance of a weighted sum, and its degrees of freedom.

        The variance is that of a stratified sample without replacement (Cochran), with Hájek's approximation
        if probabilities differ within a stratum. The degrees of freedom follow from the kurtosis
        of each stratum (O'Neill), combined as by Satterthwaite: a variance that depends on a few unusual
        items is known poorly. If the totals of a stratum are (nearly) equal, a share 1 / (n + 2) of
        the units counts as off by as much as one item can be (`max_errors`; Laplace's rule of succession), with 3
        degrees of freedom: n labels without an error do not rule one out.

        Args:
            totals: The total of each unit, shape (units,); their sum is the estimate, minus a constant.
            max_errors: The maximum error of each unit's total due to one of its items; 0 if none of them counts.
            fitted: The number of parameters fitted to the same labels: each subtracts a degree of freedom.

        Source:
            Cochran, "Sampling Techniques", 1977, chapter 5; Hájek, "Sampling from a Finite
            Population", 1981; O'Neill, "Some useful moment results in sampling problems", The American
            Statistician 2014; Satterthwaite, Biometrics Bulletin 1946.
        """
        centred = self.centre_totals(totals)
        second, fourth = (np.bincount(self.stratum, centred**power) / self.sizes for power in (2, 4))
        # Only units with an item that counts; the totals of the others are all 0.
        count = np.bincount(self.stratum, max_errors > 0)
        several = np.maximum(count, MIN_UNITS)
        observed = self.sizes * several / (several - 1) * second
        unseen = np.bincount(self.stratum, self.rest * max_errors**2) / (count + 2)
        # Totals can be so close that the squares of their variance underflow to 0.
        square = second**2
        kurtosis = fourth / np.where(square > 0, square, 1.0)
        df = 2 * self.sizes / np.maximum(kurtosis - (self.sizes - 3) / (self.sizes - 1), NEAR)
        df = np.clip(df, 1.0, several - 1)
        variances = np.maximum(observed, unseen)
        total = float(variances.sum())
        if total <= 0:
            return EstimateSpread(0.0, float(self.sizes.sum()))
        df = np.where(observed < unseen, DF_WITHOUT_SPREAD, df)
        joined = total**2 / float((variances**2 / df).sum())
        max_df = max(DF_WITHOUT_SPREAD, float((several - 1).sum()) - fitted)
        bound = bool(2 * variances[observed < unseen].sum() > total)
        return EstimateSpread(total, min(joined, max_df) if fitted else joined, bound)


def build_weighted_sample(
    weights: Floats,
    strata: Integers | None = None,
    units: Integers | None = None,
    *,
    population: int,
    complete: bool = True,
) -> WeightedSample:
    """Build the sampling design of labelled items.

    The variance of a stratum with a single unit cannot be estimated. Such a stratum is merged with the one whose
    weights are nearest, and counted in `joined`.

    Args:
        weights: The inverse inclusion probability of each item; only ratios matter.
        strata: The stratum number of each item; None for a single stratum.
        units: The sampling unit of each item, such as its question; None if items are sampled individually.
        population: The number of items that the sample was drawn from.
        complete: Whether units were labelled completely; if not, the variance has no finite-population correction.
    """
    scaled = weights * (population / weights.sum())
    units_of_items = np.arange(len(weights)) if units is None else units
    _, first, unit = np.unique(units_of_items, return_index=True, return_inverse=True)
    of_thing = np.zeros(len(weights), dtype=np.int64) if strata is None else strata
    stratum, joined = _merge_strata(of_thing[first], scaled[first])
    unsampled = np.clip(1 - 1 / scaled[first], 0.0, 1.0) if complete else np.ones(len(first))
    sizes = np.bincount(stratum).astype(np.int64)
    return WeightedSample(scaled, unit.astype(np.int64), stratum, unsampled, sizes, joined, units is not None)


def _merge_strata(strata: Integers, weights: Floats) -> tuple[Integers, int]:
    """Merge strata of a single unit with the nearest by weight; return the strata from 0 on, and the number merged."""
    names, merged = np.unique(strata, return_inverse=True)
    count = len(names)
    while len(sizes := np.bincount(merged)) > 1 and sizes.min() < MIN_UNITS:
        alone = int(sizes.argmin())
        # Weights are near if their ratio is near 1, hence the logarithm.
        means = np.bincount(merged, np.log(weights)) / sizes
        apart = np.abs(means - means[alone])
        apart[alone] = np.inf
        merged[merged == alone] = apart.argmin()
        _, merged = np.unique(merged, return_inverse=True)
    return merged.astype(np.int64), count - len(np.bincount(merged))
