"""Agreement of several raters with missing ratings: Krippendorff's alpha and Gwet's AC1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import fsum, nan
from typing import Any, Literal, NamedTuple

import numpy as np

from greval.stats.bootstrap import BootstrapSample, Floats, Integers, ValueBasis, bootstrap_values, build_sparse
from greval.stats.measured import Measured

Distance = Literal["nominal", "ordinal", "interval"]
PAIR = 2
NEAR_ZERO = 1e-12


class Ratings(NamedTuple):
    """The ratings of each item, in any order, and the number of each item's question.

    On categorical scales a rating is the index of its category, and `size` is the number of categories. For numbers,
    `size` is 0 and the distance is "interval".
    """

    units: Sequence[Sequence[float]]
    questions: Integers
    size: int
    distance: Distance


def compute_reliability(ratings: Ratings, *, level: float) -> dict[str, Measured]:
    """Compute alpha and, for categories, AC1 over all raters, with their intervals.

    Alpha, and the observed agreement of AC1, use only items with at least two ratings.
    """
    twice = sum(len(unit) >= PAIR for unit in ratings.units)
    basis = ValueBasis(n=twice, why="no thing has two people's values" if not twice else "all values are equal")
    places = np.arange(len(ratings.units))
    found: dict[str, Measured] = {}
    for name, (rows, formula) in _build_formulas(ratings).items():
        values = {name: float(formula(rows.sum(axis=0).reshape(1, -1))[0])}
        sample = BootstrapSample(rows, places, ratings.questions)
        statistic = partial(_evaluate_formula, name, formula)
        found |= bootstrap_values(sample, statistic, lambda _: basis, values=values, level=level)
    return found


def _evaluate_formula(name: str, formula: Callable[[Floats], Floats], sums: Floats) -> dict[str, Floats]:
    return {name: formula(sums)}


def _build_formulas(ratings: Ratings) -> dict[str, tuple[Any, Callable[[Floats], Floats]]]:
    """Return the addends of each item and the formula on their sums, for each coefficient."""
    if not ratings.size:
        return {"alpha": (_collect_moments(ratings.units), interval_alpha)}
    size, distance = ratings.size, ratings.distance
    return {
        "alpha": (
            _count_coincidences(ratings.units, size),
            lambda sums: krippendorff_alpha(sums.reshape(-1, size, size), ordinal=distance == "ordinal"),
        ),
        "ac1": (_collect_shares(ratings.units, size), multi_rater_ac1),
    }


def krippendorff_alpha(tables: Floats, *, ordinal: bool) -> Floats:
    """Compute Krippendorff's alpha of many coincidence matrices, for nominal or ordinal categories.

    alpha = 1 - (n - 1) sum_ck o_ck d_ck / sum_ck n_c n_k d_ck. o_ck is how often the values c and k were paired within
    an item, n_c how often c was given, n the sum of n_c. The distance d_ck of different values is 1 (nominal), or the
    squared number of ratings between them, with c and k counted by half (ordinal).

    Args:
        tables: Coincidence matrices, shape (resamples, size, size).
        ordinal: Whether the order of the categories counts.

    Returns:
        The coefficients, shape (resamples,); NaN if all values are equal.

    Source:
        Krippendorff, "Content Analysis", 3rd edition 2013, chapter 12.
    """
    given = tables.sum(axis=2)
    n, size = given.sum(axis=1), tables.shape[-1]
    apart = np.broadcast_to(1.0 - np.eye(size), tables.shape)
    if ordinal:
        middle = np.cumsum(given, axis=1) - given / 2
        apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    seen = np.einsum("bij,bij->b", tables, apart)
    return _one_minus_ratio(seen * (n - 1), np.einsum("bi,bj,bij->b", given, given, apart, optimize=True))


def interval_alpha(sums: Floats) -> Floats:
    """Compute Krippendorff's alpha of numbers; the distance is the squared difference.

    Args:
        sums: The sums of the columns of `_collect_moments`, shape (resamples, 4).

    Source:
        Krippendorff (2013), see `krippendorff_alpha`.
    """
    n, total, squares, seen = sums.T
    return _one_minus_ratio(seen * (n - 1), 2 * (n * squares - total**2))


def multi_rater_ac1(sums: Floats) -> Floats:
    """Compute Gwet's AC1 of several raters with missing ratings.

    AC1 = (p - e) / (1 - e). p is the mean share of agreeing pairs of raters, over the items with two or more ratings.
    e = sum_k q_k (1 - q_k) / (size - 1), and q_k is the mean share of category k over all rated items. NaN if no item
    has two ratings.

    Args:
        sums: The sums of the columns of `_collect_shares`, shape (resamples, 3 + size).

    Source:
        Gwet, "Handbook of Inter-Rater Reliability", 4th edition 2014, chapter 2.
    """
    twice, agreed, things, shares = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    with np.errstate(divide="ignore", invalid="ignore"):
        category = shares / things[:, None]
        chance = (category * (1 - category)).sum(axis=1) / (category.shape[1] - 1)
        return np.where(twice > 0, (agreed / twice - chance) / (1 - chance), nan)


def _count_coincidences(units: Sequence[Sequence[float]], size: int) -> Any:  # noqa: ANN401 - scipy is untyped
    """Count how often each pair of values occurs within each item, divided by its number of ratings minus 1."""
    found: list[tuple[int, int, float]] = []
    for row, unit in enumerate(units):
        counts = Counter(int(value) for value in unit)
        for one, other in product(counts, repeat=PAIR) if len(unit) >= PAIR else ():
            met = counts[one] * (counts[other] - (one == other))
            found.append((row, one * size + other, met / (len(unit) - 1)))
    return _build_matrix(found, (len(units), size * size))


def _collect_shares(units: Sequence[Sequence[float]], size: int) -> Any:  # noqa: ANN401 - scipy is untyped
    """Return a row per item: 1 if it has two ratings, its share of agreeing pairs, 1, and its category shares."""
    found: list[tuple[int, int, float]] = []
    for row, unit in enumerate(units):
        if not unit:
            continue
        counts, n = Counter(int(value) for value in unit), len(unit)
        found += [(row, 3 + value, count / n) for value, count in counts.items()]
        found.append((row, 2, 1.0))
        if n >= PAIR:
            agreed = sum(count * (count - 1) for count in counts.values()) / (n * (n - 1))
            found += [(row, 0, 1.0), (row, 1, agreed)]
    return _build_matrix(found, (len(units), 3 + size))


def _collect_moments(units: Sequence[Sequence[float]]) -> Any:  # noqa: ANN401 - scipy is untyped
    """Return a row per item with two ratings: their number n, sum, sum of squares, and disagreement.

    The disagreement is the sum of the squared differences of all ordered pairs of ratings, divided by n - 1.
    """
    every = [value for unit in units if len(unit) >= PAIR for value in unit]
    middle = fsum(every) / len(every) if every else 0.0  # centring avoids a loss of digits in the sums of squares
    found: list[tuple[int, int, float]] = []
    for row, unit in enumerate(units):
        if len(unit) >= PAIR:
            values = [value - middle for value in unit]
            n, total, squares = len(unit), fsum(values), fsum(value**2 for value in values)
            apart = 2 * (n * squares - total**2) / (n - 1) if len(set(unit)) > 1 else 0.0
            found += [(row, column, part) for column, part in enumerate((float(n), total, squares, apart))]
    return _build_matrix(found, (len(units), 4))


def _build_matrix(found: Sequence[tuple[int, int, float]], shape: tuple[int, int]) -> Any:  # noqa: ANN401 - scipy is untyped
    rows, columns, values = zip(*found, strict=True) if found else ((), (), ())
    entries = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    return build_sparse(entries, np.array(values, dtype=float), shape)


def _one_minus_ratio(above: Floats, below: Floats) -> Floats:
    """Return `1 - above / below`, or NaN if `below` is 0."""
    known = below > NEAR_ZERO
    return np.where(known, 1 - above / np.where(known, below, 1.0), nan)
