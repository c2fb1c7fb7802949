"""Agreement of several raters with missing ratings: Krippendorff's alpha and Gwet's AC1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import fsum, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greval.stats.bootstrap import (
    BootstrapSample,
    Floats,
    Integers,
    Places,
    ValueBasis,
    bootstrap_values,
    build_sparse,
    build_values,
    compute_common_intervals,
    find_equal_entries,
)
from greval.stats.interval import Distance, Measured

Formula = Callable[[Floats], Floats]
PAIR = 2
NEAR_ZERO = 1e-12


class Ratings(NamedTuple):
    """Ratings item by item: the number of each one's item, its value, and how many ratings each item has.

    On categorical scales a rating is the index of its category, and `size` is the number of categories. For numbers,
    `size` is 0 and the distance is "interval". `questions` has the number of each item's question.
    """

    items: Integers
    values: Floats
    counts: Integers
    questions: Integers
    size: int
    distance: Distance


def compute_reliability(ratings: Ratings, *, level: float) -> dict[str, Measured]:
    """Compute alpha and, for categories, AC1 over all raters, with their intervals.

    Alpha, and the observed agreement of AC1, use only items with at least two ratings. `alpha` has the distance of the
    ratings; if that is ordinal, `alpha nominal` is the one that ignores the order.
    """
    pairable = int((ratings.counts >= PAIR).sum())
    basis = ValueBasis(n=pairable, why="no thing has two people's values" if not pairable else "all values are equal")
    places = np.arange(len(ratings.counts))
    measured: dict[str, Measured] = {}
    for rows, formulas in _build_formulas(ratings):
        statistic = partial(_evaluate_formulas, formulas)
        values = {name: float(figure[0]) for name, figure in statistic(rows.sum(axis=0).reshape(1, -1)).items()}
        sample = BootstrapSample(rows, places, ratings.questions)
        measured |= bootstrap_values(sample, statistic, lambda _: basis, values=values, level=level)
    return measured


def compute_alphas_without(numbers: Floats, questions: Integers, *, level: float) -> list[Measured]:
    """Compute the alpha of numbers of all raters but one, for each rater in turn.

    The resamples of all these alphas draw the same items (common random numbers), so that their intervals can be
    compared: they differ because of the raters and not because of the draws. The resamples therefore depend on the
    numbers of all raters, also on those of the rater that is left out.
    """
    count, raters = numbers.shape
    places = np.arange(count)
    levels, ratings = np.unique(numbers, return_inverse=True)
    ratings, counts = ratings.reshape(numbers.shape), np.full(count, raters - 1)
    tables = [
        _collect_level_moments(levels, np.delete(ratings, rater, axis=1).ravel(), counts) for rater in range(raters)
    ]
    statistic = partial(_evaluate_formulas, {"alpha": interval_alpha})
    single = compute_common_intervals(tables, statistic, places, level=level)
    clustered = BootstrapSample(tables[0], places, questions).is_clustered
    together = compute_common_intervals(tables, statistic, questions, level=level) if clustered else [{}] * raters
    basis = ValueBasis(n=count, why="all values are equal")
    return [
        build_values(
            {"alpha": float(interval_alpha(rows.sum(axis=0).reshape(1, -1))[0])},
            lambda _: basis,
            BootstrapSample(rows, places, questions),
            (item_intervals, question_intervals),
            level=level,
        )["alpha"]
        for rows, item_intervals, question_intervals in zip(tables, single, together, strict=True)
    ]


def _evaluate_formulas(formulas: Mapping[str, Formula], sums: Floats) -> dict[str, Floats]:
    return {name: formula(sums) for name, formula in formulas.items()}


def _build_formulas(ratings: Ratings) -> Iterator[tuple[Any, Mapping[str, Formula]]]:
    """Yield the addends of each item, and the formula of each coefficient on their sums."""
    if not ratings.size:
        yield _collect_moments(ratings), {"alpha": interval_alpha}
        return
    size = ratings.size

    def compute_alpha(sums: Floats, *, ordinal: bool) -> Floats:
        return krippendorff_alpha(sums.reshape(-1, size, size), ordinal=ordinal)

    nominal = partial(compute_alpha, ordinal=False)
    alphas = {"alpha": nominal}
    if ratings.distance == "ordinal":
        alphas = {"alpha": partial(compute_alpha, ordinal=True), "alpha nominal": nominal}
    yield _count_coincidences(ratings), alphas
    yield _collect_shares(ratings), {"ac1": multi_rater_ac1}


def krippendorff_alpha(tables: Floats, *, ordinal: bool) -> Floats:
    """Compute Krippendorff's alpha of many coincidence matrices, for nominal or ordinal categories.

    alpha = 1 - (n - 1) sum_ck o_ck d_ck / sum_ck n_c n_k d_ck. o_ck is how often the values c and k were paired within
    an item, n_c how often c was given, n the sum of n_c. The distance d_ck of different values is 1 (nominal), or the
    squared number of ratings between them, with c and k counted by half (ordinal).

    Returns:
        The coefficients, shape (resamples,); NaN if all values are equal.

    Source:
        Krippendorff, "Content Analysis", 3rd edition 2013, chapter 12.
    """
    totals = tables.sum(axis=2)
    n, size = totals.sum(axis=1), tables.shape[-1]
    apart = np.broadcast_to(1.0 - np.eye(size), tables.shape)
    if ordinal:
        middle = np.cumsum(totals, axis=1) - totals / 2
        apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    observed = np.einsum("bij,bij->b", tables, apart)
    return _one_minus_ratio(observed * (n - 1), np.einsum("bi,bj,bij->b", totals, totals, apart, optimize=True))


def interval_alpha(sums: Floats) -> Floats:
    """Compute Krippendorff's alpha of numbers; the distance is the squared difference.

    Source:
        Krippendorff (2013), see `krippendorff_alpha`.
    """
    n, total, squares, observed = sums.T
    return _one_minus_ratio(observed * (n - 1), 2 * (n * squares - total**2))


def multi_rater_ac1(sums: Floats) -> Floats:
    """Compute Gwet's AC1 of several raters with missing ratings.

    AC1 = (p - e) / (1 - e). p is the mean share of agreeing pairs of raters, over the items with two or more ratings.
    e = sum_k q_k (1 - q_k) / (size - 1), and q_k is the mean share of category k over all rated items. NaN if no item
    has two ratings.

    Source:
        Gwet, "Handbook of Inter-Rater Reliability", 4th edition 2014, chapter 2.
    """
    pairable, agreed, things, shares = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    with np.errstate(divide="ignore", invalid="ignore"):
        category = shares / things[:, None]
        chance = (category * (1 - category)).sum(axis=1) / (category.shape[1] - 1)
        return np.where(pairable > 0, (agreed / pairable - chance) / (1 - chance), nan)


def _count_values(ratings: Ratings) -> tuple[Places, Places, Floats]:
    """Return the item, the value and the count of each value that an item has, in their order."""
    entries, shape = (ratings.items, ratings.values.astype(np.int32)), (len(ratings.counts), ratings.size)
    table = build_sparse(entries, np.ones(len(ratings.values)), shape)
    table.sort_indices()
    items = np.repeat(np.arange(len(ratings.counts), dtype=np.int32), np.diff(table.indptr))
    return items, table.indices, table.data


def _count_coincidences(ratings: Ratings) -> Any:  # noqa: ANN401 - scipy is untyped
    """Count how often each pair of values occurs within each item, divided by its number of ratings minus 1."""
    items, values, counts = _count_values(ratings)
    size = ratings.size
    paired = ratings.counts[items] >= PAIR
    items, values, counts = items[paired], values[paired], counts[paired]
    distinct = np.bincount(items, minlength=len(ratings.counts)).astype(np.int32)
    partners = distinct[items]
    first = np.repeat(np.arange(len(items), dtype=np.int32), partners)
    second = np.arange(len(first), dtype=np.int32) - np.repeat(_list_begins(partners), partners)
    second += _list_begins(distinct)[items[first]]
    met = counts[first] * (counts[second] - (first == second))
    entries = items[first], values[first] * size + values[second]
    return build_sparse(entries, met / (ratings.counts[items[first]] - 1), (len(ratings.counts), size * size))


def _list_begins(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the place of the first element of each part, of parts with these lengths one after the other."""
    return np.cumsum(counts, dtype=np.int32) - counts


def _collect_shares(ratings: Ratings) -> Any:  # noqa: ANN401 - scipy is untyped
    """Return a row per item: 1 if it has two ratings, its share of agreeing pairs, 1, and its category shares."""
    items, values, counts = _count_values(ratings)
    rated, pairable = (np.flatnonzero(ratings.counts >= n).astype(np.int32) for n in (1, PAIR))
    pairs = np.bincount(items, counts * (counts - 1), minlength=len(ratings.counts))[pairable]
    agree = pairs > 0
    agreed = pairs[agree] / (ratings.counts[pairable[agree]] * (ratings.counts[pairable[agree]] - 1))
    parts = ((pairable, 1.0), (pairable[agree], agreed), (rated, 1.0), (items, counts / ratings.counts[items]))
    rows = np.concatenate([part for part, _ in parts])
    columns = np.repeat(np.arange(4, dtype=np.int32), [len(part) for part, _ in parts])
    columns[len(columns) - len(items) :] += values
    addends = np.concatenate([np.broadcast_to(addend, len(part)) for part, addend in parts])
    return build_sparse((rows, columns), addends, (len(ratings.counts), 3 + ratings.size))


def _collect_moments(ratings: Ratings) -> Any:  # noqa: ANN401 - scipy is untyped
    """Return a row per item with two ratings: their number n, sum, sum of squares, and disagreement.

    The disagreement is the sum of the squared differences of all ordered pairs of ratings, divided by n - 1.
    """
    return _collect_level_moments(*np.unique(ratings.values, return_inverse=True), ratings.counts)


def _collect_level_moments(levels: Floats, ratings: Integers, counts: Integers) -> Any:  # noqa: ANN401 - scipy is untyped
    """Return the rows of `_collect_moments` of ratings given by their places in the distinct, rising values."""
    middle = _compute_exact_mean(levels, np.bincount(ratings[np.repeat(counts >= PAIR, counts)], minlength=len(levels)))
    # Squares of large numbers that differ little would lose digits.
    centred = levels - middle
    squared = np.array([level**2 for level in centred.tolist()])
    begins = np.cumsum(counts) - counts
    tables: list[Floats] = []
    rows: list[Integers] = []
    for n in np.unique(counts[counts >= PAIR]).tolist():
        of_size = np.flatnonzero(counts == n)
        members = np.sort(ratings[begins[of_size][:, None] + np.arange(n)], axis=1)
        first, kind = find_equal_entries(members.T, len(of_size))
        members = members[first]
        # Exactly rounded sums give equal items equal rows, whatever the order of their ratings.
        total, squares = (np.array([*map(fsum, part[members].tolist())]) for part in (centred, squared))
        apart = 2 * (n * squares - np.array([item_sum**2 for item_sum in total.tolist()])) / (n - 1)
        differs = members[:, 0] < members[:, -1]
        # Equal ratings do not disagree at all, but their difference of sums may be off by rounding.
        table = np.stack([np.full(len(first), float(n)), total, squares, np.where(differs, apart, 0.0)], axis=1)
        tables.append(table[kind])
        rows.append(of_size)
    table = np.concatenate(tables) if tables else np.empty((0, 4))
    entries = np.repeat(np.concatenate(rows) if rows else np.empty(0, np.int64), 4), np.tile(np.arange(4), len(table))
    return build_sparse(entries, table.ravel(), (len(counts), 4))


def _compute_exact_mean(values: Floats, counts: Integers) -> float:
    """Compute the mean of values that occur several times from their exactly rounded sum; 0 if none occurs."""
    count = int(counts.sum())
    bits = range(int(counts.max(initial=0)).bit_length())
    # Products with powers of two are exact, unlike those with counts.
    addends = [values[(counts >> bit) & 1 == 1] * 2.0**bit for bit in bits]
    return fsum(np.concatenate(addends).tolist()) / count if count else 0.0


def _one_minus_ratio(above: Floats, below: Floats) -> Floats:
    """Return `1 - above / below`, or NaN if `below` is 0."""
    defined = below > NEAR_ZERO
    return np.where(defined, 1 - above / np.where(defined, below, 1.0), nan)
