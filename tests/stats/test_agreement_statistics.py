"""Statistics of agreement: each equals another library's on random data, and what is undefined is told."""

from itertools import combinations
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from greval.stats import confusion, correlation
from greval.stats import correlation as ranks
from greval.stats import inter_rater as alpha
from greval.stats.bootstrap import BootstrapSample, ValueBasis, build_sparse, build_values, compute_intervals
from greval.stats.measured import MeasuredValue, Undefined
from greval.stats.threshold import find_best_threshold, split_folds

LEVEL = 0.95
unhurried = settings(deadline=None)  # a busy machine makes no law false


def choices(pairs, size, *, weights=None, questions=None, ordered=True):
    """Give two columns of categories."""
    truth, judged = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    places = np.arange(len(pairs))
    weight = np.ones(len(pairs)) if weights is None else np.array(weights, dtype=float)
    return confusion.Choices(truth, judged, weight, places, places if questions is None else questions, size, ordered)


def numbers(people, judge, questions=None):
    """Give two columns of numbers."""
    places = np.arange(len(people))
    columns = (np.array(side, dtype=float) for side in (people, judge))
    return correlation.NumberPairs(*columns, np.ones(len(people)), places, places if questions is None else questions)


tables = st.integers(2, 5).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), st.sampled_from([1, 2, 5])), min_size=1),
    )
)


@given(tables)
@unhurried
def test_figures_of_resamples_equal_scikit_learn(drawn):
    """The formulas that give intervals are scikit-learn's: report, averages and all kappas, with weights."""
    size, rows = drawn
    columns = choices([row[:2] for row in rows], size, weights=[row[2] for row in rows])
    theirs = confusion.compute_figures(columns)
    ours = confusion.compute_resampled_figures(
        confusion.confusion_matrix(columns)[None].astype(float), ordered=size > 2
    )
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert float(ours[name][0]) == pytest.approx(value, abs=1e-12, nan_ok=True), name


@given(tables)
@unhurried
def test_kappas_equal_statsmodels(drawn):
    """Cohen's kappa, plain and weighted, equals statsmodels' of the same table."""
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="statsmodels is not installed")
    size, rows = drawn
    columns = choices([row[:2] for row in rows], size)
    assume(len({*columns.truth, *columns.given}) > 1)
    ours = confusion.compute_figures(columns)
    counts = confusion.confusion_matrix(columns)
    assert ours["kappa"] == pytest.approx(inter_rater.cohens_kappa(counts, return_results=False))
    for name, power in (("kappa linear", 1), ("kappa quadratic", 2)) if size > 2 else ():
        assert ours[name] == pytest.approx(
            inter_rater.cohens_kappa(counts, wt="toeplitz", weights=np.arange(size) ** power, return_results=False)
        )


raters = st.integers(2, 4).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.lists(st.integers(0, size - 1), min_size=0, max_size=4), min_size=1, max_size=12),
    )
)


@given(raters, st.sampled_from(["nominal", "ordinal", "interval"]))
@unhurried
def test_alpha_equals_krippendorff(drawn, distance):
    """Krippendorff's alpha equals the package krippendorff's, with raters missing anywhere."""
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is not installed")
    size, units = drawn
    pairable = [value for unit in units if len(unit) > 1 for value in unit]
    assume(len(set(pairable)) > 1)
    columns = max(map(len, units))
    table = np.array([[*map(float, unit), *[nan] * (columns - len(unit))] for unit in units]).T
    theirs = krippendorff.alpha(table, level_of_measurement=distance, value_domain=[*range(size)])
    ratings = alpha.Ratings(units, np.arange(len(units)), 0 if distance == "interval" else size, distance)
    assert alpha.compute_reliability(ratings, level=LEVEL)["alpha"].value == pytest.approx(theirs, abs=1e-9)


@given(raters)
@unhurried
def test_ac1_follows_gwets_formula(drawn):
    """AC1 of several raters equals the formula written out, pair by pair."""
    size, units = drawn
    twice = [unit for unit in units if len(unit) > 1]
    rated = [unit for unit in units if unit]
    found = alpha.compute_reliability(alpha.Ratings(units, np.arange(len(units)), size, "nominal"), level=LEVEL)["ac1"]
    if not twice:
        assert isinstance(found, Undefined)
        return
    pairs = [[one == other for one, other in combinations(unit, 2)] for unit in twice]
    agreed = sum(sum(pair) / len(pair) for pair in pairs) / len(pairs)
    shares = [sum(unit.count(k) / len(unit) for unit in rated) / len(rated) for k in range(size)]
    chance = sum(share * (1 - share) for share in shares) / (size - 1)
    assert found.value == pytest.approx((agreed - chance) / (1 - chance))


def test_ac1_of_two_raters_is_that_of_several():
    """The formula for a table of two raters and the one for several give the same."""
    pairs = [(0, 0), (0, 1), (1, 1), (2, 1), (2, 2), (0, 2)]
    table = confusion.confusion_matrix(choices(pairs, 3))[None].astype(float)
    several = alpha.compute_reliability(alpha.Ratings(pairs, np.arange(6), 3, "nominal"), level=LEVEL)["ac1"]
    assert float(confusion.gwet_ac1(table)[0]) == pytest.approx(several.value)


few = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=2, max_size=40)
many = st.lists(st.tuples(st.floats(-9, 9, width=32), st.floats(-9, 9, width=32)), min_size=2, max_size=20)


@given(few | many)
@unhurried
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
@unhurried
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


@pytest.mark.long
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


def test_a_bootstrap_holds_the_truth():
    """The 95 % interval of kappa holds the true kappa in about 95 of 100 samples of 100."""
    rng = np.random.default_rng(3)
    shares = np.array([[0.4, 0.1], [0.15, 0.35]])
    true = float(confusion.compute_resampled_figures(shares[None], ordered=False)["kappa"][0])
    hits = 0
    for _ in range(200):
        cells = rng.choice(4, size=100, p=shares.ravel())
        rows = build_sparse((np.arange(100), cells), np.ones(100), (100, 4))
        found = compute_intervals(
            rows,
            lambda s: confusion.compute_resampled_figures(s.reshape(-1, 2, 2), ordered=False),
            np.arange(100),
            level=LEVEL,
        )["kappa"]
        hits += found.low <= true <= found.high
    assert 180 <= hits <= 200


def test_clusters_widen_the_interval():
    """Where the things of a question are copies of each other, the interval by question is wider by far."""
    pairs = [(n % 2, (n % 2) ^ (n % 5 == 0)) for n in range(30) for _ in range(10)]
    columns = choices(pairs, 2, questions=np.repeat(np.arange(30), 10))
    found = confusion.compare_choices(columns, level=LEVEL)["kappa"]
    width = found.interval.high - found.interval.low
    assert found.clustered.high - found.clustered.low > 2.5 * width


def test_the_order_of_things_changes_no_interval():
    """The same things in another order have the same figures and intervals."""
    pairs = [(n * 7 % 3, n * 5 % 3) for n in range(60)]
    one = confusion.compare_choices(choices(pairs, 3), level=LEVEL)
    assert one == confusion.compare_choices(choices(pairs[::-1], 3), level=LEVEL)


def test_one_category_leaves_kappa_undefined():
    """Two sides that only ever say one thing: kappa says why it cannot tell, a share still has an interval."""
    found = confusion.compare_choices(choices([(0, 0)] * 20, 3), level=LEVEL)
    assert found["accuracy"].value == 1
    assert 0.8 < found["accuracy"].interval.low < 0.9
    for name in ("kappa", "kappa linear", "kappa quadratic"):
        assert found[name].reason == "both sides use one and the same category only"
    assert found["precision 1"].reason == "the judge never chose it"
    assert found["recall 1"].reason == "people never chose it"
    assert found["f1 1"].reason == "neither side chose it"


def test_a_single_thing_has_no_interval_and_no_correlation():
    """One thing: shares have Wilson's interval, means none, and what needs two says so."""
    found = correlation.compare_numbers(numbers([3], [4]), level=LEVEL)
    assert found["bias"] == MeasuredValue(value=1.0, n=1)
    assert {found[name].reason for name in ("pearson", "spearman", "kendall", "people sd")} == {
        "needs at least two things"
    }


def test_alpha_without_pairs_or_spread_is_undefined():
    """No thing with two values, or all values equal: alpha is undefined, with the reason."""
    alone = alpha.compute_reliability(alpha.Ratings([[0], [1]], np.arange(2), 2, "nominal"), level=LEVEL)
    equal = alpha.compute_reliability(alpha.Ratings([[0.1] * 3, [0.1] * 2], np.arange(2), 0, "interval"), level=LEVEL)
    assert alone["alpha"].reason == "no thing has two people's values"
    assert equal["alpha"].reason == "all values are equal"


@given(tables)
@settings(max_examples=25, deadline=None)
def test_nothing_is_ever_nan(drawn):
    """Whatever the data, a figure is a finite number or says why it is none."""
    size, rows = drawn
    for one in confusion.compare_choices(choices([row[:2] for row in rows], size), level=LEVEL).values():
        assert isinstance(one, Undefined) or not isnan(one.value)


def test_ranks_of_a_constant_side_are_undefined():
    """A constant side is told also where there are too many different numbers for a table."""
    columns = numbers([1.0] * 50, [*range(50)])
    sample = BootstrapSample(None, columns.things, columns.questions)
    values = ranks.compute_rank_figures(columns.people, columns.judge)
    ends = ranks._resample_ranks((columns.people, columns.judge), sample, LEVEL)
    found = build_values(values, lambda _: ValueBasis(n=50, why="equal"), sample, ends, level=LEVEL)
    assert found["spearman"] == Undefined(n=50, reason="equal")
    assert found["judge median"].interval.low < 24.5 < found["judge median"].interval.high


def test_the_threshold_is_found_and_folds_keep_clusters_whole():
    """A category that follows a number is told by its threshold; no cluster is in two folds."""
    size = np.arange(100.0)
    found = find_best_threshold(size, (size > 41).astype(np.int64), 2)
    assert (found.below, found.above) == (0, 1)
    assert 40 <= found.at <= 42
    clusters = np.arange(100) // 7
    held = split_folds(clusters)
    assert np.array(held).sum(axis=0).tolist() == [1] * 100
    assert all(len(set(clusters[fold]) & set(clusters[~fold])) == 0 for fold in held)
    assert split_folds(np.zeros(5, dtype=np.int64)) == []
