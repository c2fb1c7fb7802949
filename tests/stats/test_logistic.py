"""Logistic regression of shares: against statsmodels, and where it is undefined."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, stdtrit

from greval.stats.interval import Undefined
from greval.stats.likelihood import LikelihoodPoint, LogisticData, fit_logistic, maximise_likelihood


def draw(seed, n=90):
    """Draw outcomes of 0, 0.5 and 1 that depend on two regressors, three to a cluster."""
    rng = np.random.default_rng(seed)
    design = np.stack([np.ones(n), rng.normal(size=n)], axis=1)
    chances = expit(design @ [0.3, 0.8])
    outcomes = (rng.random((2, n)) < chances).mean(axis=0)
    return LogisticData(design, outcomes, np.arange(n) // 3)


@pytest.mark.parametrize("seed", range(20))
def test_coefficients_and_intervals(seed):
    """Coefficients and clustered intervals equal those of statsmodels, without its small-sample factor."""
    given = draw(seed)
    fit = sm.GLM(given.outcomes, given.design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": given.clusters, "use_correction": False}, tol=1e-12
    )
    count = given.clusters.max() + 1
    factor = stdtrit(count - 1, 0.975) * np.sqrt(count / (count - 1))
    for one, value, error in zip(fit_logistic(given, level=0.95), fit.params, fit.bse, strict=True):
        assert one.value == pytest.approx(value, abs=1e-6)
        assert one.interval.high - one.value == pytest.approx(factor * error, rel=1e-5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"outcomes": np.ones(90)}, "separate"),
        ({"design": np.ones((90, 2))}, "vary"),
        ({"clusters": np.arange(90) % 3}, "too few questions: 3"),
    ],
)
def test_undefined(change, reason):
    """Separated outcomes, dependent regressors and few clusters give a reason in place of every coefficient."""
    for one in fit_logistic(draw(0)._replace(**change), level=0.95):
        assert isinstance(one, Undefined)
        assert reason in one.reason


def test_a_step_that_overshoots_is_halved():
    """Far from its maximum, Newton's step on -log cosh leaves the region where the function is known to rise."""

    def evaluate(parameters):
        slope = np.tanh(parameters - 3)
        return LikelihoodPoint(float(-np.log(np.cosh(parameters - 3)).sum()), -slope, np.diag(-(1 - slope**2)))

    found = maximise_likelihood(evaluate, 1)
    assert found is not None
    assert found[0] == pytest.approx(3)
