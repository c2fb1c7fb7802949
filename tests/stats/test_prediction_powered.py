"""Prediction-powered estimates: unbiased over all samples, and the same as other tools."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_population import LABELS, TINY, VERDICTS, jackknife_variance, mean_of_all
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.weightstats import DescrStatsW
from statsmodels.tools import add_constant

from greval.stats.misclassification import rogan_gladen
from greval.stats.prediction_powered import (
    EstimateTerm,
    MeanEstimate,
    compute_interval,
    compute_jackknife_totals,
    estimate_from_labels,
    estimate_prediction_powered,
    estimate_with_control,
    weighted_mean,
)
from greval.stats.sampling import EstimateSpread, build_weighted_sample

RATES = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=8, max_size=40)


def every_sample(labels, verdicts, count):
    """Give each sample of so many things, laid out as drawn at random."""
    for chosen in combinations(range(len(labels)), count):
        places = np.array(chosen)
        yield (
            build_weighted_sample(np.ones(count), population=len(labels)),
            mean_of_all(verdicts, len(places)),
            labels[places],
            verdicts[places],
        )


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_estimate_and_variance_are_right_over_all_samples(power):
    """Over all samples that can be drawn the estimate is the truth on average, and so is its variance."""
    found = [
        (estimate_prediction_powered(*sample, width=TINY, power=power), sample)
        for sample in every_sample(LABELS, VERDICTS, 4)
    ]
    values = np.array([one.value for one, _ in found])
    assert values.mean() == pytest.approx(LABELS.mean())
    assert np.mean([one.spread.variance for one, _ in found]) == pytest.approx(values.var())


def test_same_as_ppi_python():
    """The estimates of a sample are those that ppi-python 0.2.3 gives (`ppi_mean_pointestimate`)."""
    rng = np.random.default_rng(3)
    labels = (rng.random(400) < 0.6).astype(float)
    verdicts = np.where(rng.random(400) < 0.2, 1 - labels, labels)
    sample = build_weighted_sample(np.ones(60), population=400)
    sides = mean_of_all(verdicts, 60)
    for power, value in ((1.0, 0.6175), (0.5, 0.60041667)):
        estimated = estimate_prediction_powered(sample, sides, labels[:60], verdicts[:60], width=1, power=power)
        assert estimated.value == pytest.approx(value, abs=1e-8)
    tuned = estimate_prediction_powered(sample, sides, labels[:60], verdicts[:60], width=1)
    theirs = (0.60129759 - labels[:60].mean()) / (verdicts.mean() - verdicts[:60].mean())
    pairs = np.cov(labels[:60], verdicts[:60])
    assert tuned.power == pytest.approx(pairs[0, 1] / pairs[1, 1])
    assert theirs == pytest.approx(tuned.power / (1 + 60 / 400), rel=0.05)  # theirs is for new things


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=30), st.integers(0, 1000))
def test_weighted_mean_is_that_of_statsmodels(labels, seed):
    """The weighted mean equals that of statsmodels; of equal weights the error is that of a sample."""
    weights = np.random.default_rng(seed).uniform(1, 5, len(labels))
    values = np.array(labels)
    sample = build_weighted_sample(weights, population=10**9)
    sides = mean_of_all(values, len(values))
    assert weighted_mean(sample, sides, values) == pytest.approx(DescrStatsW(values, weights).mean)
    plain = build_weighted_sample(np.ones(len(labels)), population=10**9)
    variance = plain.compute_covariance(*[compute_jackknife_totals(plain, sides, values)] * 2)
    assert variance**0.5 == pytest.approx(DescrStatsW(values).std_mean, abs=1e-6)


@given(RATES, st.floats(0.5, 3.0))
def test_laws_of_prediction_powered_estimates(pairs, factor):
    """A judge that is right needs no labels; a constant error of the judge, and the weights' unit, change nothing."""
    labels, verdicts = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    sample = build_weighted_sample(np.ones(len(labels)), population=500)
    sides = [EstimateTerm(np.ones(len(labels)), 0.37)]
    if labels.min() < labels.max():
        right = estimate_prediction_powered(sample, sides, labels, labels, width=1)
        assert (right.value, right.power) == (pytest.approx(0.37), pytest.approx(1.0))
    estimated = estimate_prediction_powered(sample, sides, labels, verdicts, width=1)
    shifted = estimate_prediction_powered(
        sample, [EstimateTerm(np.ones(len(labels)), 0.87)], labels, verdicts + 0.5, width=1
    )
    scaled = estimate_prediction_powered(
        build_weighted_sample(np.full(len(labels), factor), population=500), sides, labels, verdicts, width=1
    )
    for other in (shifted, scaled):
        assert other.value == pytest.approx(estimated.value)
        assert other.spread.variance == pytest.approx(estimated.spread.variance)
    at_this_power = estimate_prediction_powered(sample, sides, labels, verdicts, width=1, power=estimated.power)
    assert at_this_power.value == pytest.approx(estimated.value)
    assert at_this_power.spread.variance <= estimate_from_labels(sample, sides, labels, width=1).spread.variance * (
        1 + 1e-9
    )


@pytest.mark.parametrize("count", [11, 20, 23, 37])
@pytest.mark.parametrize("verdict", [1.0, 1.5, 0.7])
def test_equal_verdicts_leave_the_labels_alone(count, verdict):
    """A judge that gives every labelled item the same value has no power, whatever the rounding of its mean."""
    labels = np.r_[1.0, np.zeros(count - 1)]
    sample, sides = build_weighted_sample(np.full(count, 0.7), population=500), [EstimateTerm(np.ones(count), 0.37)]
    estimated = estimate_prediction_powered(sample, sides, labels, np.full(count, verdict), width=1)
    alone = estimate_from_labels(sample, sides, labels, width=1)
    assert (estimated.value, estimated.spread, estimated.power) == (pytest.approx(alone.value), alone.spread, 0.0)


CLUSTERED = st.lists(
    st.tuples(st.integers(0, 1), st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=4)),
    min_size=4,
    max_size=12,
).filter(lambda units: min(sum(stratum == name for stratum, _ in units) for name in (0, 1)) >= 2)
"""Questions: the stratum of each, and what people and the judge said of its things."""


@given(CLUSTERED)
def test_variance_of_labels_is_that_of_the_jackknife(units):
    """Leaving out each question in turn, and weighing up the others of its stratum, gives the same variance."""
    stratum = np.array([name for name, _ in units])
    unit = np.repeat(np.arange(len(units)), [len(things) for _, things in units])
    labels = np.array([label for _, things in units for label, _ in things])
    weights = np.where(stratum == 0, 2.0, 5.0)[unit]
    sample = build_weighted_sample(weights, stratum[unit], unit, population=int(weights.sum()))
    estimated = estimate_from_labels(sample, mean_of_all(labels, len(labels)), labels, width=TINY)
    expected = jackknife_variance(
        lambda kept: float((weights * kept[unit]) @ labels / (weights * kept[unit]).sum()), stratum, {0: 0.5, 1: 0.8}
    )
    assert estimated.spread.variance == pytest.approx(expected, abs=1e-9)


@given(
    st.lists(
        st.tuples(st.tuples(*[st.floats(-3, 3)] * 3), st.tuples(*[st.floats(-3, 3)] * 3)), min_size=4, max_size=12
    ),
    st.floats(-3, 3),
)
def test_variance_of_ppi_is_that_of_the_jackknife_with_the_power_fitted_again(units, judged):
    """The power is fitted anew without each question: the variance is that of n such estimates, with n - 2 degrees."""
    labels, verdicts = (np.array([unit[side] for unit in units]) for side in (0, 1))
    n = len(units)
    sample = build_weighted_sample(np.ones(3 * n), units=np.repeat(np.arange(n), 3), population=12 * n)

    def estimate(kept):
        y, f = (values[kept > 0].mean(axis=1) for values in (labels, verdicts))
        return y.mean() + np.cov(y, f)[0, 1] / np.var(f, ddof=1) * (judged - f.mean())

    questions = verdicts.mean(axis=1)
    if min(np.ptp(np.delete(questions, place)) for place in range(n)) < 1e-3:
        return
    estimated = estimate_prediction_powered(
        sample, [EstimateTerm(np.ones(3 * n), judged)], labels.ravel(), verdicts.ravel(), width=TINY
    )
    expected = jackknife_variance(estimate, np.zeros(n, dtype=int), {0: 0.75})
    assert estimated.value == pytest.approx(estimate(np.ones(n)))
    assert estimated.spread.variance == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert estimated.spread.df <= max(3.0, n - 2)


def test_an_interval_of_what_was_not_seen_is_a_bound():
    """Without a fault among the labels the interval is called bounded, of a share as of a mean and of Rogan-Gladen."""
    labels = np.array([1.0, 0.0] * 25)
    sample, sides = build_weighted_sample(np.ones(50), population=10**6), [EstimateTerm(np.ones(50), 0.5)]
    estimated = estimate_prediction_powered(sample, sides, labels, labels, width=1)
    assert estimated.spread.bound
    for share in (True, False):
        assert compute_interval(estimated, level=0.95, ends=(0.0, 1.0), share=share)[1].method == "bounded"
    assert rogan_gladen(sample, sides, labels, labels, level=0.95).bound
    wrong = np.r_[1 - labels[:8], labels[8:]]
    assert not estimate_prediction_powered(sample, sides, labels, wrong, width=1).spread.bound
    assert not rogan_gladen(sample, sides, labels, wrong, level=0.95).bound


def test_all_labelled_leaves_no_doubt():
    """Where everything is labelled the estimate is the mean of the labels, without an error."""
    sample = build_weighted_sample(np.ones(7), population=7)
    estimated = estimate_prediction_powered(sample, mean_of_all(VERDICTS, 7), LABELS, VERDICTS, width=4)
    assert estimated.value == pytest.approx(LABELS.mean())
    assert estimated.spread.variance == 0


def test_intervals_stay_on_the_scale():
    """An estimate beyond the scale is set to its end, and so told; shares have Wilson's interval."""
    value, interval, cut = compute_interval(
        MeanEstimate(1.02, EstimateSpread(1e-4, 50.0)), level=0.95, ends=(0.0, 1.0), share=True
    )
    assert (value, interval.high, cut) == (1.0, 1.0, True)
    assert interval.low == pytest.approx(0.98, abs=0.001)
    value, interval, cut = compute_interval(
        MeanEstimate(0.97, EstimateSpread(4e-4, 50.0)), level=0.95, ends=(0.0, 1.0), share=True
    )
    assert (interval.method, cut) == ("wilson", False)
    assert interval.high < 1
    _, interval, cut = compute_interval(
        MeanEstimate(3.0, EstimateSpread(0.04, 1e9)), level=0.95, ends=None, share=False
    )
    assert (interval.low, interval.high, cut) == (
        pytest.approx(2.608, abs=0.001),
        pytest.approx(3.392, abs=0.001),
        False,
    )


def test_a_level_without_width_gives_the_value():
    """A level so small that its interval has no width in floating point is no error."""
    estimated = MeanEstimate(0.25, EstimateSpread(0.01, 50.0))
    value, interval, cut = compute_interval(estimated, level=1e-17, ends=(0.0, 1.0), share=True)
    assert (value, interval.low, interval.high, cut) == (0.25, 0.25, 0.25, False)


def draw_with_control(rng, count, population=2000):
    """Draw labels, a judge's values and a rule's numbers of a population, and the first `count` as the sample."""
    labels = rng.normal(size=population)
    verdicts, numbers = labels + rng.normal(size=population), labels + 0.7 * rng.normal(size=population)
    side = EstimateTerm(np.ones(count), verdicts.mean(), control=numbers.mean())
    sample = build_weighted_sample(np.ones(count), population=population)
    return labels, (sample, [side], labels[:count], verdicts[:count], numbers[:count])


def test_an_estimate_with_a_control_is_that_of_a_regression_on_both():
    """The value is that of the regression estimator of statsmodels with two explaining numbers."""
    _, (sample, (side,), labels, verdicts, numbers) = draw_with_control(np.random.default_rng(5), 60)
    found = estimate_with_control(sample, [side], labels, verdicts, numbers, width=TINY)
    fit = OLS(labels, add_constant(np.stack([verdicts, numbers], axis=1))).fit()
    assert found.value == pytest.approx(fit.predict([[1, side.judged, side.control]])[0])
    alone = estimate_prediction_powered(sample, [side], labels, verdicts, width=TINY)
    assert found.spread.variance < alone.spread.variance


@pytest.mark.nightly
@pytest.mark.parametrize("count", [20, 40, 100])
def test_intervals_with_a_control_cover_the_truth(count):
    """Of 2,000 samples, 95 % intervals cover the mean of all items."""
    rng = np.random.default_rng(count)
    covered = 0
    for _ in range(2000):
        labels, drawn = draw_with_control(rng, count)
        found = estimate_with_control(*drawn, width=TINY)
        covered += abs(found.value - labels.mean()) <= found.spread.compute_half_width(0.95)
    assert 0.935 <= covered / 2000 <= 0.975
