"""The bootstrap: its coverage, its clusters, and what makes an interval undefined."""

from collections import Counter

import numpy as np
import pytest
from choice_columns import build_choices
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import stats

from greval.stats import bootstrap, confusion
from greval.stats.bootstrap import (
    BootstrapSample,
    ValueBasis,
    build_sparse,
    build_values,
    compute_common_intervals,
    compute_intervals,
    encode_names,
    expand_level,
    group_equal_clusters,
    group_equal_rows,
    resample_clusters,
    resample_counts,
)
from greval.stats.interval import MeasuredValue, Undefined, wilson_interval

LEVEL = 0.95


@pytest.mark.nightly
def test_a_bootstrap_holds_the_truth():
    """The 95 % interval of kappa holds the true kappa in about 95 of 100 samples of 100."""
    rng = np.random.default_rng(3)
    shares = np.array([[0.4, 0.1], [0.15, 0.35]])
    true = float(confusion.compute_resampled_figures(shares[None], ordered=False)["kappa"][0])
    hits = 0
    for _ in range(200):
        cells = rng.choice(4, size=100, p=shares.ravel())
        rows = build_sparse((np.arange(100), cells), np.ones(100), (100, 4))
        interval = compute_intervals(
            rows,
            lambda s: confusion.compute_resampled_figures(s.reshape(-1, 2, 2), ordered=False),
            np.arange(100),
            level=LEVEL,
        )["kappa"]
        hits += interval.low <= true <= interval.high
    assert 180 <= hits <= 200


def test_clusters_widen_the_interval():
    """Where the things of a question are copies of each other, the interval by question is wider by far."""
    pairs = [(n % 2, (n % 2) ^ (n % 5 == 0)) for n in range(30) for _ in range(10)]
    columns = build_choices(pairs, 2, questions=np.repeat(np.arange(30), 10))
    kappa = confusion.compare_choices(columns, level=LEVEL)["kappa"]
    width = kappa.interval.high - kappa.interval.low
    assert kappa.clustered.high - kappa.clustered.low > 2.5 * width


@given(st.floats(0.5, 0.99), st.integers(2, 200))
def test_the_expanded_level_gives_students_quantile(level, clusters):
    """The normal quantile at the expanded level is Student's, widened by the root of n / (n - 1)."""
    wide = expand_level(level, clusters)
    quantile = stats.norm.ppf(0.5 + wide / 2)
    assume(quantile < 6)  # beyond, the level is 1 but for rounding
    expected = stats.t.ppf(0.5 + level / 2, clusters - 1) * (clusters / (clusters - 1)) ** 0.5
    assert quantile == pytest.approx(expected, rel=1e-4)
    assert wide > level


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=30), st.randoms())
def test_equal_clusters_are_counted(clusters, random):
    """Each distinct cluster comes once, with its count, in an order that does not depend on the input's."""
    sums, sizes = (np.array(side) for side in zip(*clusters, strict=True))
    (kinds, of_size), times = group_equal_clusters(sums.astype(float), sizes)
    counts = dict(zip(zip(kinds.tolist(), of_size.tolist(), strict=True), times.tolist(), strict=True))
    assert counts == Counter((float(total), size) for total, size in clusters)
    random.shuffle(clusters)
    shuffled_groups = group_equal_clusters(*(np.array(side, dtype=float) for side in zip(*clusters, strict=True)))
    assert shuffled_groups[0][0].tolist() == kinds.tolist()


def test_both_ways_of_drawing_have_one_distribution():
    """Counts of distinct clusters and single clusters give means with the variance of theory."""
    sums, sizes, times = np.array([0.0, 1.0]), np.array([1, 1]), np.array([30, 20])
    expected = 0.4 * 0.6 / 50
    counts = resample_counts(sums, sizes, times, resamples=20_000)
    single = resample_clusters(np.repeat(sums, times), np.repeat(sizes, times), resamples=20_000)
    for drawn in (counts, single):
        assert drawn.mean() == pytest.approx(0.4, abs=0.003)
        assert drawn.var() == pytest.approx(expected, rel=0.05)


def test_draws_in_batches_are_the_draws_at_once():
    """Many distinct clusters are drawn in several batches, with as many resamples as asked for."""
    rng = np.random.default_rng(5)
    sums, times = rng.normal(size=3000), np.ones(3000, dtype=np.int64)
    drawn = resample_counts(sums, times, times, resamples=1500)
    assert len(drawn) == 1500
    assert drawn.std() == pytest.approx(sums.std() / 3000**0.5, rel=0.08)


def statistic(sums):
    """Return a share, and a ratio that is undefined if its second column is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"share": sums[:, 0] / sums[:, 1], "ratio": np.where(sums[:, 2] > 0, sums[:, 0] / sums[:, 2], np.nan)}


def build_rows(columns):
    """Return a sparse matrix of dense rows."""
    table = np.array(columns, dtype=float)
    rows, places = np.indices(table.shape)
    return build_sparse((rows.ravel(), places.ravel()), table.ravel(), table.shape)


def test_a_figure_that_is_often_undefined_has_no_interval():
    """The rare column is 0 in many resamples, so that the ratio has no interval while the share has one."""
    rows = build_rows([[n % 2, 1, n == 0] for n in range(40)])
    assert set(compute_intervals(rows, statistic, np.arange(40), level=0.95)) == {"share"}


@pytest.mark.parametrize("clusters", [np.zeros(40, dtype=int), np.arange(40) // 2])
def test_one_cluster_or_equal_clusters_have_no_interval(clusters):
    """Nothing varies between the resamples, so that there is no interval instead of one of width 0."""
    assert compute_intervals(build_rows([[n % 2, 1, 1] for n in range(40)]), statistic, clusters, level=0.95) == {}


def test_values_have_a_reason_or_an_interval():
    """An undefined value gives its reason, a constant share Wilson's interval, and another constant none."""
    sample = BootstrapSample(None, np.arange(4), np.array([0, 0, 1, 1]))
    basis = {
        "undefined": ValueBasis(n=4, why="nothing to count"),
        "share": ValueBasis(n=4, why="", share=True),
        "mean": ValueBasis(n=4, why=""),
    }
    values = {"undefined": float("nan"), "share": 1.0, "mean": 1.0}
    measured = build_values(values, basis.__getitem__, sample, ({}, {}), level=0.9)
    assert measured["undefined"] == Undefined(n=4, reason="nothing to count")
    assert measured["share"].interval == wilson_interval(1.0, 4, level=0.9)
    assert measured["share"].clustered == wilson_interval(1.0, 2, level=0.9)
    assert measured["mean"] == MeasuredValue(value=1.0, n=4)


@given(st.lists(st.text(max_size=3), min_size=1))
@example(["", "\0", "a", "a\0"])
def test_codes_are_equal_for_equal_names_only(names):
    """The codes count from 0 and keep which names are equal."""
    codes = encode_names(names)
    assert len(set(zip(names, codes.tolist(), strict=True))) == len(set(names)) == codes.max() + 1


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.dictionaries(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0, -2.0]))),
        min_size=1,
        max_size=20,
    )
)
@example([(0, {0: 0.0, 1: 1.0}), (1, {1: 1.0}), (2, {0: -2.0})])
def test_equal_rows_are_those_of_the_plain_definition(rows):
    """The distinct sums of clusters, their counts and their order are those of a dict of their bytes."""
    entries = [(n, column, value) for n, (_, row) in enumerate(rows) for column, value in row.items()]
    places = tuple(np.array([one[side] for one in entries], np.int64) for side in (0, 1))
    table = build_sparse(places, np.array([one[2] for one in entries], float), (len(rows), 4))
    clusters = np.array([cluster for cluster, _ in rows])
    kinds, times = group_equal_rows(table, clusters)
    at: dict[tuple[bytes, bytes], list[list[float]]] = {}
    for cluster in np.unique(clusters):
        total = table.toarray()[clusters == cluster].sum(axis=0)
        columns = np.flatnonzero(total).astype(np.int32)
        at.setdefault((columns.tobytes(), total[columns].tobytes()), []).append(total.tolist())
    assert times.tolist() == [len(at[mark]) for mark in sorted(at)]
    assert kinds.toarray().tolist() == [at[mark][0] for mark in sorted(at)]


def test_different_rows_of_one_hash_are_told_apart():
    """Two rows whose hashes collide stay two rows."""

    def mix(part):
        mixed = np.uint64(part) * bootstrap.HASH_FACTOR
        return mixed ^ (mixed >> bootstrap.HASH_SHIFT)

    first = next(
        one
        for one in np.arange(1.0, 500.0)
        if np.isfinite((np.float64(one).view(np.uint64) ^ mix(0) ^ mix(1)).view(np.float64))
    )
    other = (np.float64(first).view(np.uint64) ^ mix(0) ^ mix(1)).view(np.float64)
    table = build_sparse((np.arange(3), np.array([0, 1, 0])), np.array([first, other, first]), (3, 2))
    kinds, times = group_equal_rows(table, np.arange(3))
    assert dict(zip(map(tuple, kinds.toarray().tolist()), times.tolist(), strict=True)) == {
        (first, 0.0): 2,
        (0.0, float(other)): 1,
    }


def compute_mean(sums):
    return {"mean": sums[:, 0] / sums[:, 1]}


@pytest.mark.parametrize("values", [5, 1000])
@pytest.mark.parametrize("size", [1, 3])
def test_common_draws_are_the_same_for_all_tables(values, size):
    """Mirrored addends have mirrored intervals, in any order of observations, as wide as those of a table alone."""
    drawn = np.random.default_rng(4).integers(0, values, 600).astype(float)
    clusters = np.arange(600) // size
    tables = [build_rows(np.stack([side, np.ones(600)], axis=1)) for side in (drawn, -drawn, np.ones(600))]
    one, other, constant = compute_common_intervals(tables, compute_mean, clusters, level=0.95)
    assert (other["mean"].low, other["mean"].high) == pytest.approx((-one["mean"].high, -one["mean"].low), rel=1e-12)
    assert constant == {}
    order = np.random.default_rng(5).permutation(600)
    reordered = compute_common_intervals([rows[order] for rows in tables], compute_mean, clusters[order], level=0.95)
    assert reordered[0]["mean"].low == pytest.approx(one["mean"].low, rel=1e-12)
    alone = compute_intervals(tables[0], compute_mean, clusters, level=0.95)["mean"]
    width = alone.high - alone.low
    assert abs(one["mean"].low - alone.low) < width / 10
    assert abs(one["mean"].high - alone.high) < width / 10
