"""The bootstrap of a mean over clustered items, and its intervals."""

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
"""The number of draws per batch, which bounds the bootstrap's memory to about 100 MB."""


def resample_clusters(sums: Floats, sizes: Integers, *, resamples: int = RESAMPLES) -> Floats:
    """Return the means of bootstrap resamples that draw each cluster individually, with scipy and in batches.

    Args:
        sums: The sum of each cluster's items, shape (clusters,).
        sizes: The number of items of each cluster, at least 1.
        resamples: The number of resamples.

    Example:
        >>> import numpy as np
        >>> len(resample_clusters(np.array([1.0, 2.0, 4.0]), np.array([1, 1, 1]), resamples=10))
        10
    """
    import numpy as np
    from scipy import stats

    alike = bool((sizes == sizes[0]).all())  # a plain mean takes half the time
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


def group_equal_clusters(sums: Floats, sizes: Integers) -> tuple[tuple[Floats, Integers], Integers]:
    """Return the distinct clusters (sums and sizes), sorted, and the multiplicity of each."""
    import numpy as np

    order = np.lexsort((sizes, sums))
    sums, sizes = sums[order], sizes[order]
    first = np.flatnonzero(np.r_[True, (sums[1:] != sums[:-1]) | (sizes[1:] != sizes[:-1])])
    return (sums[first], sizes[first]), np.diff(np.r_[first, len(sums)])


def resample_counts(sums: Floats, sizes: Integers, times: Integers, *, resamples: int = RESAMPLES) -> Floats:
    """Return the means of bootstrap resamples that draw the multiplicity of each distinct cluster (multinomial).

    The distribution is that of `resample_clusters`, for a fraction of the work if there are few distinct clusters.

    Args:
        sums: The sum of each distinct cluster.
        sizes: The size of each distinct cluster.
        times: The multiplicity of each distinct cluster.
        resamples: The number of resamples.
    """
    import numpy as np

    rng = np.random.default_rng(SEED)
    n = int(times.sum())
    at_once = max(1, DRAWS_AT_ONCE // len(sums))
    batches = [min(at_once, resamples - done) for done in range(0, resamples, at_once)]
    drawn = (rng.multinomial(n, times / n, size=batch) for batch in batches)
    return np.concatenate([(draws @ sums) / (draws @ sizes) for draws in drawn])


def resample_means(sums: Floats, sizes: Integers) -> Floats:
    """Return the means of bootstrap resamples, by the cheaper method; few distinct clusters allow more resamples.

    The result does not depend on the order of the clusters, and negating all sums negates all means.

    Args:
        sums: The sum of each cluster's items, shape (clusters,).
        sizes: The number of items of each cluster, at least 1.
    """
    import numpy as np

    found, mirrored = group_equal_clusters(sums, sizes), group_equal_clusters(-sums, sizes)
    turn = -1.0 if _to_sortable(mirrored) > _to_sortable(found) else 1.0
    (kinds, of_size), times = mirrored if turn < 0 else found
    resamples = MANY_RESAMPLES if len(kinds) <= FEW_KINDS else RESAMPLES
    if len(kinds) <= min(FEW_KINDS, len(sums) - 1):
        return turn * resample_counts(kinds, of_size, times, resamples=resamples)
    return turn * resample_clusters(np.repeat(kinds, times), np.repeat(of_size, times), resamples=resamples)


def _to_sortable(clusters: tuple[tuple[Floats, Integers], Integers]) -> list[list[float]]:
    """Return clusters as lists that can be ordered, to choose the same one of two mirror images."""
    (kinds, sizes), times = clusters
    return [kinds.tolist(), sizes.tolist(), times.tolist()]


def percentile_interval(means: Floats, *, level: float) -> tuple[float, float]:
    """Compute the percentile interval of a bootstrap distribution.

    Source:
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.
    """
    import numpy as np

    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def expand_level(level: float, clusters: int) -> float:
    """Return the level at which the percentile interval of few clusters has the coverage `level`.

    The bootstrap of n observations has a variance that is too small by the factor (n - 1) / n, and does not have the
    wider tails of Student's t. The returned level gives a normal distribution Student's interval with n - 1 degrees
    of freedom: 2 Phi(sqrt(n / (n - 1)) t) - 1.

    Args:
        level: The nominal level.
        clusters: The number of independent observations, at least 2.

    Source:
        Hesterberg, "What teachers should know about the bootstrap", The American Statistician 2015,
        section 3.3, the expanded percentile interval.

    Example:
        >>> round(expand_level(0.95, 20), 3), round(expand_level(0.95, 100), 3)
        (0.968, 0.954)
    """
    from scipy.special import ndtr, stdtrit

    t = float(stdtrit(clusters - 1, 0.5 + level / 2))
    return 2 * float(ndtr(sqrt(clusters / (clusters - 1)) * t)) - 1


def bca_interval(means: Floats, sums: Floats, sizes: Integers, *, level: float) -> tuple[float, float] | None:
    """Compute the bias-corrected and accelerated (BCa) interval of a bootstrap distribution.

    Undefined (None) if the clusters do not differ, or if all resamples are on one side of the mean.

    Args:
        means: The bootstrap distribution, shape (resamples,).
        sums: The sum of each cluster's items, shape (clusters,).
        sizes: The size of each cluster.
        level: The confidence level.

    Source:
        Efron, "Better bootstrap confidence intervals", JASA 1987. The acceleration is from the jackknife
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
