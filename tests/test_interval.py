"""Intervals: against independent oracles, and what makes them undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from greval.stats.interval import LEVEL, MANY, _drawn_one_by_one, cluster_bootstrap, ratio_bootstrap, t_interval, wilson


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counted):
    """Wilson's interval equals scipy's own for every share."""
    hits, n = counted
    ours = wilson(hits / n, n)
    theirs = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert ours.low == pytest.approx(theirs.low, abs=1e-12)
    assert ours.high == pytest.approx(theirs.high, abs=1e-12)


def test_t_interval_covers_its_level():
    """Of many samples of a known mean, 95 % of the intervals hold it."""
    draw = np.random.default_rng(1)
    samples = draw.normal(3.0, 2.0, size=(2000, 12))
    hits = sum(found.low <= 3.0 <= found.high for s in samples if (found := t_interval([*map(float, s)])))
    assert 0.935 <= hits / 2000 <= 0.965


def test_t_interval_is_undefined_without_spread():
    """One value, or equal ones, tell nothing of a spread: no interval, not one of width 0."""
    assert t_interval([1.0]) is None
    assert t_interval([2.0, 2.0, 2.0]) is None


def test_clusters_widen_the_interval():
    """Items that repeat their case's value count as one case: the interval is that of the cases."""
    draw = np.random.default_rng(2)
    cases = [float(value) for value in draw.integers(0, 2, 40)]
    alone = cluster_bootstrap([[value] for value in cases])
    tenfold = cluster_bootstrap([[value] * 10 for value in cases])
    assert alone is not None
    assert tenfold is not None
    assert tenfold.high - tenfold.low == pytest.approx(alone.high - alone.low, rel=0.05)


def test_cluster_bootstrap_covers_its_level():
    """Of many samples of clustered items, about 95 % of the intervals hold the true mean."""
    draw = np.random.default_rng(3)
    hits = 0
    for _ in range(150):
        rates = draw.beta(2, 2, size=40)
        found = cluster_bootstrap([[float(x) for x in draw.binomial(1, rate, 5)] for rate in rates])
        hits += found is not None and found.low <= 0.5 <= found.high
    assert 0.88 <= hits / 150 <= 0.99


def test_cluster_bootstrap_is_undefined_without_spread():
    """One cluster, equal items, or clusters that are all alike give no interval, not one of width 0."""
    assert cluster_bootstrap([[1.0, 0.0]] * 5) is None
    assert cluster_bootstrap([[1.0, 0.0]]) is None
    assert cluster_bootstrap([[1.0], [1.0, 1.0]]) is None


@pytest.mark.parametrize(("different", "method"), [(3, "cluster bootstrap"), (4_000, "cluster normal")])
def test_many_clusters_have_the_interval_of_the_bootstrap(different, method):
    """Above `MANY` clusters the two quicker ways agree with drawing the clusters one by one."""
    draw = np.random.default_rng(5)
    sizes = draw.integers(1, 5, MANY + 1)
    sums = np.array([draw.integers(0, different, size).sum() / different for size in sizes])
    found = ratio_bootstrap(sums, sizes)
    low, high = _drawn_one_by_one(sums, sizes, LEVEL)
    assert found is not None
    assert found.method == method
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_equal_clusters_in_great_number_have_no_interval():
    """Clusters that are all alike tell nothing of a spread, few or many."""
    assert ratio_bootstrap([1.0] * (MANY + 1), [2] * (MANY + 1)) is None


def test_no_mean_of_a_scale_lies_beyond_its_ends():
    """Student's interval of shares near 1 ends at 1; one of a measure without an end is left as it is."""
    interval = t_interval([1.0, 1.0, 1.0, 0.8])
    assert interval.high > 1
    assert interval.within((0.0, 1.0)).high == 1.0
    assert interval.within((0.0, 1.0)).low == interval.low
    assert interval.within(None) == interval
