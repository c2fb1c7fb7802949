"""Agreement of two sides that give numbers: their differences and their correlation."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

from greval.records.record import Record
from greval.stats.measured import Measured, ValueBasis, bootstrap_values
from greval.stats.rank_correlation import compare_ranks
from greval.stats.resampling import BootstrapSample, build_sparse

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

MIN_PAIRS = 2
ROUNDING = 1e-12
"""A variance below this share of the mean square is due to rounding."""


class NumberPairs(NamedTuple):
    """The numbers of people and of the judge, with the weight, item and question of each pair."""

    people: Floats
    judge: Floats
    weights: Floats
    things: Integers
    questions: Integers


class NumberSpread(Record):
    """The distribution of numbers; `sd` divides by n - 1 and is undefined for one number. Extremes have no interval."""

    n: int
    mean: Measured
    median: Measured
    sd: Measured
    min: float
    max: float


def compare_numbers(numbers: NumberPairs, *, level: float, ranks: bool = True) -> dict[str, Measured]:
    """Compute every agreement figure of two sides of numbers with its intervals.

    The names are "bias" (mean of judge - people), "mae" (mean absolute error), "pearson"; with `ranks`
    "spearman", "kendall" (tau-b), "people median", "judge median"; and "people" or "judge" before
    "mean" and "sd".

    Args:
        numbers: The pairs; weights are used in everything but the ranks.
        level: The confidence level of the intervals.
        ranks: Whether to add the rank statistics, which ignore weights.
    """
    rows, middle = _collect_moments(numbers)

    def statistic(sums: Floats) -> dict[str, Floats]:
        return compute_figures(sums, middle)

    sample = BootstrapSample(rows, numbers.things, numbers.questions)
    values = {name: float(value[0]) for name, value in statistic(rows.sum(axis=0).reshape(1, -1)).items()}
    if ranks:
        values["pearson"] = _compute_pearson(numbers)
    found = bootstrap_values(sample, statistic, lambda name: _describe_basis(numbers, name), values=values, level=level)
    if not ranks:
        return found
    return found | compare_ranks(
        numbers.people, numbers.judge, sample, lambda name: _describe_basis(numbers, name), level=level
    )


def extract_spreads(numbers: NumberPairs, found: dict[str, Measured]) -> tuple[NumberSpread, NumberSpread]:
    """Return the distributions of people's and of the judge's numbers, and remove their figures from `found`."""
    return _extract_spread("people", numbers.people, found), _extract_spread("judge", numbers.judge, found)


def _extract_spread(name: str, side: Floats, found: dict[str, Measured]) -> NumberSpread:
    figures = {part: found.pop(f"{name} {part}") for part in ("mean", "median", "sd")}
    return NumberSpread(n=len(side), **figures, min=float(side.min()), max=float(side.max()))


def compute_figures(sums: Floats, middle: tuple[float, float]) -> dict[str, Floats]:
    """Compute the figures of many resamples; NaN if undefined.

    Args:
        sums: The sums of the columns of `_collect_moments`, shape (resamples, 7).
        middle: The medians of both sides that were subtracted before summing.

    Returns:
        Arrays of shape (resamples,) by name.
    """
    import numpy as np

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
    """Return the addends of each pair, and the medians that were subtracted first to avoid a loss of digits."""
    import numpy as np

    middle = float(np.median(numbers.people)), float(np.median(numbers.judge))
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
