"""Samples that were drawn with known probabilities: how far a weighted figure may be from that of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

PAIR = 2
"""A spread needs two."""
NEAR = 1e-12
DF_WITHOUT_SPREAD = 3.0
"""With these, n labels without a fault hold a share of faults of about 3 / n, as the rule of three does."""


class Spread(NamedTuple):
    """The variance of an estimate, and the degrees of freedom with which it is known.

    `bound` tells that the variance is what could have stayed unseen, not what was seen: an interval from it holds the
    truth more often than its level.
    """

    variance: float
    df: float
    bound: bool = False

    def half(self, level: float) -> float:
        """Give half the length of Student's interval."""
        from scipy.special import stdtrit

        return float(stdtrit(self.df, 0.5 + level / 2)) * sqrt(self.variance)

    def plus(self, variance: float) -> Spread:
        """Give the spread with another, well known variance added."""
        total = self.variance + variance
        df = self.df * (total / self.variance) ** 2 if self.variance > 0 else self.df
        return Spread(total, df, self.bound and variance < self.variance)


@dataclass(frozen=True)
class Drawn:
    """How the labelled things were drawn; make it with `drawn`.

    `weights` has one entry for each thing, scaled so that they add up to the number of all things;
    `unit` is the number of what was drawn in one go, the thing itself or its question. `stratum` and
    `rest` have one entry for each unit: its stratum, and the share of such units that was not drawn.
    `clustered` tells that units are groups of things, such as questions, though each may have one thing only.
    """

    weights: Floats
    unit: Integers
    stratum: Integers
    rest: Floats
    sizes: Integers
    joined: int = 0
    clustered: bool = False

    @property
    def units(self) -> int:
        """How many units were drawn."""
        return len(self.stratum)

    def totals(self, scores: Floats) -> Floats:
        """Sum weighted scores of things by unit."""
        import numpy as np

        return np.bincount(self.unit, self.weights * scores, minlength=self.units).astype(np.float64)

    def greatest(self, scores: Floats) -> Floats:
        """Give the greatest weighted score of each unit."""
        import numpy as np

        found = np.zeros(self.units)
        np.maximum.at(found, self.unit, self.weights * scores)
        return found

    def share_of(self, shares: Floats) -> Floats:
        """Return the share of the weight of some things that each unit holds, from what each thing counts."""
        totals = self.totals(shares)
        found: Floats = totals / totals.sum()
        return found

    def stretch(self, counting: NDArray[np.bool_]) -> Floats:
        """Return n / (n - 1) for each unit, n the units of its stratum that count (2 where there are fewer)."""
        import numpy as np

        several = np.maximum(np.bincount(self.stratum, counting, minlength=len(self.sizes)), PAIR)
        found: Floats = (several / (several - 1))[self.stratum]
        return found

    def centred(self, totals: Floats) -> Floats:
        """Give the unit totals less their stratum's mean, shrunk by the share that was not drawn.

        Where the probabilities differ within a stratum the mean is Hájek's, which weighs each unit by
        that share: the variance is then his approximation for samples of a fixed size.
        """
        import numpy as np

        share = np.bincount(self.stratum, self.rest)
        mean = np.bincount(self.stratum, self.rest * totals) / np.where(share > 0, share, 1.0)
        found: Floats = np.sqrt(self.rest) * (totals - mean[self.stratum])
        return found

    def covariance(self, one: Floats, other: Floats) -> float:
        """Give the covariance of two weighted sums over the sample, by unit, as both vary with what is drawn."""
        import numpy as np

        products = np.bincount(self.stratum, self.centred(one) * self.centred(other))
        return float((self.sizes / (self.sizes - 1) * products).sum())

    def spread(self, totals: Floats, far: Floats, *, fitted: int = 0) -> Spread:
        """Give the variance of a weighted sum, and its degrees of freedom.

        The variance is that of a stratified sample without replacement (Cochran), with Hájek's form
        where probabilities differ within a stratum. The degrees of freedom follow from the kurtosis
        of each stratum (O'Neill), joined as by Satterthwaite: a variance that rests on a few unlike
        things is known badly. Where the totals of a stratum are (nearly) alike, a share 1 / (n + 2) of
        the units counts as off by as `far` as one thing can be (Laplace's rule of succession), with 3
        degrees of freedom: n labels without a fault are no proof that there is none.

        Args:
            totals: One for each unit; their sum is what is estimated, less a constant.
            far: How far each unit's total could be off at most through one of its things; 0 if none of them counts.
            fitted: How many numbers were fitted to the same labels: each takes off a degree of freedom.

        Source:
            Cochran, "Sampling Techniques", 1977, chapter 5; Hájek, "Sampling from a Finite
            Population", 1981; O'Neill, "Some useful moment results in sampling problems", The American
            Statistician 2014; Satterthwaite, Biometrics Bulletin 1946.
        """
        import numpy as np

        centred = self.centred(totals)
        second, fourth = (np.bincount(self.stratum, centred**power) / self.sizes for power in (2, 4))
        count = np.bincount(self.stratum, far > 0)  # units with a thing that counts; the others are all 0
        several = np.maximum(count, PAIR)
        seen = self.sizes * several / (several - 1) * second
        unseen = np.bincount(self.stratum, self.rest * far**2) / (count + 2)
        square = second**2  # 0 of totals so near each other that their squares vanish
        kurtosis = fourth / np.where(square > 0, square, 1.0)
        df = 2 * self.sizes / np.maximum(kurtosis - (self.sizes - 3) / (self.sizes - 1), NEAR)
        df = np.clip(df, 1.0, several - 1)
        variances = np.maximum(seen, unseen)
        total = float(variances.sum())
        if total <= 0:
            return Spread(0.0, float(self.sizes.sum()))
        df = np.where(seen < unseen, DF_WITHOUT_SPREAD, df)
        joined = total**2 / float((variances**2 / df).sum())
        left = max(DF_WITHOUT_SPREAD, float((several - 1).sum()) - fitted)
        return Spread(total, min(joined, left) if fitted else joined, bool(2 * variances[seen < unseen].sum() > total))


def drawn(
    weights: Floats, strata: Integers | None = None, units: Integers | None = None, *, whole: int, complete: bool = True
) -> Drawn:
    """Lay out how labelled things were drawn.

    A stratum with a single unit tells nothing of its spread: it is joined with that whose weights are
    nearest, and counted in `joined`.

    Args:
        weights: The inverse of the probability of each thing; only their ratios count.
        strata: The number of each thing's stratum; None where there is one.
        units: The number of what each thing was drawn with, such as its question; None where alone.
        whole: Of how many things the sample was drawn.
        complete: Whether the units were labelled whole; where not, nothing is taken off the variance
            for the share that was drawn.

    Example:
        >>> import numpy as np
        >>> sample = drawn(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]), whole=16)
        >>> sample.weights.tolist(), sample.sizes.tolist()
        ([2.0, 2.0, 6.0, 6.0], [2, 2])
    """
    import numpy as np

    scaled = weights * (whole / weights.sum())
    _, first, unit = np.unique(
        np.arange(len(weights)) if units is None else units, return_index=True, return_inverse=True
    )
    of_thing = np.zeros(len(weights), dtype=np.int64) if strata is None else strata
    stratum, joined = _joined(of_thing[first], scaled[first])
    rest = np.clip(1 - 1 / scaled[first], 0.0, 1.0) if complete else np.ones(len(first))
    sizes = np.bincount(stratum).astype(np.int64)
    return Drawn(scaled, unit.astype(np.int64), stratum, rest, sizes, joined, units is not None)


def _joined(strata: Integers, weights: Floats) -> tuple[Integers, int]:
    """Join strata of a single unit with the nearest by weight; give the strata from 0 on, and how many went."""
    import numpy as np

    names, found = np.unique(strata, return_inverse=True)
    count = len(names)
    while len(sizes := np.bincount(found)) > 1 and sizes.min() < PAIR:
        alone = int(sizes.argmin())
        means = np.bincount(found, np.log(weights)) / sizes
        apart = np.abs(means - means[alone])
        apart[alone] = np.inf
        found[found == alone] = apart.argmin()
        _, found = np.unique(found, return_inverse=True)
    return found.astype(np.int64), count - len(np.bincount(found))
