"""Agreement of several raters: alpha and AC1 against other packages and written-out formulas."""

import tracemalloc
from itertools import combinations, permutations
from math import fsum, nan

import numpy as np
import pytest
from choice_columns import build_choices
from hypothesis import assume, example, given
from hypothesis import strategies as st

from greval.stats import bootstrap, confusion
from greval.stats import inter_rater as alpha
from greval.stats.interval import Undefined

LEVEL = 0.95


raters = st.integers(2, 4).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.lists(st.integers(0, size - 1), min_size=0, max_size=4), min_size=1, max_size=12),
    )
)


def rate(units, size, distance="nominal", questions=None):
    """Return the ratings of each item as columns."""
    counts = np.array([len(unit) for unit in units])
    values = np.array([value for unit in units for value in unit], dtype=float)
    items = np.arange(len(units))
    return alpha.Ratings(
        np.repeat(items, counts), values, counts, items if questions is None else questions, size, distance
    )


@given(raters, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_equals_krippendorff(drawn, distance):
    """Krippendorff's alpha equals the package krippendorff's, with raters missing anywhere."""
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is not installed")
    size, units = drawn
    pairable = [value for unit in units if len(unit) > 1 for value in unit]
    assume(len(set(pairable)) > 1)
    columns = max(map(len, units))
    table = np.array([[*map(float, unit), *[nan] * (columns - len(unit))] for unit in units]).T
    theirs = krippendorff.alpha(table, level_of_measurement=distance, value_domain=[*range(size)])
    ratings = rate(units, 0 if distance == "interval" else size, distance)
    assert alpha.compute_reliability(ratings, level=LEVEL)["alpha"].value == pytest.approx(theirs, abs=1e-9)


@given(raters)
def test_ac1_follows_gwets_formula(drawn):
    """AC1 of several raters equals the formula written out, pair by pair."""
    size, units = drawn
    twice = [unit for unit in units if len(unit) > 1]
    rated = [unit for unit in units if unit]
    ac1 = alpha.compute_reliability(rate(units, size), level=LEVEL)["ac1"]
    if not twice:
        assert isinstance(ac1, Undefined)
        return
    pairs = [[one == other for one, other in combinations(unit, 2)] for unit in twice]
    agreed = sum(sum(pair) / len(pair) for pair in pairs) / len(pairs)
    shares = [sum(unit.count(k) / len(unit) for unit in rated) / len(rated) for k in range(size)]
    chance = sum(share * (1 - share) for share in shares) / (size - 1)
    assert ac1.value == pytest.approx((agreed - chance) / (1 - chance))


def test_ac1_of_two_raters_is_that_of_several():
    """The formula for a table of two raters and the one for several give the same."""
    pairs = [(0, 0), (0, 1), (1, 1), (2, 1), (2, 2), (0, 2)]
    table = confusion.confusion_matrix(build_choices(pairs, 3))[None].astype(float)
    several = alpha.compute_reliability(rate(pairs, 3), level=LEVEL)["ac1"]
    assert float(confusion.gwet_ac1(table)[0]) == pytest.approx(several.value)


def test_alpha_without_pairs_or_spread_is_undefined():
    """No thing with two values, or all values equal: alpha is undefined, with the reason."""
    alone = alpha.compute_reliability(rate([[0], [1]], 2), level=LEVEL)
    equal = alpha.compute_reliability(rate([[0.1] * 3, [0.1] * 2], 0, "interval"), level=LEVEL)
    assert alone["alpha"].reason == "no thing has two people's values"
    assert equal["alpha"].reason == "all values are equal"


def test_ordinal_alpha_comes_with_the_nominal_one():
    """Ratings in order have the alpha that ignores the order as well, with the same interval as by itself."""
    units = [(0, 0), (2, 1), (3, 3), (1, 1), (4, 2), (2, 2)]
    both = alpha.compute_reliability(rate(units, 5, "ordinal"), level=LEVEL)
    nominal = alpha.compute_reliability(rate(units, 5), level=LEVEL)
    assert both["alpha nominal"] == nominal["alpha"]
    assert both["alpha"].value > nominal["alpha"].value
    assert "alpha nominal" not in nominal


def add_up(units, size, distance):
    """Give the sums of all items by the plain definitions, one item at a time."""
    if distance == "interval":
        pairable = [unit for unit in units if len(unit) > 1]
        middle = fsum(value for unit in pairable for value in unit) / max(1, sum(map(len, pairable)))
        rows = []
        for unit in pairable:
            values = [value - middle for value in unit]
            total, squares = fsum(values), fsum(value**2 for value in values)
            apart = 2 * (len(unit) * squares - total**2) / (len(unit) - 1) if len(set(unit)) > 1 else 0.0
            rows.append([float(len(unit)), total, squares, apart])
        return np.array(rows).reshape(-1, 4)
    sums = np.zeros((len(units), size, size))
    for row, unit in enumerate(units):
        for one, other in permutations(unit, 2):
            sums[row, one, other] += 1 / (len(unit) - 1)
    return sums.reshape(-1, size * size)


@given(raters, st.sampled_from(["nominal", "interval"]))
@example((4, [[0, 0, 0], [0, 3]]), "interval")
def test_addends_are_those_of_single_items(drawn, distance):
    """What all items at once add to alpha is what each item adds alone; for numbers to the last digit."""
    size, units = drawn
    units = [[value / 3 + 0.1 for value in unit] for unit in units] if distance == "interval" else units
    rows, _ = next(alpha._build_formulas(rate(units, 0 if distance == "interval" else size, distance)))
    addends = rows.toarray()
    if distance == "interval":
        assert addends[addends[:, 0] > 0].tolist() == add_up(units, size, distance).tolist()
    else:
        np.testing.assert_allclose(addends, add_up(units, size, distance), atol=1e-12)


def test_coefficients_of_many_items_need_little_memory(monkeypatch):
    """Two ratings of each item take less than 350 bytes an item beyond themselves, here without the resamples."""
    count = 20_000
    values = np.random.default_rng(1).integers(0, 2, 2 * count).astype(float)
    items = np.repeat(np.arange(count), 2)
    ratings = alpha.Ratings(items, values, np.full(count, 2), np.arange(count), 2, "nominal")
    monkeypatch.setattr(bootstrap, "DRAWS_AT_ONCE", 2_000)
    alpha.compute_reliability(ratings, level=LEVEL)  # what is imported counts for nothing
    tracemalloc.start()
    alpha.compute_reliability(ratings, level=LEVEL)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 350 * count


@pytest.mark.parametrize("size", [1, 4])
def test_alphas_without_each_rater_are_those_of_the_rest(size):
    """Each value is that of the other raters alone to the last digit, and each interval the same but for its draws."""
    rng = np.random.default_rng(3)
    numbers = np.clip(rng.integers(1, 6, (400, 1)) + rng.integers(-1, 2, (400, 4)), 1, 5) / 3
    questions = np.arange(400) // size
    for rater, one in enumerate(alpha.compute_alphas_without(numbers, questions, level=LEVEL)):
        units = np.delete(numbers, rater, axis=1).tolist()
        alone = alpha.compute_reliability(rate(units, 0, "interval", questions), level=LEVEL)["alpha"]
        assert (one.n, one.value) == (alone.n, alone.value)
        assert (one.clustered is None) == (size == 1)
        pairs = [(one.interval, alone.interval), *([(one.clustered, alone.clustered)] if one.clustered else [])]
        for found, expected in pairs:
            near = (expected.high - expected.low) / 10
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=near)
