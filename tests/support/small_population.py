"""Seven labelled and judged things, of which samples are drawn, and the stratified jackknife written out."""

from __future__ import annotations

import numpy as np

from greval.stats.prediction_powered import EstimateTerm

TINY = 1e-9
"""So near are values that labels without a fault are believed."""

LABELS = np.array([1.0, 3.0, 4.0, 4.0, 5.0, 2.0, 2.5])
VERDICTS = np.array([2.0, 3.0, 3.0, 5.0, 4.0, 2.0, 1.0])


def mean_of_all(verdicts, count):
    """Return the term of an estimate that is the mean of all things, for a sample of so many."""
    return [EstimateTerm(np.ones(count), float(np.mean(verdicts)))]


def jackknife_variance(estimate, stratum, rest):
    """Return the variance of the stratified jackknife; `estimate` takes each unit's weight, 0 of the one left out."""
    total = 0.0
    for name in np.unique(stratum):
        own = np.flatnonzero(stratum == name)
        n = len(own)
        without = []
        for unit in own:
            weights = np.ones(len(stratum))
            weights[own] = n / (n - 1)
            weights[unit] = 0
            without.append(estimate(weights))
        total += rest[name] * (n - 1) / n * np.sum((np.array(without) - np.mean(without)) ** 2)
    return total
