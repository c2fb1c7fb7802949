"""The bootstrap over items or whole questions: of a mean, and of any statistic of sums, with its intervals.

The sums of a resample are the sums over its clusters. Each resample therefore draws the multiplicity of each distinct
cluster (a multinomial), and a matrix product with the clusters' sums gives the sums of all resamples
at once. Ten thousand annotations on a scale of a few categories have a few dozen distinct clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greval.stats.interval import Interval, Measured, MeasuredValue, Undefined, wilson_interval

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Places = NDArray[np.integer[Any]]
Statistic = Callable[[Floats], dict[str, Floats]]

RESAMPLES = 2000
MANY_RESAMPLES = 10_000
FEW_KINDS = 500
SEED = 20260101
DRAWS_AT_ONCE = 2_000_000
"""The number of draws per batch, which bounds the bootstrap's memory to about 100 MB."""
HASH_FACTOR, HASH_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
COUNT_COST = 10
"""How many times longer it takes to draw the multiplicity of a distinct cluster than to draw one cluster."""
MIN_CLUSTERS = 2
MAX_UNDEFINED = 0.05
"""If the figure is undefined in a larger share of the resamples, the others are biased and no interval is returned."""


def resample_clusters(sums: Floats, sizes: Integers, *, resamples: int = RESAMPLES) -> Floats:
    """Return the means of bootstrap resamples that draw each cluster individually, in batches.

    `sums` are the sums of the items of each cluster, and `sizes` the numbers of these items, at least 1.
    """
    rng, n = np.random.default_rng(SEED), len(sums)
    at_once = max(1, DRAWS_AT_ONCE // n)
    # A plain mean takes half the time of a ratio of sums.
    means = sums / sizes if bool((sizes == sizes[0]).all()) else None
    drawn: list[Floats] = []
    for done in range(0, resamples, at_once):
        places = rng.integers(0, n, size=(min(at_once, resamples - done), n))
        drawn.append(
            sums[places].sum(axis=1) / sizes[places].sum(axis=1) if means is None else means[places].mean(axis=1)
        )
    return np.concatenate(drawn)


def group_equal_clusters(sums: Floats, sizes: Integers) -> tuple[tuple[Floats, Integers], Integers]:
    """Return the distinct clusters (sums and sizes), sorted, and the multiplicity of each."""
    # A canonical order, so that the resamples do not depend on the order of the clusters.
    order = np.lexsort((sizes, sums))
    sums, sizes = sums[order], sizes[order]
    first = np.flatnonzero(np.r_[True, (sums[1:] != sums[:-1]) | (sizes[1:] != sizes[:-1])])
    return (sums[first], sizes[first]), np.diff(np.r_[first, len(sums)])


def resample_counts(sums: Floats, sizes: Integers, times: Integers, *, resamples: int = RESAMPLES) -> Floats:
    """Return the means of bootstrap resamples that draw the multiplicity of each distinct cluster (multinomial).

    The distribution is that of `resample_clusters`, for a fraction of the work if there are few distinct clusters.
    """
    drawn = _draw_multiplicities(times, resamples, width=len(sums))
    return np.concatenate([(draws @ sums) / (draws @ sizes) for draws in drawn])


def _draw_multiplicities(times: Integers, resamples: int, *, width: int) -> Iterator[Integers]:
    """Yield how often each resample draws each distinct cluster, in batches of `DRAWS_AT_ONCE // width` resamples."""
    rng = np.random.default_rng(SEED)
    count = int(times.sum())
    at_once = max(1, DRAWS_AT_ONCE // width)
    for done in range(0, resamples, at_once):
        yield rng.multinomial(count, times / count, size=min(at_once, resamples - done))


def resample_means(sums: Floats, sizes: Integers) -> Floats:
    """Return the means of bootstrap resamples, by the cheaper method; few distinct clusters allow more resamples.

    The result does not depend on the order of the clusters. Negating all sums negates all means, unless the clusters
    are symmetric, so that it changes nothing.
    """
    clusters, mirrored = group_equal_clusters(sums, sizes), group_equal_clusters(-sums, sizes)
    # Of two mirror images the same one is resampled, so that negating all sums negates all means.
    turn = -1.0 if _to_sortable(mirrored) > _to_sortable(clusters) else 1.0
    (kinds, of_size), times = mirrored if turn < 0 else clusters
    resamples = MANY_RESAMPLES if len(kinds) <= FEW_KINDS else RESAMPLES
    # Drawing multiplicities pays if some clusters are equal, and few distinct ones are left.
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
    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def expand_level(level: float, clusters: int) -> float:
    """Return the level at which the percentile interval of few clusters has the coverage `level`.

    The bootstrap of n observations has a variance that is too small by the factor (n - 1) / n, and does not have the
    wider tails of Student's t. The returned level gives a normal distribution Student's interval with n - 1 degrees
    of freedom: 2 Phi(sqrt(n / (n - 1)) t) - 1.

    Source:
        Hesterberg, "What teachers should know about the bootstrap", The American Statistician 2015,
        section 3.3, the expanded percentile interval.
    """
    from scipy.special import ndtr, stdtrit

    t = float(-stdtrit(clusters - 1, 0.5 - level / 2))
    return 2 * float(ndtr(sqrt(clusters / (clusters - 1)) * t)) - 1


def bca_interval(means: Floats, sums: Floats, sizes: Integers, *, level: float) -> tuple[float, float] | None:
    """Compute the bias-corrected and accelerated (BCa) interval of a bootstrap distribution.

    Undefined (None) if the clusters do not differ, or if all resamples are on one side of the mean.

    `sums` and `sizes` are those of each cluster's items.

    Source:
        Efron, "Better bootstrap confidence intervals", JASA 1987. The acceleration is from the jackknife
        over clusters, as in Efron and Tibshirani (1993), formula 14.15.
    """
    from scipy.special import ndtr, ndtri

    mean = sums.sum() / sizes.sum()
    # Ties with the mean count half, and equal means may differ by rounding.
    tolerance = 1e-12 * max(1.0, abs(float(mean)))
    below = (np.mean(means < mean - tolerance) + np.mean(means <= mean + tolerance)) / 2
    jackknife_means = (sums.sum() - sums) / (sizes.sum() - sizes)
    deviations = jackknife_means.mean() - jackknife_means
    spread = float((deviations**2).sum())
    if spread == 0 or not 0 < below < 1:
        return None
    acceleration = float((deviations**3).sum()) / (6 * spread**1.5)
    shift = float(ndtri(below))
    ends = shift + float(ndtri(0.5 - level / 2)) * np.array([1.0, -1.0])
    low, high = np.quantile(means, ndtr(shift + ends / (1 - acceleration * ends)))
    return float(low), float(high)


class BootstrapSample(NamedTuple):
    """Observations: the addends of each (a sparse row), its item and its question, by number."""

    rows: Any
    things: Integers
    questions: Integers

    @property
    def is_clustered(self) -> bool:
        """True if some question has several items."""
        return self.question_count < _count_distinct(self.things)

    @property
    def question_count(self) -> int:
        """The number of questions."""
        return _count_distinct(self.questions)


def _count_distinct(numbers: Integers) -> int:
    # Numbers of an enumeration are counted without sorting them.
    if len(numbers) and numbers.min() >= 0 and numbers.max() <= 2 * len(numbers):
        return int(np.count_nonzero(np.bincount(numbers)))
    return len(np.unique(numbers))


def build_sparse(entries: tuple[Places, Places], values: Floats, shape: tuple[int, int]) -> Any:  # noqa: ANN401 - scipy is untyped
    """Build a sparse matrix from the rows, columns and values of its entries; duplicate entries are summed.

    It has 32-bit indices if they suffice; entries given as such are not copied.
    """
    from scipy import sparse as sp

    return sp.csr_array(sp.coo_array((values, entries), shape=shape))


def compute_intervals(rows: Any, statistic: Statistic, clusters: Integers, *, level: float) -> dict[str, Interval]:  # noqa: ANN401
    """Compute the expanded percentile intervals of figures; those that are constant or often undefined are left out.

    Args:
        rows: The addends of each observation, a sparse matrix of shape (observations, columns).
        statistic: A function that returns the figures by name from the sums of many resamples, one per row; NaN if
            undefined.
        clusters: The cluster number of each observation; whole clusters are drawn.
        level: The confidence level.

    Source:
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; for the level see `expand_level`.
    """
    kinds, times = group_equal_rows(rows, clusters)
    count = int(times.sum())
    if count < MIN_CLUSTERS or len(times) < MIN_CLUSTERS:
        return {}
    drawn = _draw_multiplicities(times, RESAMPLES, width=max(kinds.shape))
    parts = [statistic(np.ascontiguousarray((kinds.T @ draws.T.astype(float)).T)) for draws in drawn]
    figures = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return read_intervals(figures, count, level=level)


def compute_common_intervals(
    tables: Sequence[Any], statistic: Statistic, clusters: Integers, *, level: float
) -> list[dict[str, Interval]]:
    """Compute the intervals of several tables of addends of the same observations, each as `compute_intervals` does.

    Each resample draws the same clusters in all tables (common random numbers). The draws are thus made once, and the
    intervals of two tables differ because of their addends only. An interval is that of its table alone except for the
    Monte Carlo error of the resamples. The order of the observations does not matter.

    Source:
        Law, "Simulation Modeling and Analysis", 5th edition 2015, section 11.2.
    """
    kinds, times = _group_common_clusters(tables, clusters)
    count = int(times.sum())
    if count < MIN_CLUSTERS or len(times) < MIN_CLUSTERS:
        return [{} for _ in tables]
    # The sums of the columns that do not vary must not differ by rounding.
    varies = (kinds != kinds[0]).any(axis=0)
    sums = np.tile(kinds[0] * count, (RESAMPLES, 1))
    addends = kinds[:, varies]
    sums[:, varies] = np.concatenate([draws @ addends for draws in _draw_common_multiplicities(times)])
    parts = np.split(sums, len(tables), axis=1)
    return [read_intervals(statistic(np.ascontiguousarray(part)), count, level=level) for part in parts]


def _group_common_clusters(tables: Sequence[Any], clusters: Integers) -> tuple[Floats, Integers]:
    """Sum the rows of tables side by side by cluster; return the distinct sums, sorted, and their multiplicities."""
    names, places = np.unique(clusters, return_inverse=True)
    if len(names) < len(clusters):
        belongs = build_sparse((places, np.arange(len(places))), np.ones(len(places)), (len(names), len(places)))
        tables = [belongs @ rows for rows in tables]
    sums = np.concatenate([rows.toarray() for rows in tables], axis=1)
    sums = sums[np.lexsort(sums.T)]
    first = np.flatnonzero(np.r_[True, (sums[1:] != sums[:-1]).any(axis=1)])
    return sums[first], np.diff(np.r_[first, len(sums)])


def _draw_common_multiplicities(times: Integers) -> Iterator[Floats]:
    """Yield how often each resample draws each distinct cluster, in batches."""
    kinds, count = len(times), int(times.sum())
    if kinds * COUNT_COST < count:
        yield from (draws.astype(float) for draws in _draw_multiplicities(times, RESAMPLES, width=kinds))
        return
    rng = np.random.default_rng(SEED)
    # Few clusters are equal: drawing them one by one takes less time, and the distribution is the same.
    kind_of = np.repeat(np.arange(kinds, dtype=np.int32), times)
    at_once = max(1, DRAWS_AT_ONCE // kinds)
    for done in range(0, RESAMPLES, at_once):
        draws = np.empty((min(at_once, RESAMPLES - done), kinds))
        for row in draws:
            row[:] = np.bincount(kind_of[rng.integers(0, count, count, dtype=np.int32)], minlength=kinds)
        yield draws


def read_intervals(figures: Mapping[str, Floats], clusters: int, *, level: float) -> dict[str, Interval]:
    """Compute expanded percentile intervals from figures of resamples, NaN if undefined, of at least 2 clusters."""
    wide = expand_level(level, clusters)
    intervals: dict[str, Interval] = {}
    for name, drawn in figures.items():
        defined = drawn[~np.isnan(drawn)]
        if len(defined) < (1 - MAX_UNDEFINED) * len(drawn):
            continue
        low, high = percentile_interval(defined, level=wide)
        if low < high:
            intervals[name] = Interval(low=low, high=high, level=level, method="expanded percentile")
    return intervals


def group_equal_rows(rows: Any, clusters: Integers) -> tuple[Any, Integers]:  # noqa: ANN401 - scipy is untyped
    """Sum rows by cluster, and return the distinct sums with their multiplicities, in a canonical order."""
    # Each row is a cluster, so that there is nothing to sum.
    if _count_distinct(clusters) == len(clusters):
        summed = rows if rows.has_sorted_indices else rows.sorted_indices()
        if not summed.data.all():
            summed = summed.copy()
            # A sum has no stored zeros either, and rows are compared by what they store.
            summed.eliminate_zeros()
    else:
        names, places = np.unique(clusters, return_inverse=True)
        belongs = build_sparse((places, np.arange(len(places))), np.ones(len(places)), (len(names), len(places)))
        summed = (belongs @ rows).tocsr()
        summed.sort_indices()
    kinds = [kind for part in _split_by_length(summed) for kind in _find_equal_rows(*part)]
    # The result must not depend on the order of the observations.
    kinds.sort()
    first, times = (np.array([kind[field] for kind in kinds], dtype=np.int64) for field in (-2, -1))
    return summed[first], times


_RowKind = tuple[bytes, bytes, int, int]
"""The columns and the values of equal sparse rows, the number of the first of these rows, and how many there are."""


def _split_by_length(table: Any) -> Iterator[tuple[Integers, Integers, Floats]]:  # noqa: ANN401 - scipy is untyped
    """Yield the numbers, the columns and the values of the rows of a sparse matrix that have equally many entries."""
    lengths = np.diff(table.indptr)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        # All rows have equally many entries: the table needs no copy.
        if len(rows) == len(lengths):
            yield rows, *(part[: table.nnz].reshape(len(rows), length) for part in (table.indices, table.data))
            continue
        places = table.indptr[rows].astype(np.int64)[:, None] + np.arange(length)
        yield rows, table.indices[places], table.data[places]


def _find_equal_rows(rows: Integers, columns: Integers, values: Floats) -> Iterator[_RowKind]:
    """Yield each distinct row of two arrays side by side, compared by their bytes."""
    values = np.ascontiguousarray(values)
    first, kind = find_equal_entries((*columns.T, *values.view(np.uint64).T), len(rows))
    for at, count in zip(first.tolist(), np.bincount(kind).tolist(), strict=True):
        yield columns[at].tobytes(), values[at].tobytes(), int(rows[at]), count


def find_equal_entries(columns: Sequence[Places] | NDArray[np.integer[Any]], count: int) -> tuple[Integers, Integers]:
    """Return the place of the first of each kind of equal entries of integer columns, and the kind of each entry."""
    # One hash of each row is sorted in place of the row. Rows with one hash are compared below.
    hashes = np.zeros(count, np.uint64)
    for column in columns:
        hashes = (hashes ^ column.astype(np.uint64)) * HASH_FACTOR
        hashes ^= hashes >> HASH_SHIFT
    _, first, kind = np.unique(hashes, return_index=True, return_inverse=True)
    # Different entries can have one hash.
    if not all(np.array_equal(column[first][kind], column) for column in columns):
        table = np.stack([column.astype(np.uint64) for column in columns], axis=1)
        _, first, kind = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, kind


class ValueBasis(NamedTuple):
    """What is needed of a value besides its formula.

    `n` is its number of observations, `why` the reason to report if it is undefined. `share` is whether it is a plain
    share of the observations, which has an interval even if all are equal.
    """

    n: int
    why: str
    share: bool = False


def bootstrap_values(
    sample: BootstrapSample,
    statistic: Statistic,
    describe_basis: Callable[[str], ValueBasis],
    *,
    values: Mapping[str, float],
    level: float,
) -> dict[str, Measured]:
    """Return the values of a sample, NaN if undefined, with bootstrap intervals from its resamples.

    `statistic` computes every value of many resamples at once, as for `compute_intervals`.
    """
    single = compute_intervals(sample.rows, statistic, sample.things, level=level)
    together = compute_intervals(sample.rows, statistic, sample.questions, level=level) if sample.is_clustered else {}
    return build_values(values, describe_basis, sample, (single, together), level=level)


def build_values(
    values: Mapping[str, float],
    describe_basis: Callable[[str], ValueBasis],
    sample: BootstrapSample,
    ends: tuple[Mapping[str, Interval], Mapping[str, Interval]],
    *,
    level: float,
) -> dict[str, Measured]:
    """Return values with given intervals, those of single items and those of whole questions.

    A share of 0 or 1 that is the same in all resamples gets Wilson's interval.
    """
    questions = sample.question_count if sample.is_clustered else 0
    measured: dict[str, Measured] = {}
    for name, value in values.items():
        basis = describe_basis(name)
        if isnan(value):
            measured[name] = Undefined(n=basis.n, reason=basis.why)
            continue
        single, together = (intervals.get(name) for intervals in ends)
        # Resamples of equal values are all equal, but a share of 0 or 1 is not certain.
        if basis.share and value in {0.0, 1.0} and single is None and together is None:
            single = wilson_interval(value, basis.n, level=level)
            together = wilson_interval(value, min(basis.n, questions), level=level) if questions else None
        measured[name] = MeasuredValue(value=value, n=basis.n, interval=single, clustered=together)
    return measured


def encode_names(names: list[str]) -> Integers:
    """Encode names as integers; equal names have equal codes."""
    # Not by numpy: its strings lose NUL characters at their end.
    codes = {name: code for code, name in enumerate(sorted(set(names)))}
    return np.array([codes[name] for name in names], np.int64)
