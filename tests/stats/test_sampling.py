"""Samples with known inclusion probabilities: their variance over all samples, and its degrees of freedom."""

from itertools import combinations

import numpy as np
import pytest
from small_population import LABELS, TINY, VERDICTS, mean_of_all

from greval.stats.prediction_powered import (
    EstimateTerm,
    estimate_from_labels,
)
from greval.stats.sampling import EstimateSpread, build_weighted_sample


def test_variance_of_strata_is_right_over_all_samples():
    """Two strata of different shares: the weighted mean is the truth on average, and its variance is known."""
    parts = np.array([0, 1, 4]), np.array([2, 3, 5, 6])
    values, variances = [], []
    for one in combinations(parts[0], 2):
        for other in combinations(parts[1], 2):
            places = np.array([*one, *other])
            sample = build_weighted_sample(np.array([1.5, 1.5, 2.0, 2.0]), np.array([0, 0, 1, 1]), population=7)
            estimated = estimate_from_labels(sample, mean_of_all(VERDICTS, len(places)), LABELS[places], width=TINY)
            values.append(estimated.value)
            variances.append(estimated.spread.variance)
    assert np.mean(values) == pytest.approx(LABELS.mean())
    assert np.mean(variances) == pytest.approx(np.var(values))


def test_questions_drawn_whole_are_clusters():
    """Where whole questions are drawn, the variance is that of questions, not of the things in them."""
    labels = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    question = np.repeat(np.arange(5), 2)
    found = []
    for chosen in combinations(range(5), 3):
        places = np.flatnonzero(np.isin(question, chosen))
        sample = build_weighted_sample(np.ones(6), units=question[places], population=10)
        found.append(estimate_from_labels(sample, mean_of_all(labels, len(places)), labels[places], width=TINY))
    assert np.mean([one.spread.variance for one in found]) == pytest.approx(np.var([one.value for one in found]))


def test_each_thing_by_its_own_chance():
    """Things drawn each by its own chance: the variance is that of ten thousand draws, about."""
    rng = np.random.default_rng(4)
    labels = rng.normal(3, 1, 300)
    chances = np.where(np.arange(300) % 3 == 0, 0.5, 0.15)
    values, variances = [], []
    for _ in range(3000):
        places = np.flatnonzero(rng.random(300) < chances)
        estimated = estimate_from_labels(
            build_weighted_sample(1 / chances[places], population=300),
            mean_of_all(labels, len(places)),
            labels[places],
            width=TINY,
        )
        values.append(estimated.value)
        variances.append(estimated.spread.variance)
    assert np.mean(values) == pytest.approx(labels.mean(), abs=0.01)
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.08)


@pytest.mark.parametrize(("count", "share"), [(20, 0.15), (100, 0.03), (300, 0.01)])
def test_no_fault_seen_is_no_proof(count, share):
    """Labels that all agree with the judge leave room for a share of faults of about 3 by their number."""
    ones = np.ones(count)
    estimated = estimate_from_labels(
        build_weighted_sample(ones, population=10**6), [EstimateTerm(ones, 1.0)], ones, width=1
    )
    assert estimated.spread.compute_half_width(0.95) == pytest.approx(share, rel=0.15)


def test_a_small_part_of_a_sample_is_known_badly():
    """Two labels of a group are two labels, however many others there are."""
    shares = np.r_[np.ones(2), np.zeros(198)]
    estimated = estimate_from_labels(
        build_weighted_sample(np.ones(200), population=2000), [EstimateTerm(shares, 1.0)], np.ones(200), width=1
    )
    assert estimated.spread.compute_half_width(0.95) > 0.5


def test_a_group_has_the_error_of_its_own_labels():
    """The labels of a group count as a random sample of it: its error is that of their own number."""
    labels = np.array([1.0, 2.0, 4.0, 4.0, *[3.0] * 36])
    shares = np.r_[np.ones(4), np.zeros(36)]
    estimated = estimate_from_labels(
        build_weighted_sample(np.ones(40), population=400), [EstimateTerm(shares, 3.0)], labels, width=TINY
    )
    assert estimated.value == pytest.approx(2.75)
    assert estimated.spread.variance == pytest.approx(0.9 * np.var(labels[:4], ddof=1) / 4)
    assert estimated.spread.df <= 3


def test_single_labels_of_a_stratum_are_joined():
    """A stratum with one label counts with that of the nearest weight, and this is told."""
    sample = build_weighted_sample(np.array([1.0, 1.0, 5.0, 9.0, 9.0]), np.array([0, 0, 1, 2, 2]), population=100)
    assert (sample.joined, sample.sizes.tolist()) == (1, [2, 3])


def test_spread_needs_no_spread():
    """A variance that is added counts as known."""
    assert EstimateSpread(1.0, 5.0).add_variance(1.0) == EstimateSpread(2.0, 20.0)
    assert EstimateSpread(0.0, 5.0).add_variance(1.0) == EstimateSpread(1.0, 5.0)
    assert [EstimateSpread(1.0, 3.0, bound=True).add_variance(more).bound for more in (0.1, 2.0)] == [True, False]
