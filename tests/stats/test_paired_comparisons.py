"""Strengths from paired comparisons: against statsmodels, by laws of the models, and where they are undefined."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from greval.stats.interval import Undefined
from greval.stats.paired_comparisons import PairedComparisons, estimate_strengths


def tournament(seed, *, methods, games, ties=False):
    """Draw a tournament of methods with random strengths, each game on a question of its own."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(0, 0.7, methods)
    first = rng.integers(0, methods, games)
    second = (first + rng.integers(1, methods, games)) % methods
    gaps = strengths[first] - strengths[second]
    weights = np.stack([np.exp(gaps / 2), np.exp(-gaps / 2), np.full(games, 0.8 if ties else 0.0)], axis=1)
    drawn = (rng.random((games, 1)) > (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    outcomes = np.array([1.0, 0.0, 0.5])[drawn]
    return PairedComparisons(first, second, outcomes, np.arange(games), methods)


def values(given):
    """Return the estimated strengths, None if they are undefined."""
    found = estimate_strengths(given, level=0.95)
    return None if isinstance(found[0], Undefined) else np.array([one.value for one in found])


def test_without_ties_it_is_a_binomial_regression():
    """On 100 random tournaments, strengths and their errors equal those of statsmodels' GLM with robust covariance."""
    compared = 0
    for seed in range(100):
        given = tournament(seed, methods=3 + seed % 4, games=60 + seed)
        found = estimate_strengths(given, level=0.95)
        if isinstance(found[0], Undefined):
            continue
        compared += 1
        design = np.zeros((len(given.outcomes), given.size))
        rows = np.arange(len(given.outcomes))
        design[rows, given.first], design[rows, given.second] = 1.0, -1.0
        fit = sm.GLM(given.outcomes, design[:, 1:], family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-12)
        own = np.array([one.value for one in found])
        assert own - own[0] == pytest.approx(np.concatenate([[0.0], fit.params]), abs=1e-5)
        centre = np.eye(given.size) - 1 / given.size
        covariance = centre[:, 1:] @ fit.cov_params() @ centre[:, 1:].T
        halves = [(one.interval.high - one.interval.low) / 2 for one in found]
        ratio = np.array(halves) / np.sqrt(np.diag(covariance))
        assert ratio == pytest.approx(np.full(given.size, ratio[0]), rel=1e-4)
    assert compared > 90


def test_with_ties_it_is_the_maximum_of_davidsons_likelihood():
    """On random tournaments with ties, no other strengths have a higher likelihood, by a general optimiser."""
    for seed in range(10):
        given = tournament(seed, methods=4, games=80, ties=True)

        def loss(parameters, given=given):
            strengths, tie = parameters[:4], parameters[4]
            one, other = strengths[given.first], strengths[given.second]
            logs = np.stack([one, other, tie + (one + other) / 2])
            logs = logs - np.logaddexp.reduce(logs, axis=0)
            return -np.select([given.outcomes == 1, given.outcomes == 0], [logs[0], logs[1]], logs[2]).sum()

        best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8}).x[:4]
        assert values(given) == pytest.approx(best - best.mean(), abs=1e-4)


@given(st.integers(0, 10_000), st.booleans())
def test_strengths_depend_neither_on_sides_nor_on_order(seed, ties):
    """If sides are exchanged with their outcomes, or games shuffled, the strengths stay; they sum to 0."""
    given = tournament(seed, methods=3, games=40, ties=ties)
    found = values(given)
    mirrored = given._replace(first=given.second, second=given.first, outcomes=1 - given.outcomes)
    order = np.random.default_rng(seed).permutation(40)
    shuffled = PairedComparisons(*(column[order] for column in given[:4]), given.size)
    if found is None:
        assert values(mirrored) is None
        return
    assert found.sum() == pytest.approx(0, abs=1e-9)
    assert values(mirrored) == pytest.approx(found, abs=1e-6)
    assert values(shuffled) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        ([], "no comparison"),
        ([0.5, 0.5], "every verdict is a tie"),
        ([1.0, 1.0, 0.5], "never lost"),
        ([1.0, 0.0, 0.5], ""),
        ([1.0, 1.0, 1.0], "never lost"),
    ],
)
def test_undefined(outcomes, reason):
    """Without a comparison, with ties only, and for a method that never lost, there is no strength but a reason."""
    zeros = np.zeros(len(outcomes), dtype=np.int64)
    given = PairedComparisons(zeros, zeros + 1, np.array(outcomes), np.arange(len(outcomes)), 2)
    for one in estimate_strengths(given, level=0.95):
        assert isinstance(one, Undefined) == bool(reason)
        assert not reason or reason in one.reason


def test_a_method_apart_is_undefined():
    """Two groups of methods that never met have no common strengths."""
    given = PairedComparisons(
        np.array([0, 0, 2, 2]), np.array([1, 1, 3, 3]), np.array([1.0, 0.0, 1.0, 0.0]), np.arange(4), 4
    )
    assert values(given) is None


def test_few_questions_have_no_interval():
    """Below five questions there are strengths without intervals."""
    given = PairedComparisons(np.zeros(4, dtype=int), np.ones(4, dtype=int), np.array([1.0, 1, 0, 0]), np.arange(4), 2)
    assert [one.interval for one in estimate_strengths(given, level=0.95)] == [None, None]
