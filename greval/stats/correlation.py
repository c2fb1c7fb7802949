"""Agreement of two sides that give numbers: their differences, correlations and rank correlations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import nan
from typing import Any, NamedTuple

import numpy as np

from greval.stats.bootstrap import (
    RESAMPLES,
    SEED,
    BootstrapSample,
    Floats,
    Integers,
    ValueBasis,
    bootstrap_values,
    build_sparse,
    build_values,
    read_intervals,
)
from greval.stats.interval import Interval, Measured, NumberSpread

MIN_PAIRS = 2
ROUNDING = 1e-12
"""A variance below this share of the mean square is due to rounding."""
MAX_CELLS = 16_384
"""Up to this number of cells, pairs are counted in a table; beyond it, each resample is ranked individually."""
MAX_RANKED = 2_000_000
MIN_RESAMPLES = 400


class NumberPairs(NamedTuple):
    """The numbers of people and of the judge, with the weight, item and question of each pair."""

    people: Floats
    judge: Floats
    weights: Floats
    things: Integers
    questions: Integers


def compare_numbers(numbers: NumberPairs, *, level: float, ranks: bool = True) -> dict[str, Measured]:
    """Compute every agreement figure of two sides of numbers with its intervals.

    The names are "bias" (mean of judge - people), "mae" (mean absolute error), "pearson"; "people" or "judge" before
    "mean" and "sd"; and with `ranks` the rank statistics, which ignore weights: "spearman", "kendall" (tau-b),
    "people median", "judge median".
    """
    rows, middle = _collect_moments(numbers)
    statistic = partial(compute_figures, middle=middle)
    sample = BootstrapSample(rows, numbers.things, numbers.questions)
    values = {name: float(value[0]) for name, value in statistic(rows.sum(axis=0).reshape(1, -1)).items()}
    if ranks:
        values["pearson"] = _compute_pearson(numbers)
    describe_basis = partial(_describe_basis, numbers)
    measured = bootstrap_values(sample, statistic, describe_basis, values=values, level=level)
    if not ranks:
        return measured
    return measured | compare_ranks(numbers.people, numbers.judge, sample, describe_basis, level=level)


def extract_spreads(numbers: NumberPairs, measured: dict[str, Measured]) -> tuple[NumberSpread, NumberSpread]:
    """Return the distributions of people's and of the judge's numbers, and remove their figures from `measured`."""

    def extract_spread(name: str, side: Floats) -> NumberSpread:
        figures = {part: measured.pop(f"{name} {part}") for part in ("mean", "median", "sd")}
        return NumberSpread(n=len(side), **figures, min=float(side.min()), max=float(side.max()))

    return extract_spread("people", numbers.people), extract_spread("judge", numbers.judge)


def compute_figures(sums: Floats, middle: tuple[float, float]) -> dict[str, Floats]:
    """Compute the figures of many resamples, each of shape (resamples,); NaN if undefined.

    `sums` are those of the columns of `_collect_moments`, shape (resamples, 7), and `middle` the medians of both sides
    that were subtracted before summing.
    """
    n, x, y, xx, yy, xy, error = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread_x, spread_y = (np.where(s - t**2 / n > ROUNDING * s, s - t**2 / n, 0.0) for s, t in ((xx, x), (yy, y)))
        beyond = np.where(n > 1, n - 1, nan)
        rise = np.where((spread_x > 0) & (spread_y > 0), (xy - x * y / n) / np.sqrt(spread_x * spread_y), nan)
        return {
            "people mean": middle[0] + x / n,
            "judge mean": middle[1] + y / n,
            "people sd": np.sqrt(spread_x / beyond),
            "judge sd": np.sqrt(spread_y / beyond),
            "bias": middle[1] - middle[0] + (y - x) / n,
            "mae": error / n,
            "pearson": np.clip(rise, -1, 1),
        }


def _collect_moments(numbers: NumberPairs) -> tuple[Any, tuple[float, float]]:
    """Return the addends of each pair, and the medians of both sides, which were subtracted first."""
    middle = float(np.median(numbers.people)), float(np.median(numbers.judge))
    # Large numbers that differ little would lose digits when they are squared.
    x, y = numbers.people - middle[0], numbers.judge - middle[1]
    columns = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y, np.abs(numbers.judge - numbers.people)])
    count, width = len(x), len(columns)
    entries = np.repeat(np.arange(count), width), np.tile(np.arange(width), count)
    return build_sparse(entries, (columns * numbers.weights).T.ravel(), (count, width)), middle


def _compute_pearson(numbers: NumberPairs) -> float:
    """Compute Pearson's correlation with scipy; NaN if one side does not vary."""
    from scipy import stats

    sides = numbers.people, numbers.judge
    if any(side.min() == side.max() for side in sides):
        return nan
    return float(stats.pearsonr(*sides).statistic)


def _describe_basis(numbers: NumberPairs, name: str) -> ValueBasis:
    """Return the number of pairs of a figure and why it may be undefined."""
    n = len(numbers.people)
    if n < MIN_PAIRS:
        return ValueBasis(n=n, why="needs at least two things")
    constant = "people" if numbers.people.min() == numbers.people.max() else "the judge"
    return ValueBasis(n=n, why=f"{constant} gave one and the same number only" if "sd" not in name else "no spread")


def compare_ranks(
    people: Floats, judge: Floats, sample: BootstrapSample, describe_basis: Callable[[str], ValueBasis], *, level: float
) -> dict[str, Measured]:
    """Compute "spearman", "kendall" (tau-b), "people median" and "judge median" with their intervals.

    The correlations are scipy's. On scales of a few values the intervals come from contingency tables, all resamples at
    once. With more distinct values each resample is ranked individually, and there are fewer of them, but at least 400.
    Both sides have the shape (items,). Of `sample` only the items and questions are used.
    """
    values = compute_rank_figures(people, judge)
    axes, places = zip(*(np.unique(side, return_inverse=True) for side in (people, judge)), strict=True)
    shape = len(axes[0]), len(axes[1])
    if shape[0] * shape[1] > MAX_CELLS:
        sides = people, judge
        single = _compute_intervals(sides, sample.things, level)
        together = _compute_intervals(sides, sample.questions, level) if sample.is_clustered else {}
        return build_values(values, describe_basis, sample, (single, together), level=level)
    cells = places[0] * shape[1] + places[1]
    rows = build_sparse((np.arange(len(cells)), cells), np.ones(len(cells)), (len(cells), shape[0] * shape[1]))

    def statistic(sums: Floats) -> dict[str, Floats]:
        return compute_table_figures(np.round(sums).reshape(-1, *shape), axes[0], axes[1])

    return bootstrap_values(sample._replace(rows=rows), statistic, describe_basis, values=values, level=level)


def compute_rank_figures(people: Floats, judge: Floats) -> dict[str, float]:
    """Compute the four rank statistics of the sample itself; a correlation is NaN if a side does not vary."""
    from scipy import stats

    correlations = {"spearman": nan, "kendall": nan}
    if people.min() < people.max() and judge.min() < judge.max():
        correlations["spearman"] = float(stats.spearmanr(people, judge).statistic)
        correlations["kendall"] = float(stats.kendalltau(people, judge).statistic)
    return {**correlations, "people median": float(np.median(people)), "judge median": float(np.median(judge))}


def compute_table_figures(tables: Floats, rows: Floats, columns: Floats) -> dict[str, Floats]:
    """Compute the four rank statistics of many contingency tables, each of shape (resamples,); NaN if undefined.

    `tables` counts the pairs by the values of people (`rows`) and of the judge (`columns`), rising on both axes; its
    shape is (resamples, rows, columns).
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
    # The number of pairs with both values at most these.
    below = np.cumsum(np.cumsum(tables, axis=1), axis=2)
    concordant = np.pad(below, ((0, 0), (1, 0), (1, 0)))[:, :-1, :-1]
    in_rows_before = np.pad(below[:, :, -1], ((0, 0), (1, 0)))[:, :-1, None]
    discordant = in_rows_before - np.pad(below, ((0, 0), (1, 0), (0, 0)))[:, :-1, :]
    surplus = np.einsum("bij,bij->b", tables, concordant - discordant)
    n = people.sum(axis=1)
    free = [(n**2 - (counts**2).sum(axis=1)) / 2 for counts in (people, judge)]
    return _divide_by_root(surplus, free[0] * free[1])


def _compute_medians(counts: Floats, values: Floats) -> Floats:
    upto, n = np.cumsum(counts, axis=1), counts.sum(axis=1)
    # Of an even number of values, the median is the mean of the two in the middle.
    middles = [np.argmax(upto >= rank[:, None], axis=1) for rank in ((n + 1) // 2, n // 2 + 1)]
    medians: Floats = (values[middles[0]] + values[middles[1]]) / 2
    return medians


def _divide_by_root(above: Floats, squared: Floats) -> Floats:
    """Divide by a square root; NaN if it is 0."""
    quotients: Floats = np.divide(above, np.sqrt(squared), out=np.full(len(above), nan), where=squared > 0)
    return quotients


def _compute_intervals(sides: tuple[Floats, Floats], clusters: Integers, level: float) -> dict[str, Interval]:
    """Compute the intervals from resamples of whole clusters that are ranked individually."""
    order = np.argsort(clusters, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
    if len(members) < 2:  # noqa: PLR2004 - a variance needs two
        return {}
    rng = np.random.default_rng(SEED)
    # Each resample is ranked anew, so that there are fewer of them if there are many pairs.
    times = min(RESAMPLES, max(MIN_RESAMPLES, MAX_RANKED // len(order)))
    draws: list[dict[str, float]] = []
    for _ in range(times):
        drawn = np.concatenate([members[n] for n in rng.integers(0, len(members), len(members))])
        draws.append(compute_rank_figures(sides[0][drawn], sides[1][drawn]))
    figures = {name: np.array([draw[name] for draw in draws]) for name in draws[0]}
    return read_intervals(figures, len(members), level=level)
