"""Scores of candidates that differ by chance only."""

from __future__ import annotations

import numpy as np


def draw_noise(seed, questions=60, candidates=30):
    """Draw recalls of candidates that are all equally good; those of one question are alike."""
    rng = np.random.default_rng(seed)
    easy = rng.beta(2, 2, size=(questions, 1))
    return rng.binomial(2, easy, size=(questions, candidates)) / 2
