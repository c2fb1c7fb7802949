"""Rank statistics: Spearman's and Kendall's correlations and medians, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import TYPE_CHECKING

from greval.stats.bootstrap import RESAMPLES, SEED
from greval.stats.interval import Interval
from greval.stats.measured import Measured, ValueBasis, bootstrap_values, build_values
from greval.stats.resampling import BootstrapSample, build_sparse, read_intervals

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

MAX_CELLS = 16_384
"""Up to this number of cells, pairs are counted in a table; beyond it, each resample is ranked individually."""
MAX_RANKED = 2_000_000
MIN_RESAMPLES = 400


def compare_ranks(
    people: Floats, judge: Floats, sample: BootstrapSample, describe_basis: Callable[[str], ValueBasis], *, level: float
) -> dict[str, Measured]:
    """Compute "spearman", "kendall" (tau-b), "people median" and "judge median" with their intervals.

    The correlations are scipy's. On scales of a few values the intervals come from contingency tables, all resamples at
    once. With more distinct values each resample is ranked individually, and there are fewer of them, but at least 400.

    Args:
        people: The numbers of people, shape (items,).
        judge: The judge's numbers of the same items.
        sample: The items and questions of the pairs; its rows are not used.
        describe_basis: A function that returns the basis of a figure by its name.
        level: The confidence level.
    """
    import numpy as np

    values = compute_rank_figures(people, judge)
    axes, places = zip(*(np.unique(side, return_inverse=True) for side in (people, judge)), strict=True)
    shape = len(axes[0]), len(axes[1])
    if shape[0] * shape[1] > MAX_CELLS:
        return _resample_ranks((people, judge), sample, describe_basis, values=values, level=level)
    cells = places[0] * shape[1] + places[1]
    rows = build_sparse((np.arange(len(cells)), cells), np.ones(len(cells)), (len(cells), shape[0] * shape[1]))

    def statistic(sums: Floats) -> dict[str, Floats]:
        return compute_table_figures(np.round(sums).reshape(-1, *shape), axes[0], axes[1])

    return bootstrap_values(sample._replace(rows=rows), statistic, describe_basis, values=values, level=level)


def compute_rank_figures(people: Floats, judge: Floats) -> dict[str, float]:
    """Compute the four rank statistics of the sample itself; a correlation is NaN if a side does not vary.

    Example:
        >>> import numpy as np
        >>> compute_rank_figures(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 3.0]))["spearman"]
        0.5
    """
    import numpy as np
    from scipy import stats

    found = {"spearman": nan, "kendall": nan}
    if people.min() < people.max() and judge.min() < judge.max():
        found["spearman"] = float(stats.spearmanr(people, judge).statistic)
        found["kendall"] = float(stats.kendalltau(people, judge).statistic)
    return {**found, "people median": float(np.median(people)), "judge median": float(np.median(judge))}


def compute_table_figures(tables: Floats, rows: Floats, columns: Floats) -> dict[str, Floats]:
    """Compute the four rank statistics of many contingency tables; NaN if undefined.

    Args:
        tables: The number of pairs by values, rising on both axes; shape (resamples, rows, columns).
        rows: The values of the rows, those of people.
        columns: The values of the columns, those of the judge.

    Returns:
        Arrays of shape (resamples,) by name.
    """
    people, judge = tables.sum(axis=2), tables.sum(axis=1)
    return {
        "spearman": _compute_spearman(tables, people, judge),
        "kendall": _compute_kendall(tables, people, judge),
        "people median": _compute_medians(people, rows),
        "judge median": _compute_medians(judge, columns),
    }


def _compute_spearman(tables: Floats, people: Floats, judge: Floats) -> Floats:
    """Compute Spearman's correlation: Pearson's correlation of mid-ranks."""
    import numpy as np

    n = people.sum(axis=1)[:, None]
    ranks = [np.cumsum(counts, axis=1) - counts / 2 - n / 2 for counts in (people, judge)]
    together = np.einsum("bij,bi,bj->b", tables, *ranks, optimize=True)
    spread = np.einsum("bi,bi->b", people, ranks[0] ** 2) * np.einsum("bj,bj->b", judge, ranks[1] ** 2)
    return _divide_by_root(together, spread)


def _compute_kendall(tables: Floats, people: Floats, judge: Floats) -> Floats:
    """Compute Kendall's tau-b: (concordant - discordant) / sqrt(pairs not tied in x * pairs not tied in y).

    Source:
        Kendall, "The treatment of ties in ranking problems", Biometrika 1945.
    """
    import numpy as np

    below = np.cumsum(np.cumsum(tables, axis=1), axis=2)  # the number of pairs with both values at most these
    before = np.pad(below, ((0, 0), (1, 0), (1, 0)))[:, :-1, :-1]
    in_rows_before = np.pad(below[:, :, -1], ((0, 0), (1, 0)))[:, :-1, None]
    later = in_rows_before - np.pad(below, ((0, 0), (1, 0), (0, 0)))[:, :-1, :]
    surplus = np.einsum("bij,bij->b", tables, before - later)
    n = people.sum(axis=1)
    free = [(n**2 - (counts**2).sum(axis=1)) / 2 for counts in (people, judge)]
    return _divide_by_root(surplus, free[0] * free[1])


def _compute_medians(counts: Floats, values: Floats) -> Floats:
    """Compute the medians of values with counts."""
    import numpy as np

    upto, n = np.cumsum(counts, axis=1), counts.sum(axis=1)
    middles = [np.argmax(upto >= place[:, None], axis=1) for place in ((n + 1) // 2, n // 2 + 1)]
    found: Floats = (values[middles[0]] + values[middles[1]]) / 2
    return found


def _divide_by_root(above: Floats, squared: Floats) -> Floats:
    """Divide by a square root; NaN if it is 0."""
    import numpy as np

    found: Floats = np.divide(above, np.sqrt(squared), out=np.full(len(above), nan), where=squared > 0)
    return found


def _resample_ranks(
    sides: tuple[Floats, Floats],
    sample: BootstrapSample,
    describe_basis: Callable[[str], ValueBasis],
    *,
    values: dict[str, float],
    level: float,
) -> dict[str, Measured]:
    """Compute the rank statistics with intervals from resamples that are ranked individually."""
    single = _compute_intervals(sides, sample.things, level)
    together = _compute_intervals(sides, sample.questions, level) if sample.is_clustered else {}
    return build_values(values, describe_basis, sample, (single, together), level=level)


def _compute_intervals(sides: tuple[Floats, Floats], clusters: Integers, level: float) -> dict[str, Interval]:
    """Resample whole clusters, and rank each resample."""
    import numpy as np

    order = np.argsort(clusters, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
    if len(members) < 2:  # noqa: PLR2004 - a variance needs two
        return {}
    rng = np.random.default_rng(SEED)
    times = min(RESAMPLES, max(MIN_RESAMPLES, MAX_RANKED // len(order)))
    draws: list[dict[str, float]] = []
    for _ in range(times):
        drawn = np.concatenate([members[n] for n in rng.integers(0, len(members), len(members))])
        draws.append(compute_rank_figures(sides[0][drawn], sides[1][drawn]))
    figures = {name: np.array([draw[name] for draw in draws]) for name in draws[0]}
    return read_intervals(figures, len(members), level=level)
