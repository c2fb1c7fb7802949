"""Several raters, not all of whom rated everything: Krippendorff's alpha and Gwet's AC1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import fsum, nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from greval.stats.measured import Counted, Measured, measured
from greval.stats.resampling import Sample, sparse

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

Distance = Literal["nominal", "ordinal", "interval"]
PAIR = 2
NEAR_ZERO = 1e-12


class Ratings(NamedTuple):
    """The values that raters gave to each thing, in any order, and the number of each thing's question.

    Of categories the values are their places on the scale, of which there are `size`; of numbers
    `size` is 0 and the distance "interval".
    """

    units: Sequence[Sequence[float]]
    questions: Integers
    size: int
    distance: Distance


def reliability(ratings: Ratings, *, level: float) -> dict[str, Measured]:
    """Give alpha and, of categories, AC1 over all raters, with their intervals.

    Only things that two raters valued count for alpha, and for what AC1 takes as agreement.
    """
    import numpy as np

    twice = sum(len(unit) >= PAIR for unit in ratings.units)
    told = Counted(n=twice, why="no thing has two people's values" if not twice else "all values are equal")
    places = np.arange(len(ratings.units))
    found: dict[str, Measured] = {}
    for name, (rows, formula) in _formulas(ratings).items():
        values = {name: float(formula(rows.sum(axis=0).reshape(1, -1))[0])}
        statistic = partial(_named, name, formula)
        sample = Sample(rows, places, ratings.questions)
        found |= measured(sample, statistic, lambda _: told, values=values, level=level)
    return found


def _named(name: str, formula: Callable[[Floats], Floats], sums: Floats) -> dict[str, Floats]:
    return {name: formula(sums)}


def _formulas(ratings: Ratings) -> dict[str, tuple[Any, Callable[[Floats], Floats]]]:
    """Give what each thing adds to the sums, and the formula of the sums, for each figure."""
    if not ratings.size:
        return {"alpha": (_moments(ratings.units), interval_alpha)}
    size, distance = ratings.size, ratings.distance
    return {
        "alpha": (
            _coincidences(ratings.units, size),
            lambda sums: alpha(sums.reshape(-1, size, size), ordinal=distance == "ordinal"),
        ),
        "ac1": (_shares(ratings.units, size), several_ac1),
    }


def alpha(tables: Floats, *, ordinal: bool) -> Floats:
    """Give Krippendorff's alpha of many tables of coincidences, for nominal or ordinal categories.

    1 - (n - 1) sum o d / sum n_c n_k d: o how often two values met in one thing, n_c how often a value
    was given, d the distance of two values: 1, or for ordinal ones the square of how many values lie
    between them, their own by half. NaN where all values are equal.

    Source:
        Krippendorff, "Content Analysis", 3rd edition 2013, chapter 12.
    """
    import numpy as np

    given = tables.sum(axis=2)
    n, size = given.sum(axis=1), tables.shape[-1]
    apart = np.broadcast_to(1.0 - np.eye(size), tables.shape)
    if ordinal:
        middle = np.cumsum(given, axis=1) - given / 2
        apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    seen = np.einsum("bij,bij->b", tables, apart)
    return _one_less(seen * (n - 1), np.einsum("bi,bj,bij->b", given, given, apart, optimize=True))


def interval_alpha(sums: Floats) -> Floats:
    """Give Krippendorff's alpha of numbers from the sums of `_moments`; the distance is the squared difference.

    Source:
        Krippendorff (2013), as above.
    """
    n, total, squares, seen = sums.T
    return _one_less(seen * (n - 1), 2 * (n * squares - total**2))


def several_ac1(sums: Floats) -> Floats:
    """Give Gwet's AC1 of several raters with missing values from the sums of `_shares`.

    (p - e) / (1 - e): p the mean share of pairs of raters of a thing that agree, over the things with
    two raters; e = sum of q (1 - q) / (size - 1), q the mean share of a category over all things.

    Source:
        Gwet, "Handbook of Inter-Rater Reliability", 4th edition 2014, chapter 2.
    """
    import numpy as np

    twice, agreed, things, shares = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    with np.errstate(divide="ignore", invalid="ignore"):
        category = shares / things[:, None]
        chance = (category * (1 - category)).sum(axis=1) / (category.shape[1] - 1)
        return np.where(twice > 0, (agreed / twice - chance) / (1 - chance), nan)


def _coincidences(units: Sequence[Sequence[float]], size: int) -> Any:  # noqa: ANN401 - scipy is untyped
    """Give how often each two values met in each thing, each by one less than its number of values."""
    found: list[tuple[int, int, float]] = []
    for row, unit in enumerate(units):
        counts = Counter(int(value) for value in unit)
        for one, other in product(counts, repeat=PAIR) if len(unit) >= PAIR else ():
            met = counts[one] * (counts[other] - (one == other))
            found.append((row, one * size + other, met / (len(unit) - 1)))
    return _matrix(found, (len(units), size * size))


def _shares(units: Sequence[Sequence[float]], size: int) -> Any:  # noqa: ANN401 - scipy is untyped
    """Give of each thing: whether two rated it, which share of pairs agrees, 1, and the share of each category."""
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
    return _matrix(found, (len(units), 3 + size))


def _moments(units: Sequence[Sequence[float]]) -> Any:  # noqa: ANN401 - scipy is untyped
    """Give of each thing with two values: their number, sum, sum of squares, and how far they lie apart."""
    every = [value for unit in units if len(unit) >= PAIR for value in unit]
    middle = fsum(every) / len(every) if every else 0.0  # sums of squares near zero lose no digits
    found: list[tuple[int, int, float]] = []
    for row, unit in enumerate(units):
        if len(unit) >= PAIR:
            values = [value - middle for value in unit]
            n, total, squares = len(unit), fsum(values), fsum(value**2 for value in values)
            apart = 2 * (n * squares - total**2) / (n - 1) if len(set(unit)) > 1 else 0.0
            found += [(row, column, part) for column, part in enumerate((float(n), total, squares, apart))]
    return _matrix(found, (len(units), 4))


def _matrix(found: Sequence[tuple[int, int, float]], shape: tuple[int, int]) -> Any:  # noqa: ANN401 - scipy is untyped
    """Give a sparse matrix from its entries."""
    import numpy as np

    rows, columns, values = zip(*found, strict=True) if found else ((), (), ())
    entries = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    return sparse(entries, np.array(values, dtype=float), shape)


def _one_less(above: Floats, below: Floats) -> Floats:
    """Give one less their ratio; NaN where there is nothing to divide by."""
    import numpy as np

    known = below > NEAR_ZERO
    return np.where(known, 1 - above / np.where(known, below, 1.0), nan)
