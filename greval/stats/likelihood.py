"""Maximum likelihood of concave models by Newton's method, and the covariance of its estimates over clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Floats, Integers
from greval.stats.interval import Interval

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

    Newton's method from 0 with step halving. The log likelihood must be concave; if its Hessian is singular, the step
    of least norm is taken, so that directions in which the likelihood does not change stay at 0.

    Args:
        evaluate: The log likelihood with its derivatives at given parameters.
        size: The number of parameters.
    """
    place = np.zeros(size)
    now = evaluate(place)
    for _ in range(MAX_STEPS):
        step = np.linalg.lstsq(-now.hessian, now.gradient, rcond=None)[0]
        if float(now.gradient @ step) <= TOLERANCE * max(1.0, abs(now.value)):
            return place + step
        for _ in range(MAX_HALVINGS):
            then = evaluate(place + step)
            if then.value >= now.value:
                break
            step = step / 2
        else:
            return place
        place, now = place + step, then
        if float(np.abs(place).max()) > MAX_ESTIMATE:
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
    found: Floats = bread @ (sums.T @ sums) @ bread * (count / (count - 1))
    return found


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
