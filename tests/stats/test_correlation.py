"""Agreement of numbers: differences and correlations against scipy and numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from greval.stats import correlation
from greval.stats import correlation as ranks
from greval.stats.bootstrap import BootstrapSample, ValueBasis, build_values
from greval.stats.interval import MeasuredValue, Undefined

LEVEL = 0.95


def numbers(people, judge, questions=None):
    """Give two columns of numbers."""
    places = np.arange(len(people))
    columns = (np.array(side, dtype=float) for side in (people, judge))
    return correlation.NumberPairs(*columns, np.ones(len(people)), places, places if questions is None else questions)


few = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=2, max_size=40)


many = st.lists(st.tuples(st.floats(-9, 9, width=32), st.floats(-9, 9, width=32)), min_size=2, max_size=20)


@given(few | many)
def test_numbers_equal_scipy_and_numpy(pairs):
    """Means, spread, error, bias and the three correlations equal scipy's and numpy's."""
    people, judge = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = correlation.compare_numbers(numbers(people, judge), level=LEVEL)
    expected = {
        "people mean": people.mean(),
        "judge sd": judge.std(ddof=1),
        "people median": np.median(people),
        "mae": metrics.mean_absolute_error(people, judge),
        "bias": (judge - people).mean(),
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=1e-6), name
    varied = len({*people}) > 1 and len({*judge}) > 1
    for name, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        if varied:
            assert found[name].value == pytest.approx(of(people, judge).statistic, nan_ok=True)
        else:
            assert "one and the same number" in found[name].reason


@given(few)
def test_correlations_of_tables_equal_scipy(pairs):
    """Spearman, Kendall and medians from a table of counts are those of the pairs."""
    people, judge = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    table = np.zeros((1, 5, 4))
    for one, other in pairs:
        table[0, one - 1, other - 1] += 1
    ours = ranks.compute_table_figures(table, np.arange(1.0, 6), np.arange(1.0, 5))
    for name, value in ranks.compute_rank_figures(people, judge).items():
        assert float(ours[name][0]) == pytest.approx(value, nan_ok=True), name


def test_moments_give_scipys_pearson():
    """The formula of Pearson's intervals is the correlation itself, far from zero too."""
    rng = np.random.default_rng(1)
    x = 1e6 + rng.normal(size=50)
    columns = numbers(x, x + rng.normal(size=50))
    rows, middle = correlation._collect_moments(columns)
    ours = correlation.compute_figures(rows.sum(axis=0).reshape(1, -1), middle)["pearson"][0]
    assert ours == pytest.approx(stats.pearsonr(columns.people, columns.judge).statistic, abs=1e-9)


@pytest.mark.nightly
def test_rank_intervals_are_the_same_both_ways():
    """Ranking each resample gives about the interval that tables of counts give."""
    rng = np.random.default_rng(2)
    people = rng.integers(1, 6, 150).astype(float)
    judge = np.clip(people + rng.integers(-2, 3, 150), 1, 5)
    columns = numbers(people, judge)
    by_table = correlation.compare_numbers(columns, level=LEVEL)
    single = ranks._compute_intervals((people, judge), columns.things, LEVEL)
    for name in ("spearman", "kendall"):
        assert by_table[name].interval.low == pytest.approx(single[name].low, abs=0.02)
        assert by_table[name].interval.high == pytest.approx(single[name].high, abs=0.02)


def test_a_single_thing_has_no_interval_and_no_correlation():
    """One thing: shares have Wilson's interval, means none, and what needs two says so."""
    found = correlation.compare_numbers(numbers([3], [4]), level=LEVEL)
    assert found["bias"] == MeasuredValue(value=1.0, n=1)
    assert {found[name].reason for name in ("pearson", "spearman", "kendall", "people sd")} == {
        "needs at least two things"
    }


def test_ranks_of_a_constant_side_are_undefined():
    """A constant side is told also where there are too many different numbers for a table."""
    columns = numbers([1.0] * 50, [*range(50)])
    sample = BootstrapSample(None, columns.things, columns.questions)
    values = ranks.compute_rank_figures(columns.people, columns.judge)
    single = ranks._compute_intervals((columns.people, columns.judge), sample.things, LEVEL)
    found = build_values(values, lambda _: ValueBasis(n=50, why="equal"), sample, (single, {}), level=LEVEL)
    assert found["spearman"] == Undefined(n=50, reason="equal")
    assert found["judge median"].interval.low < 24.5 < found["judge median"].interval.high
