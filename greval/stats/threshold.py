"""The best single threshold on a number: a baseline that predicts a category without reading any text."""

from __future__ import annotations

from itertools import permutations
from math import nan
from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Floats, Integers

MAX_THRESHOLDS = 200
MAX_CATEGORIES = 10


class Threshold(NamedTuple):
    """A rule that predicts the category `below` up to the number `at`, and `above` beyond it."""

    at: float
    below: int
    above: int


def find_best_threshold(numbers: Floats, truth: Integers, size: int) -> Threshold:
    """Find the threshold, and the categories below and above it, with the highest kappa.

    At most 200 quantiles are tried as thresholds, and the ten most frequent categories. If none
    is better than chance, both categories are the most frequent one. `numbers` and `truth` have the number of each
    observation and its true category, an index below `size`.
    """
    levels = np.unique(np.quantile(numbers, np.linspace(0, 1, MAX_THRESHOLDS), method="lower"))
    below = np.zeros((len(levels), size))
    np.add.at(below, (np.searchsorted(levels, numbers), truth), 1.0)
    below = np.cumsum(below, axis=0)
    every, n = below[-1], float(len(numbers))
    common = np.argsort(-every, kind="stable")[:MAX_CATEGORIES].tolist()
    best, kappa = Threshold(float(levels[-1]), common[0], common[0]), 0.0
    low = below.sum(axis=1)
    for lower, upper in permutations(common, 2):
        agreed = (below[:, lower] + every[upper] - below[:, upper]) / n
        chance = (low * every[lower] + (n - low) * every[upper]) / n**2
        kappas = np.divide(agreed - chance, 1 - chance, out=np.full(len(levels), nan), where=chance < 1)
        if np.nanmax(kappas, initial=0.0) > kappa:
            at = int(np.nanargmax(kappas))
            best, kappa = Threshold(float(levels[at]), lower, upper), float(kappas[at])
    return best
