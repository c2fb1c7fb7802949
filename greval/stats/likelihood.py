"""Maximum likelihood of concave models, logistic regression among them, with covariances over clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Floats, Integers
from greval.stats.interval import Interval, Measured, MeasuredValue, Undefined

MAX_STEPS = 100
MAX_HALVINGS = 40
TOLERANCE = 1e-12
"""The expected relative gain of a step below which it is the last: the likelihood has no more digits."""
MAX_ESTIMATE = 15.0
"""The largest log odds of an estimate. A likelihood that still rises there has its maximum at infinity."""
MIN_CLUSTERS = 5
"""The minimum number of clusters for an interval: fewer do not determine a covariance."""
SINGULAR = 1e-10
"""The relative size of an eigenvalue of the Hessian from which it counts: a direction below it is not determined."""


class LikelihoodPoint(NamedTuple):
    """A log likelihood, its gradient and its Hessian at one point."""

    value: float
    gradient: Floats
    hessian: Floats


def maximise_likelihood(evaluate: Callable[[Floats], LikelihoodPoint], size: int) -> Floats | None:
    """Return the parameters with the highest likelihood, None if it has no finite maximum.

    Newton's method from 0 with step halving. The log likelihood must be concave; parameters that do not
    change it stay at 0.
    """
    parameters = np.zeros(size)
    now = evaluate(parameters)
    for _ in range(MAX_STEPS):
        # Of a singular Hessian the step of least norm: directions without effect on the likelihood stay at 0.
        step = np.linalg.lstsq(-now.hessian, now.gradient, rcond=None)[0]
        if float(now.gradient @ step) <= TOLERANCE * max(1.0, abs(now.value)):
            return parameters + step
        for _ in range(MAX_HALVINGS):
            then = evaluate(parameters + step)
            if then.value >= now.value:
                break
            step = step / 2
        else:
            return parameters
        parameters, now = parameters + step, then
        if float(np.abs(parameters).max()) > MAX_ESTIMATE:
            return None
    return None


def cluster_covariance(hessian: Floats, scores: Floats, clusters: Integers) -> Floats:
    """Compute the covariance of estimates from independent clusters of dependent observations.

    H^- (sum of s s') H^- c / (c - 1), with H the Hessian, H^- its generalised inverse, and s the summed scores of each
    of c clusters.

    Args:
        hessian: The Hessian of the log likelihood at the estimates, shape (parameters, parameters).
        scores: The gradient of each observation, shape (observations, parameters).
        clusters: The number of the cluster of each observation, from 0.

    Source:
        Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 1986.
    """
    count = int(clusters.max()) + 1
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, clusters, scores)
    bread = np.linalg.pinv(hessian, rcond=SINGULAR, hermitian=True)
    covariance: Floats = bread @ (sums.T @ sums) @ bread * (count / (count - 1))
    return covariance


def wald_interval(estimate: float, error: float, clusters: int, *, level: float) -> Interval:
    """Compute the interval estimate +- t error, with t of clusters - 1 degrees of freedom.

    Example:
        >>> interval = wald_interval(1.0, 0.5, 31, level=0.95)
        >>> round(interval.low, 2), round(interval.high, 2)
        (-0.02, 2.02)
    """
    from scipy.special import stdtrit

    half = float(-stdtrit(clusters - 1, 0.5 - level / 2)) * error
    return Interval(low=estimate - half, high=estimate + half, level=level, method="t")


class LogisticData(NamedTuple):
    """The data of a regression.

    `design` has the regressors of each observation, shape (observations, coefficients), `outcomes` its share from 0 to
    1, and `clusters` the number of its cluster, from 0.
    """

    design: Floats
    outcomes: Floats
    clusters: Integers


def fit_logistic(data: LogisticData, *, level: float) -> tuple[Measured, ...]:
    """Estimate the coefficients of a logistic regression with their intervals.

    The expected outcome is 1 / (1 + exp(-x b)). Outcomes between 0 and 1, such as 0.5 for a tie, are shares: the
    estimate is the quasi-likelihood's, and its covariance is that over clusters, which does not assume a variance.

    Returns:
        The coefficients. All are undefined with fewer than 5 clusters, if the regressors do not determine them, or if
        they separate the outcomes, so that the likelihood has no maximum.

    Source:
        Papke and Wooldridge, "Econometric methods for fractional response variables", Journal of Applied Econometrics
        1996; separation: Albert and Anderson, Biometrika 1984.
    """
    size, n = int(data.design.shape[1]), len(data.outcomes)
    if reason := _explain_undefined(data):
        return (Undefined(n=n, reason=reason),) * size

    def evaluate(coefficients: Floats) -> LikelihoodPoint:
        exponents = data.design @ coefficients
        shares = 1 / (1 + np.exp(-exponents))
        # The logarithm of 1 + exp(x), without an overflow for large x.
        value = float((data.outcomes * exponents - np.logaddexp(0.0, exponents)).sum())
        weighted = data.design * (shares * (1 - shares))[:, None]
        return LikelihoodPoint(value, data.design.T @ (data.outcomes - shares), -(data.design.T @ weighted))

    estimates = maximise_likelihood(evaluate, size)
    if estimates is None:
        return (Undefined(n=n, reason="the regressors separate the outcomes"),) * size
    shares = 1 / (1 + np.exp(-(data.design @ estimates)))
    scores = data.design * (data.outcomes - shares)[:, None]
    errors = np.sqrt(np.diag(cluster_covariance(evaluate(estimates).hessian, scores, data.clusters)))
    count = int(data.clusters.max()) + 1
    return tuple(
        MeasuredValue(
            value=float(estimate), n=n, interval=wald_interval(float(estimate), float(error), count, level=level)
        )
        for estimate, error in zip(estimates, errors, strict=True)
    )


def _explain_undefined(data: LogisticData) -> str:
    """Explain why coefficients cannot be estimated, empty if they can."""
    count = int(data.clusters.max(initial=-1)) + 1
    if count < max(MIN_CLUSTERS, data.design.shape[1] + 1):
        return f"too few questions: {count}"
    if np.linalg.matrix_rank(data.design) < data.design.shape[1]:
        return "the regressors do not vary independently"
    return ""
