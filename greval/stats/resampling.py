"""The bootstrap of any statistic of sums (cells of a table, moments, coincidences), over items or whole questions.

The sums of a resample are the sums over its clusters. Each resample therefore draws the multiplicity of each distinct
cluster (a multinomial), and a matrix product with the clusters' sums gives the sums of all resamples
at once. Ten thousand annotations on a scale of a few categories have a few dozen distinct clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from greval.stats.bootstrap import DRAWS_AT_ONCE, RESAMPLES, SEED, expand_level
from greval.stats.interval import Interval

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

    Statistic = Callable[[Floats], dict[str, Floats]]
else:
    Statistic = Callable

MIN_CLUSTERS = 2
MAX_UNDEFINED = 0.05
"""If the figure is undefined in a larger share of the resamples, the others are biased and no interval is returned."""


class BootstrapSample(NamedTuple):
    """Observations: the addends of each (a sparse row), its item and its question, by number."""

    rows: Any
    things: Integers
    questions: Integers

    @property
    def is_clustered(self) -> bool:
        """True if some question has several items."""
        return len(set(self.questions.tolist())) < len(set(self.things.tolist()))


def build_sparse(entries: tuple[Integers, Integers], values: Floats, shape: tuple[int, int]) -> Any:  # noqa: ANN401 - scipy is untyped
    """Build a sparse matrix from the rows, columns and values of its entries; duplicate entries are summed."""
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
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; for the level see
        `greval.stats.bootstrap.expand_level`.
    """
    import numpy as np

    kinds, times = group_equal_rows(rows, clusters)
    count = int(times.sum())
    if count < MIN_CLUSTERS or len(times) < MIN_CLUSTERS:
        return {}
    parts = [statistic(sums) for sums in _draw_sums(kinds, times)]
    return read_intervals(
        {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, count, level=level
    )


def read_intervals(figures: Mapping[str, Floats], clusters: int, *, level: float) -> dict[str, Interval]:
    """Compute the expanded percentile intervals from the figures of resamples, NaN if undefined.

    Args:
        figures: The figures of all resamples by name.
        clusters: The number of clusters in each resample, at least 2.
        level: The confidence level.
    """
    import numpy as np

    wide = expand_level(level, clusters)
    found: dict[str, Interval] = {}
    for name, drawn in figures.items():
        known = drawn[~np.isnan(drawn)]
        if len(known) < (1 - MAX_UNDEFINED) * len(drawn):
            continue
        low, high = np.quantile(known, [0.5 - wide / 2, 0.5 + wide / 2])
        if low < high:
            found[name] = Interval(low=float(low), high=float(high), level=level, method="expanded percentile")
    return found


def group_equal_rows(rows: Any, clusters: Integers) -> tuple[Any, Integers]:  # noqa: ANN401 - scipy is untyped
    """Sum rows by cluster, and return the distinct sums with their multiplicities, in a canonical order.

    Example:
        >>> import numpy as np
        >>> ones = build_sparse((np.arange(3), np.array([0, 1, 0])), np.ones(3), (3, 2))
        >>> sorted(group_equal_rows(ones, np.array([0, 1, 2]))[1].tolist())
        [1, 2]
    """
    import numpy as np

    names, places = np.unique(clusters, return_inverse=True)
    belongs = build_sparse((places, np.arange(len(places))), np.ones(len(places)), (len(names), len(places)))
    summed = (belongs @ rows).tocsr()
    summed.sort_indices()
    at: dict[tuple[bytes, bytes], list[int]] = {}
    for row, (begin, end) in enumerate(pairwise(summed.indptr.tolist())):
        at.setdefault((summed.indices[begin:end].tobytes(), summed.data[begin:end].tobytes()), []).append(row)
    order = sorted(at)  # the result does not depend on the order of observations
    first = np.array([at[mark][0] for mark in order], dtype=np.int64)
    return summed[first], np.array([len(at[mark]) for mark in order], dtype=np.int64)


def _draw_sums(kinds: Any, times: Integers) -> Iterator[Floats]:  # noqa: ANN401 - scipy is untyped
    """Yield the sums of resamples in batches, one resample per row."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    count = int(times.sum())
    at_once = max(1, DRAWS_AT_ONCE // max(kinds.shape))
    for done in range(0, RESAMPLES, at_once):
        draws = rng.multinomial(count, times / count, size=min(at_once, RESAMPLES - done))
        yield np.ascontiguousarray((kinds.T @ draws.T.astype(float)).T)
