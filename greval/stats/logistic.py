"""Logistic regression of shares, with intervals over clusters of dependent observations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Floats, Integers
from greval.stats.likelihood import (
    MIN_CLUSTERS,
    LikelihoodPoint,
    cluster_covariance,
    maximise_likelihood,
    wald_interval,
)
from greval.stats.measured import Measured, MeasuredValue, Undefined


class LogisticData(NamedTuple):
    """The data of a regression.

    `design` has the regressors of each observation, shape (observations, coefficients), `outcomes` its share from 0 to
    1, and `clusters` the number of its cluster, from 0.
    """

    design: Floats
    outcomes: Floats
    clusters: Integers


def fit_logistic(given: LogisticData, *, level: float) -> tuple[Measured, ...]:
    """Estimate the coefficients of a logistic regression with their intervals.

    The expected outcome is 1 / (1 + exp(-x b)). Outcomes between 0 and 1, such as 0.5 for a tie, are shares: the
    estimate is the quasi-likelihood's, and its covariance is that over clusters, which does not assume a variance.

    Args:
        given: The data.
        level: The confidence level.

    Returns:
        The coefficients. All are undefined with fewer than 5 clusters, if the regressors do not determine them, or if
        they separate the outcomes, so that the likelihood has no maximum.

    Source:
        Papke and Wooldridge, "Econometric methods for fractional response variables", Journal of Applied Econometrics
        1996; separation: Albert and Anderson, Biometrika 1984.

    Example:
        >>> import numpy as np
        >>> outcomes = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
        >>> (found,) = fit_logistic(LogisticData(np.ones((8, 1)), outcomes, np.arange(8)), level=0.95)
        >>> round(found.value, 3)
        0.511
    """
    size, n = int(given.design.shape[1]), len(given.outcomes)
    if reason := _explain_undefined(given):
        return (Undefined(n=n, reason=reason),) * size

    def evaluate(coefficients: Floats) -> LikelihoodPoint:
        exponents = given.design @ coefficients
        shares = 1 / (1 + np.exp(-exponents))
        value = float((given.outcomes * exponents - np.logaddexp(0.0, exponents)).sum())
        weighted = given.design * (shares * (1 - shares))[:, None]
        return LikelihoodPoint(value, given.design.T @ (given.outcomes - shares), -(given.design.T @ weighted))

    found = maximise_likelihood(evaluate, size)
    if found is None:
        return (Undefined(n=n, reason="the regressors separate the outcomes"),) * size
    shares = 1 / (1 + np.exp(-(given.design @ found)))
    scores = given.design * (given.outcomes - shares)[:, None]
    errors = np.sqrt(np.diag(cluster_covariance(evaluate(found).hessian, scores, given.clusters)))
    count = int(given.clusters.max()) + 1
    return tuple(
        MeasuredValue(value=float(one), n=n, interval=wald_interval(float(one), float(error), count, level=level))
        for one, error in zip(found, errors, strict=True)
    )


def _explain_undefined(given: LogisticData) -> str:
    """Explain why coefficients cannot be estimated, empty if they can."""
    count = int(given.clusters.max(initial=-1)) + 1
    if count < max(MIN_CLUSTERS, given.design.shape[1] + 1):
        return f"too few questions: {count}"
    if np.linalg.matrix_rank(given.design) < given.design.shape[1]:
        return "the regressors do not vary independently"
    return ""
