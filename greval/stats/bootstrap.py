"""The bootstrap of a mean over items that come in clusters, and the intervals that are read from it."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

RESAMPLES = 2000
MANY_RESAMPLES = 10_000
FEW_KINDS = 500
SEED = 20260101
DRAWS_AT_ONCE = 2_000_000
"""Bounds the bootstrap's memory to some 100 MB."""


def one_by_one(sums: Floats, sizes: Integers, *, resamples: int = RESAMPLES) -> Floats:
    """Give the means of resamples in which each cluster is drawn by itself, by scipy and some at a time.

    Args:
        sums: The sum of each cluster's items.
        sizes: How many items each cluster has, at least 1.
        resamples: How many resamples are drawn.

    Example:
        >>> import numpy as np
        >>> len(one_by_one(np.array([1.0, 2.0, 4.0]), np.array([1, 1, 1]), resamples=10))
        10
    """
    import numpy as np
    from scipy import stats

    alike = bool((sizes == sizes[0]).all())  # a plain mean is drawn in half the time
    drawn = stats.bootstrap(
        (sums / sizes,) if alike else (sums, sizes),
        np.mean if alike else lambda s, n, axis: s.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, DRAWS_AT_ONCE // len(sums)),
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return np.asarray(drawn.bootstrap_distribution)


def different(sums: Floats, sizes: Integers) -> tuple[tuple[Floats, Integers], Integers]:
    """Give the clusters that differ, in order, and how often each is there."""
    import numpy as np

    order = np.lexsort((sizes, sums))
    sums, sizes = sums[order], sizes[order]
    first = np.flatnonzero(np.r_[True, (sums[1:] != sums[:-1]) | (sizes[1:] != sizes[:-1])])
    return (sums[first], sizes[first]), np.diff(np.r_[first, len(sums)])


def by_kind(sums: Floats, sizes: Integers, times: Integers, *, resamples: int = RESAMPLES) -> Floats:
    """Give the means of resamples of which it is drawn how often each different cluster comes.

    The distribution is that of `one_by_one`, for a fraction of the work where few clusters differ.

    Args:
        sums: The sum of each different cluster.
        sizes: Its size.
        times: How often it is there.
        resamples: How many resamples are drawn.
    """
    import numpy as np

    rng = np.random.default_rng(SEED)
    n = int(times.sum())
    at_once = max(1, DRAWS_AT_ONCE // len(sums))
    batches = [min(at_once, resamples - done) for done in range(0, resamples, at_once)]
    drawn = (rng.multinomial(n, times / n, size=batch) for batch in batches)
    return np.concatenate([(draws @ sums) / (draws @ sizes) for draws in drawn])


def resampled(sums: Floats, sizes: Integers) -> Floats:
    """Give the means of resamples, drawn in the cheaper way and the more of them the less they cost.

    The order of the clusters changes nothing, and turning every sign turns the sign of every mean.

    Args:
        sums: The sum of each cluster's items.
        sizes: How many items each cluster has, at least 1.
    """
    import numpy as np

    found, mirrored = different(sums, sizes), different(-sums, sizes)
    turn = -1.0 if _content(mirrored) > _content(found) else 1.0
    (kinds, of_size), times = mirrored if turn < 0 else found
    resamples = MANY_RESAMPLES if len(kinds) <= FEW_KINDS else RESAMPLES
    if len(kinds) <= min(FEW_KINDS, len(sums) - 1):
        return turn * by_kind(kinds, of_size, times, resamples=resamples)
    return turn * one_by_one(np.repeat(kinds, times), np.repeat(of_size, times), resamples=resamples)


def _content(clusters: tuple[tuple[Floats, Integers], Integers]) -> list[list[float]]:
    """Give clusters in a form that can be ordered, so that of two mirror images the same one is drawn from."""
    (kinds, sizes), times = clusters
    return [kinds.tolist(), sizes.tolist(), times.tolist()]


def percentile(means: Floats, *, level: float) -> tuple[float, float]:
    """Give the percentile interval of a bootstrap distribution.

    Source:
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.
    """
    import numpy as np

    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def expanded(level: float, clusters: int) -> float:
    """Give the level at which the percentile interval of few clusters holds what `level` promises.

    The bootstrap of n observations has a variance that is too small by (n - 1) / n, and knows nothing
    of Student's wider tails. The level is set so that a normal distribution would give the interval
    of Student with n - 1 degrees of freedom: 2 Phi(sqrt(n / (n - 1)) t) - 1.

    Args:
        level: The probability that is wanted.
        clusters: How many independent observations there are, at least 2.

    Source:
        Hesterberg, "What teachers should know about the bootstrap", The American Statistician 2015,
        section 3.3, the expanded percentile interval.

    Example:
        >>> round(expanded(0.95, 20), 3), round(expanded(0.95, 100), 3)
        (0.968, 0.954)
    """
    from scipy.special import ndtr, stdtrit

    t = float(stdtrit(clusters - 1, 0.5 + level / 2))
    return 2 * float(ndtr(sqrt(clusters / (clusters - 1)) * t)) - 1


def bca(means: Floats, sums: Floats, sizes: Integers, *, level: float) -> tuple[float, float] | None:
    """Give the bias-corrected and accelerated interval of a bootstrap distribution.

    Undefined (None) where the clusters do not differ, or where all resamples lie on one side of the mean.

    Args:
        means: The bootstrap distribution.
        sums: The sum of each cluster's items, one entry for each cluster.
        sizes: The size of each cluster.
        level: The probability that the interval holds the true mean.

    Source:
        Efron, "Better bootstrap confidence intervals", JASA 1987; the acceleration is from the jackknife
        over clusters, as in Efron and Tibshirani (1993), formula 14.15. Ties with the mean count half.
    """
    import numpy as np
    from scipy.special import ndtr, ndtri

    mean = sums.sum() / sizes.sum()
    near = 1e-12 * max(1.0, abs(float(mean)))
    below = (np.mean(means < mean - near) + np.mean(means <= mean + near)) / 2
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    rest = left_out.mean() - left_out
    spread = float((rest**2).sum())
    if spread == 0 or not 0 < below < 1:
        return None
    acceleration = float((rest**3).sum()) / (6 * spread**1.5)
    shift = float(ndtri(below))
    ends = shift + ndtri(np.array([0.5 - level / 2, 0.5 + level / 2]))
    low, high = np.quantile(means, ndtr(shift + ends / (1 - acceleration * ends)))
    return float(low), float(high)
