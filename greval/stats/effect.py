"""Effect sizes of paired comparisons: the size of a difference relative to the variation between questions."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DIGITS = 12


def cohens_g(higher: int, lower: int) -> float | None:
    """Compute Cohen's g of two shares: the share of `higher` among the discordant pairs minus 0.5, from -0.5 to 0.5.

    Conventions: 0.05 is small, 0.15 medium, 0.25 large. Undefined (None) without discordant pairs.

    Args:
        higher: The number of pairs in which only the method is 1.
        lower: The number of pairs in which only the baseline is 1.

    Source:
        Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, chapter 5.

    Example:
        >>> cohens_g(15, 5)
        0.25
    """
    return higher / (higher + lower) - 0.5 if higher + lower else None


def odds_ratio(higher: int, lower: int) -> float | None:
    """Compute the matched odds ratio, `higher / lower`; None if `lower` is 0.

    Example:
        >>> odds_ratio(16, 4)
        4.0
    """
    return higher / lower if lower else None


def cohens_dz(differences: Sequence[float] | Floats) -> float | None:
    """Compute Cohen's dz: the mean of the differences divided by their standard deviation.

    Conventions: 0.2 is small, 0.5 medium, 0.8 large. Undefined (None) for fewer than two or for equal differences.

    Source:
        Cohen (1988), section 2.3.5.

    Example:
        >>> round(cohens_dz([1.0, 2.0, 3.0]), 3)
        2.0
    """
    import numpy as np

    found = np.round(np.asarray(differences, dtype=float), DIGITS)
    if len(found) < 2 or found.min() == found.max():  # noqa: PLR2004 - a deviation needs two
        return None
    return float(found.mean() / sqrt(float(found.var(ddof=1))))


def rank_biserial(differences: Sequence[float] | Floats) -> float | None:
    """Compute the matched-pairs rank-biserial correlation, from -1 to 1, the effect size of Wilcoxon's test.

    It is the rank sum of the positive differences minus that of the negative ones, divided by the sum of all ranks.
    Undefined (None) if all differences are zero.

    Source:
        Kerby, "The simple difference formula", Comprehensive Psychology 2014.

    Example:
        >>> rank_biserial([3.0, 2.0, -1.0])
        0.6666666666666666
    """
    import numpy as np
    from scipy import stats

    found = np.round(np.asarray(differences, dtype=float), DIGITS)
    found = found[found != 0]
    if not len(found):
        return None
    ranks = stats.rankdata(np.abs(found))
    return float((ranks * np.sign(found)).sum() / ranks.sum())
