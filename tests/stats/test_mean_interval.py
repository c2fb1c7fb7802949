"""The interval of a mean by its scale: within the ends for any data, equal to independent oracles, as sure as told."""

from math import inf, isclose

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import example, given
from hypothesis import strategies as st
from scaled_results import SCALES, SECONDS, categories
from scipy import optimize, stats
from statsmodels.stats.proportion import proportion_confint

from greval.records.result import Judgement, Result, Scored, format_outline
from greval.records.scale import NumberRange, find_number_range
from greval.stats.interval import (
    bounded_interval,
    effective_wilson,
    find_normal_quantile,
    find_student_quantile,
    mean_interval,
    sum_by_cluster,
)
from greval.stats.summary import ResultTallies

cases = st.sampled_from([*SCALES]).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.lists(st.lists(SCALES[name][1], min_size=1, max_size=4), min_size=1, max_size=40)
        | st.lists(SCALES[name][1].map(lambda number: [number]), min_size=1, max_size=40)
        | st.tuples(SCALES[name][1], st.integers(1, 4), st.integers(1, 40)).map(lambda t: [[t[0]] * t[1]] * t[2]),
    )
)


def summary_of(scale, given):
    """Summarise results of one metric, one for each list of numbers."""
    tallies = ResultTallies({"m": scale})
    for numbers in given:
        judgements = tuple(Judgement(value=str(number), number=number, reason="r") for number in numbers)
        result = Result(metric="m", fingerprint="f", judge="j", tier="schema", outcome=Scored(judgements=judgements))
        tallies.add("m", "", format_outline(result), ())
    (summary,) = tallies.build_summaries()
    return summary


@given(cases)
@example(("1..5", [[1]] * 30))
@example(("seconds", [[0.0], [1.0]] * 5))
@example(("seconds", [[0.0]] * 9 + [[1.0]]))
@example(("share", [[0.0], [1e-200]]))
@example(("seconds", [[0.0], [1e-200]]))
@example(("share", [[1.0]] * 999 + [[1 - 1e-16]]))
def test_an_interval_lies_within_its_scale(given):
    """For every kind of scale and any data: low <= mean <= high, all within the ends, and never of length 0."""
    name, numbers = given
    scale = SCALES[name][0]
    found = summary_of(scale, numbers)
    known = find_number_range(scale)
    if found.mean is None or known is None:
        assert found.interval is None
        return
    if found.interval is None:  # nothing limits the mean upwards, and nothing tells of a spread
        assert known.high is None
        return
    interval = found.interval
    high = inf if known.high is None else known.high
    assert known.low <= interval.low <= found.mean <= interval.high <= high
    assert interval.low < interval.high


@given(cases)
def test_wilson_is_for_scales_of_two_numbers_only(given):
    """A proportion has Wilson's interval; 0 and 1 on any other scale are no proportion."""
    name, numbers = given
    interval = summary_of(SCALES[name][0], numbers).interval
    if interval and interval.method == "wilson":
        assert find_number_range(SCALES[name][0]).binary


def test_number_ranges_of_scales():
    """Only two possible numbers are binary; a category without a score has no number; seconds have one end."""
    found = {name: find_number_range(scale) for name, (scale, _) in SCALES.items()}
    assert found["0..1"] == NumberRange(0, 1, binary=True)
    assert found["1..5"] == NumberRange(1, 5)
    assert found["0..1 by half"] == NumberRange(0, 1)
    assert found["two categories"] == NumberRange(0.5, 1.5, binary=True)
    assert found["some categories"] == NumberRange(0, 1, binary=True)
    assert found["share"] == NumberRange(0, 1)
    assert found["seconds"] == NumberRange(0, None)
    assert found["no numbers"] is None
    assert find_number_range(categories(Good=1.0, Other=None)) is None


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_proportion_is_statsmodels_wilson(counted):
    """Values of 2 and 7 on a scale of these two have the interval of their proportion, moved to the scale."""
    hits, n = counted
    found = mean_interval([7.0] * hits + [2.0] * (n - hits), [1] * n, NumberRange(2, 7, binary=True))
    theirs = proportion_confint(hits, n, method="wilson")
    assert (found.method, found.level) == ("wilson", 0.95)
    assert (found.low, found.high) == pytest.approx([2 + 5 * end for end in theirs], abs=1e-9)


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=2, max_size=40))
def test_the_effective_sample_size_is_that_of_a_cluster_robust_regression(given):
    """Statsmodels' standard error by case and scipy's quantiles give n, and solving Wilson's equation the interval."""
    means = [np.mean(case) for case in given]
    if isclose(min(means), max(means)):
        return
    flat = np.concatenate(given)
    codes = np.repeat(np.arange(len(given)), [len(case) for case in given])
    fitted = sm.OLS(flat, np.ones(len(flat))).fit(cov_type="cluster", cov_kwds={"groups": codes})
    p, error = (flat.mean() - 1) / 4, fitted.bse[0] / 4
    critical = stats.t.ppf(0.975, len(given) - 1)

    def beyond(share):  # Wilson's equation, with the variance of a share scaled to that of this mean
        return (p - share) ** 2 - critical**2 * share * (1 - share) * error**2 / (p * (1 - p))

    low, high = (optimize.brentq(beyond, *ends, xtol=1e-14) for ends in ((0, p), (p, 1)))
    found = mean_interval([sum(case) for case in given], [len(case) for case in given], NumberRange(1, 5))
    assert found.method == "wilson, effective n"
    assert (found.low, found.high) == pytest.approx((1 + 4 * low, 1 + 4 * high), abs=1e-8)


@given(st.lists(SECONDS, min_size=2, max_size=40))
def test_an_open_scale_has_scipys_interval_of_student_cut_at_its_lower_end(given):
    """Scipy's t test gives the interval of a mean of seconds; below 0 s there is none."""
    if np.ptp(given) <= 1e-9 * max(given):
        return
    found = mean_interval(given, [1] * len(given), NumberRange(0, None))
    theirs = stats.ttest_1samp(given, 0).confidence_interval(0.95)
    assert found.method == "t"
    assert (found.low, found.high) == pytest.approx((max(theirs.low, 0), theirs.high), rel=1e-6)


@given(st.integers(1, 300), st.integers(1, 5))
def test_equal_values_have_the_bound_of_clopper_and_pearson(n, value):
    """Scipy's exact upper bound for 0 of n is the share that may differ, by as far as the scale's ends."""
    share = stats.binomtest(0, n, alternative="less").proportion_ci(0.95, method="exact").high
    found = mean_interval([float(value)] * n, [1] * n, NumberRange(1, 5))
    assert found.method == "bounded"
    assert (found.low, found.high) == pytest.approx((value - share * (value - 1), value + share * (5 - value)))
    assert found == bounded_interval(value, n, level=0.95, ends=(1, 5))


@pytest.mark.parametrize("items", [[3.0] * 4, [1.0, 5.0]])
def test_cases_of_one_mean_count_as_cases(items):
    """Items of one case are one observation: equal case means are bounded by the number of cases, also a single one."""
    for n in (1, 12):
        found = mean_interval([sum(items)] * n, [len(items)] * n, NumberRange(1, 5))
        assert found == bounded_interval(3.0, n, level=0.95, ends=(1, 5))


@pytest.mark.parametrize("high", [5.0, None])
def test_repeated_items_add_no_certainty(high):
    """Ten items of one value in each case are one observation a case, on bounded and on open scales."""
    values = [1.0, 2.0, 5.0, 5.0, 3.0]
    numbers = NumberRange(1, high)
    alone, tenfold = (mean_interval([n * v for v in values], [n] * 5, numbers) for n in (1, 10))
    assert (tenfold.low, tenfold.high) == pytest.approx((alone.low, alone.high))


def test_numbers_beyond_the_ends_have_no_interval():
    """A mean of 3 on a scale of 0 to 1 is on another scale: nothing is said of it, and nothing is moved."""
    assert mean_interval([3.0, 1.0, 0.0], [1] * 3, NumberRange(0, 1)) is None


def test_equal_values_without_an_upper_end_have_no_interval():
    """How slow an unseen case could be is not known."""
    assert mean_interval([2.0] * 9, [1] * 9, NumberRange(0, None)) is None
    assert mean_interval([2.0], [1], NumberRange(0, None)) is None


def test_a_dissent_does_not_make_a_mean_surer_than_its_scale_allows():
    """One 4 among thirty 5s takes the upper end away from 5, and leaves more doubt than Student's interval has."""
    sums, sizes = [5.0] * 29 + [4.0], [1] * 30
    found = mean_interval(sums, sizes, NumberRange(1, 5))
    student = stats.ttest_1samp(sums, 0).confidence_interval(0.95)
    assert found.low < student.low
    assert np.mean(sums) < found.high < 5 < student.high


@given(cases, st.randoms())
def test_the_order_of_cases_changes_nothing(given, random):
    """The same figures to the last digit, in whatever order results were written."""
    name, numbers = given
    before = summary_of(SCALES[name][0], numbers)
    random.shuffle(numbers)
    after = summary_of(SCALES[name][0], numbers)
    fields = ("mean", "interval", "median", "standard_deviation", "minimum", "maximum", "p95", "distribution")
    assert [getattr(before, field) for field in fields] == [getattr(after, field) for field in fields]


def test_sums_are_exact_in_any_order():
    """Latencies of a thousandth to thousands of seconds have one mean and one interval, in any order of the rows."""
    draw = np.random.default_rng(9)
    seconds = draw.lognormal(0.0, 3.0, 1000)
    orders = [seconds, seconds[::-1], *(draw.permutation(seconds) for _ in range(40))]
    assert len({sum_by_cluster(order, None).mean for order in orders}) == 1
    assert len({mean_interval(order, [1] * 1000, NumberRange(0, None)).model_dump_json() for order in orders}) == 1


LEVELS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
DRAWS = {
    "even": (lambda draw, n: draw.choice(LEVELS, n), 0.5),
    "mostly 5": (lambda draw, n: draw.choice(LEVELS, n, p=[0.02, 0, 0.03, 0.25, 0.7]), 0.9025),
    "shares": (lambda draw, n: draw.beta(5, 1, n), 5 / 6),
    "recall": (lambda draw, n: (draw.random(n) < 0.9).astype(float), 0.9),
}


@pytest.mark.parametrize("name", [*DRAWS])
@pytest.mark.parametrize("n", [10, 40])
def test_intervals_cover_their_level(name, n):
    """Of 1,500 samples of a known mean 95 % of the intervals hold it, at least 92.5 % where the scale's end is near."""
    draw, (sample, mean) = np.random.default_rng(7), DRAWS[name]
    share = NumberRange(0, 1)
    found = [mean_interval(sample(draw, n), [1] * n, share) for _ in range(1500)]
    assert 0.925 <= np.mean([one.low <= mean <= one.high for one in found]) <= 0.995


@pytest.mark.parametrize("k", [5, 20])
def test_intervals_of_clustered_items_cover_their_level(k):
    """Chunks of few questions: the bootstrap of 5 held the mean in 85 %, the effective sample size holds it in 94 %."""
    draw = np.random.default_rng(8)
    held = []
    for _ in range(1500):
        sizes = draw.integers(1, 9, k)
        sums = draw.binomial(sizes, draw.beta(0.5, 0.5, k)).astype(float)
        one = mean_interval(sums, sizes, NumberRange(0, 1, binary=True))
        held.append(one.low <= 0.5 <= one.high)
    assert 0.925 <= np.mean(held) <= 0.97


def test_the_effective_sample_size_of_0_and_1_is_about_their_number():
    """For independent 0/1 values of a large sample the interval comes to Wilson's own."""
    data = np.array([1.0] * 700 + [0.0] * 300)
    found = effective_wilson(sum_by_cluster(data, None), (0.0, 1.0))
    assert (found.low, found.high) == pytest.approx(proportion_confint(700, 1000, method="wilson"), abs=2e-4)


@given(st.integers(1, 10**6), st.floats(1e-9, 0.49))
def test_quantiles_are_those_of_scipy(degrees, share):
    """Quantiles that need no import of scipy have its digits, for few and for many degrees of freedom."""
    assert find_student_quantile(degrees, share) == pytest.approx(float(stats.t.ppf(share, degrees)), rel=1e-9)
    assert find_normal_quantile(share) == pytest.approx(float(stats.norm.ppf(share)), rel=1e-12)
