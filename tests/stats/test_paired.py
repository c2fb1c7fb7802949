"""Paired comparisons: intervals, tests and effect sizes against scipy, statsmodels and published figures."""

import numpy as np
import pytest
from compared_runs import content
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as theirs
from statsmodels.stats.power import TTestPower

from greval.stats import paired
from greval.stats.bootstrap import MANY_RESAMPLES, bca_interval, percentile_interval, resample_means
from greval.stats.interval import bounded_interval, student_interval, sum_by_cluster
from greval.stats.paired import (
    EXACT_BELOW,
    cohens_dz,
    cohens_g,
    compute_difference_intervals,
    detectable_mean,
    detectable_share,
    mcnemar,
    min_sign_flip_p,
    odds_ratio,
    rank_biserial,
    relative_difference_interval,
    sign_flip_test,
    wilcoxon,
)

counts = st.integers(0, 60)
scores = st.lists(st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5]), min_size=2, max_size=10)
reals = st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=1, max_size=9)


@given(counts, counts)
def test_mcnemar_is_statsmodels(only_a, only_b):
    """Statistic and p equal statsmodels', exact below 25 discordant pairs; without any, p is 1 and not 0."""
    result = mcnemar(only_a, only_b)
    table = [[7, only_a], [only_b, 7]]
    if only_a + only_b == 0:
        assert (result.p, result.mid_p, result.chi2_p) == (1, 1, 1)
        return
    assert result.exact_p == pytest.approx(theirs(table, exact=True).pvalue)
    assert result.exact == (only_a + only_b < EXACT_BELOW)
    assert result.p == (result.exact_p if result.exact else result.chi2_p)
    assert 0 < result.mid_p <= result.exact_p <= 1
    if only_a != only_b:  # on an even split statsmodels' correction overshoots and gives a p below 1
        chi2 = theirs(table, exact=False, correction=True)
        assert (result.chi2, result.chi2_p) == (pytest.approx(chi2.statistic), pytest.approx(chi2.pvalue))
    else:
        assert (result.p, result.mid_p) == (pytest.approx(1), pytest.approx(1))


def test_mcnemar_gives_the_published_figures(data_set):
    """Tables worked by hand or printed in public documentation give the statistic and the p that stand there."""
    for case in content(data_set("mcnemar_reference") / "mcnemar_cases.json"):
        result = mcnemar(case["only_a"], case["only_b"])
        ours = {"chi2_cc": result.chi2, "p_cc": result.chi2_p, "p_exact": result.exact_p, "p_mid": result.mid_p}
        for name, value in case["published"].items():
            assert ours[name] == pytest.approx(value, abs=0.0005 if value > 0.0005 else 1e-6), (case["name"], name)
        for name, value in ours.items():
            assert value == pytest.approx(case["statsmodels"][name], rel=1e-9), (case["name"], name)


@settings(max_examples=25)
@given(scores)
def test_sign_flips_are_counted_out(differences):
    """Few differences give the exact p of scipy's paired permutation test."""
    if not any(differences):
        assert sign_flip_test(differences) == 1
        return
    test = stats.permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_test(differences) == pytest.approx(min(1.0, test.pvalue))


@pytest.mark.parametrize("draw", [paired._draw_by_size, paired._draw_by_byte])
def test_drawn_flips_come_near_the_exact_p(draw):
    """Both ways to draw flips have the mean and the spread of the sums that they are drawn from."""
    sizes, times = np.array([0.5, 1.0, 3.0]), np.array([7, 4, 2])
    sums = np.concatenate(draw(sizes, times, 40_000))
    everything, weights = paired._enumerate_sums(sizes, times)
    assert len(sums) == 40_000
    assert set(np.round(sums, 6)) <= set(np.round(everything, 6))
    for bound in (0.0, 3.0, 6.0, 9.5):
        exact = weights[np.abs(everything) >= bound].sum()
        assert np.mean(np.abs(sums) >= bound) == pytest.approx(exact, abs=0.01)


def test_many_differences_are_drawn_like_scipys():
    """With many different values p is that of scipy's test within the error of drawing, and never 0."""
    rng = np.random.default_rng(5)
    differences = rng.normal(0.15, 1.0, 150)
    test = stats.permutation_test((differences,), np.mean, permutation_type="samples", rng=rng, n_resamples=39_999)
    assert sign_flip_test(differences, resamples=39_999) == pytest.approx(test.pvalue, abs=0.012)
    assert sign_flip_test(differences + 5) == pytest.approx(1 / 10_000)
    assert sign_flip_test(differences + 5, resamples=99) == pytest.approx(1 / 100)
    assert sign_flip_test(differences) == sign_flip_test(differences[::-1]) == sign_flip_test(-differences)


@settings(max_examples=20)
@given(reals | scores, st.randoms(use_true_random=False))
def test_order_and_direction_change_no_p(differences, shuffler):
    """Its p lies in (0, 1], whatever the order of the questions, and whichever method comes first."""
    mixed = [*differences]
    shuffler.shuffle(mixed)
    for test in (sign_flip_test, wilcoxon):
        p = test(differences)
        assert 0 < p <= 1
        assert test(mixed) == p
        assert test([-difference for difference in differences]) == pytest.approx(p, rel=1e-12)


@settings(max_examples=20)
@given(st.lists(st.sampled_from([-1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 1.5]), min_size=1, max_size=8))
def test_wilcoxon_is_scipys_with_ties(differences):
    """With ties too its p is scipy's, which tries one sign flip after the other."""
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences).pvalue, rel=1e-12)


@pytest.mark.parametrize("size", [13, 14, 300])
def test_wilcoxon_is_scipys_where_it_stops_to_be_exact(size):
    """The last number of differences with ties that is exact, and the first that is not, are scipy's."""
    differences = np.resize([0.5, -1.0, 0.5, 2.0, 1.5], size)
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences).pvalue, rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 9, 50, 51, 400])
def test_wilcoxon_is_scipys_without_ties(size):
    """Without ties it is exact for more differences, and normal beyond, as scipy's."""
    differences = np.random.default_rng(size).normal(0.2, 1, size)
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences).pvalue, rel=1e-12)


def test_wilcoxon_leaves_out_what_does_not_differ():
    """Its p is scipy's over the differences that are not zero; noise of the last digit is a tie; without any p is 1."""
    differences = [0.3 - 0.1, 0.2, -0.1, 0.4, 0.0, 0.0]
    assert wilcoxon(differences) == stats.wilcoxon([0.2, 0.2, -0.1, 0.4]).pvalue
    assert wilcoxon([0.0, 0.0]) == 1


@given(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 0.0]), min_size=1, max_size=8))
def test_the_least_p_is_that_of_the_most_extreme_signs(sizes):
    """Over all ways to sign differences of these sizes, the smallest p is the one that is told."""
    signed = [
        np.where([n >> bit & 1 for bit in range(len(sizes))], sizes, -np.array(sizes)) for n in range(2 ** len(sizes))
    ]
    assert min_sign_flip_p(sizes) == pytest.approx(min(map(sign_flip_test, signed)))
    differing = sum(size > 0 for size in sizes)
    assert mcnemar(differing, 0).p == pytest.approx(min(mcnemar(n, differing - n).p for n in range(differing + 1)))


def test_the_least_p_of_drawn_flips():
    """If flips are drawn, p may be as small as one draw more than none of all."""
    differences = np.random.default_rng(1).normal(0, 1, 18)
    assert min_sign_flip_p(differences, resamples=999_999) == 1e-6
    assert min_sign_flip_p(differences, resamples=9) == 2.0**-17
    assert min_sign_flip_p(np.abs(differences), resamples=99) <= sign_flip_test(np.abs(differences), resamples=99)


def test_effects_are_those_of_their_formulas():
    """Effect sizes follow their formulas, and are undefined where these divide by zero."""
    differences = np.array([1.0, 2.0, 0.0, -1.0])
    assert cohens_dz(differences) == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert rank_biserial(differences) == pytest.approx((1.5 + 3 - 1.5) / 6)
    assert (cohens_g(30, 10), odds_ratio(30, 10)) == (0.25, 3)
    assert (cohens_g(0, 0), odds_ratio(3, 0), cohens_dz([1, 1]), cohens_dz([1]), rank_biserial([0])) == (None,) * 5


@pytest.mark.parametrize("n", [12, 51, 400])
def test_a_detectable_difference_is_found_with_its_power(n):
    """The smallest difference that is seen is statsmodels' for paired means, within the error of its short formula."""
    expected = TTestPower().solve_power(nobs=n, alpha=0.01, power=0.8)
    assert detectable_mean(0.4 / n**0.5, n, alpha=0.01) == pytest.approx(0.4 * expected, rel=0.03)
    assert detectable_mean(0.0, n, alpha=0.05) is None
    assert detectable_mean(0.1, 1, alpha=0.05) is None


@pytest.mark.parametrize(("n", "discordant"), [(51, 21), (300, 60), (1000, 400), (100, 0)])
def test_a_detectable_difference_of_shares_is_found_in_four_of_five(n, discordant):
    """At the difference that is told, McNemar's test without correction finds it in 80 % of draws, or more."""
    d = detectable_share(discordant, n, alpha=0.05)
    rate = max(discordant / n, d)
    draws = np.random.default_rng(1).multinomial(n, [(rate + d) / 2, (rate - d) / 2, 1 - rate], size=20_000)
    apart, both = draws[:, 0] - draws[:, 1], draws[:, 0] + draws[:, 1]
    is_detected = np.abs(apart) > 1.959964 * np.sqrt(both)
    assert 0.74 <= is_detected.mean() <= (0.86 if discordant else 1)


def test_a_few_questions_see_no_difference_of_shares():
    """With three questions not even a difference on each of them would be found."""
    assert detectable_share(1, 3, alpha=0.05) is None


@pytest.mark.parametrize("seed", [1, 2])
def test_intervals_are_scipys(seed):
    """Percentile and BCa intervals equal scipy's within the error of drawing."""
    data = np.random.default_rng(seed).gamma(1.0, 1.0, 60)
    drawn = resample_means(data, np.ones(60, dtype=int))
    assert len(drawn) == MANY_RESAMPLES
    for method, ours in (
        ("percentile", percentile_interval(drawn, level=0.9)),
        ("BCa", bca_interval(drawn, data, np.ones(60), level=0.9)),
    ):
        rng = np.random.default_rng(9)
        low, high = stats.bootstrap((data,), np.mean, confidence_level=0.9, method=method, rng=rng).confidence_interval
        assert ours == pytest.approx((low, high), abs=0.02)


@pytest.mark.parametrize("sizes", [[1] * 9, [1, 2, 3, 1, 2, 3, 1, 2, 3]])
def test_the_bootstrap_knows_no_order_and_no_direction(sizes):
    """Other orders of the clusters give the same draws, turned signs turned ones."""
    for sums in (np.array([3.0, -1.0, 2.0, 0.5, 0.5, 1.0, 4.0, -2.0, 0.0]), np.array([1.0, -1, 0, 1, 1, 0, -1, 1, 0])):
        drawn = resample_means(sums, np.array(sizes))
        assert (resample_means(sums[::-1], np.array(sizes[::-1])) == drawn).all()
        assert (resample_means(-sums, np.array(sizes)) == -drawn).all()


def test_equal_differences_have_a_bounded_interval():
    """Where all differences are equal the interval comes from the scale's ends, and is none without ends."""
    same = sum_by_cluster(np.zeros(50), None)
    intervals = compute_difference_intervals(same, level=0.95, ends=(-1.0, 1.0))
    assert intervals.interval.method == "bounded"
    assert (intervals.interval.low, intervals.interval.high) == pytest.approx((-0.0582, 0.0582), abs=1e-4)
    assert (intervals.percentile, intervals.bca) == (None, None)
    assert compute_difference_intervals(same, level=0.95).interval is None
    assert bounded_interval(1.0, 10, level=0.95, ends=(-1.0, 1.0)).high == 1.0


def test_few_clusters_have_students_interval():
    """No bootstrap leaves what was seen: of fewer than eight clusters the interval is Student's."""
    data = np.array([1.0, 2.0, 4.0, 3.0])
    low, high = stats.t.interval(0.95, 3, loc=2.5, scale=stats.sem(data))
    intervals = compute_difference_intervals(sum_by_cluster(data, None), level=0.95)
    assert (intervals.interval.method, intervals.bca) == ("t", None)
    assert (intervals.interval.low, intervals.interval.high) == pytest.approx((low, high))
    assert student_interval(
        sum_by_cluster(np.repeat(data, 3), np.repeat(np.arange(4), 3)), level=0.95
    ).low == pytest.approx(low)


def test_the_interval_shown_is_the_expanded_one():
    """With 20 observations the interval is wider than the plain one, by what Student's t is wider than the normal."""
    intervals = compute_difference_intervals(
        sum_by_cluster(np.random.default_rng(8).normal(0, 1, 20), None), level=0.95
    )
    shown, plain = (one.high - one.low for one in (intervals.interval, intervals.percentile))
    assert shown / plain == pytest.approx(stats.t.ppf(0.975, 19) / 1.96 * np.sqrt(20 / 19), rel=0.03)
    assert (intervals.interval.method, intervals.bca) == ("expanded percentile", None)


def test_clusters_count_as_one_observation_each():
    """Questions that repeat those of their document add nothing: the interval is that of the documents."""
    data = np.random.default_rng(3).normal(0, 1, 25)
    alone = compute_difference_intervals(sum_by_cluster(data, None), level=0.95).interval
    tenfold = compute_difference_intervals(
        sum_by_cluster(np.repeat(data, 10), np.repeat(np.arange(25), 10)), level=0.95
    ).interval
    assert (tenfold.low, tenfold.high) == pytest.approx((alone.low, alone.high), abs=0.01)


def test_bca_is_undefined_without_spread():
    """Equal values, and resamples on one side only, give no BCa interval instead of NaN."""
    ones = np.ones(10)
    assert bca_interval(np.ones(100), ones, ones, level=0.95) is None
    assert bca_interval(np.full(100, 9.0), np.arange(10.0), ones, level=0.95) is None


def each(values):
    """Give one value for each question."""
    return sum_by_cluster(np.asarray(values, dtype=float), None)


@given(st.lists(st.tuples(st.floats(2, 5), st.floats(0, 5)), min_size=3, max_size=12))
def test_a_relative_difference_is_inside_where_students_test_keeps_it(pairs):
    """At the ends, scipy's test of method minus ratio times baseline has a p of 1 minus the level."""
    baseline, method = (np.round(side, 3) for side in zip(*pairs, strict=True))
    interval = relative_difference_interval(each(method), each(baseline), level=0.9)
    if interval is None:
        ratios = np.ptp(method - baseline)
        assert ratios < 1e-9 or stats.ttest_1samp(baseline, 0).pvalue > 0.1
        return
    for end in (interval.low, interval.high):
        residuals = method - (1 + end) * baseline
        assert np.ptp(residuals) < 1e-6 or stats.ttest_1samp(residuals, 0).pvalue == pytest.approx(0.1, abs=1e-5)


def test_a_relative_difference_of_clusters_counts_clusters():
    """Equal questions of a cluster say no more than one, and equal clusters make the same interval."""
    method, baseline, codes = [1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5]
    alone = relative_difference_interval(each(method), each(baseline), level=0.95)
    tripled = [sum_by_cluster(np.repeat(side, 3).astype(float), np.repeat(codes, 3)) for side in (method, baseline)]
    assert relative_difference_interval(*tripled, level=0.95) == alone


@pytest.mark.parametrize(
    ("method", "baseline"),
    [([1, 0, 1], [0, 1, 0]), ([0.5], [0.4]), ([0.5, 0.6], [0.4, 0.5]), ([1, 1, 0], [0, 0, 0])],
    ids=["baseline may be 0", "one question", "equal differences", "baseline is 0"],
)
def test_a_relative_difference_without_bounds_has_no_interval(method, baseline):
    """Nothing is claimed where any ratio is possible, or nothing is known of the spread."""
    assert relative_difference_interval(each(method), each(baseline), level=0.95) is None


def test_intervals_of_relative_differences_cover_the_truth():
    """Of 2,000 comparisons of 40 questions with 0/1 figures, some 95 % have the true ratio in their interval."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(2_000):
        hard = rng.random(40)
        baseline, method = (hard < 0.5).astype(float), (hard + rng.normal(0, 0.2, 40) < 0.6).astype(float)
        interval = relative_difference_interval(each(method), each(baseline), level=0.95)
        truth = 2 * np.mean(stats.norm.cdf((0.6 - np.linspace(0, 1, 2_001)) / 0.2)) - 1
        covered += interval is not None and interval.low <= truth <= interval.high
    assert 0.93 <= covered / 2_000 <= 0.97
