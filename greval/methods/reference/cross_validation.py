"""The gain of choosing one of several candidates on some questions, measured on others: nested cross-validation.

The candidate is chosen on all folds but one, and its gain measured on that one. The gain over all folds is therefore
that of the choice itself: it is not flattered by the fact that the best of many candidates is partly so by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
CURRENT = 0
"""The candidate that the others are compared with."""
TIE = 1e-12
"""Means that differ by no more are equal; they differ by rounding only."""


class FoldChoice(NamedTuple):
    """The candidate chosen on all other folds, and its mean gain there, which is biased, and on the fold itself."""

    fold: int
    questions: int
    candidate: int
    learned_gain: float
    gain: float


class TuningValidation(NamedTuple):
    """The gain of each question over the current candidate, and what each fold chose."""

    gains: Scores
    folds: tuple[FoldChoice, ...]


def assign_folds(questions: Sequence[str], count: int) -> Integers:
    """Assign each question to a fold from 0, by the hash of its id: equal ids are in the same fold.

    Example:
        >>> folds = assign_folds(["q1", "q2", "q3", "q1"], 3)
        >>> sorted(folds[:3].tolist()), bool(folds[0] == folds[3])
        ([0, 1, 2], True)
    """
    ordered = sorted({*questions}, key=lambda question: (sha256(question.encode(errors="replace")).digest(), question))
    folds = {question: place % count for place, question in enumerate(ordered)}
    return np.array([folds[question] for question in questions], dtype=np.int64)


def choose_candidate(scores: Scores) -> int:
    """Return the candidate with the highest mean over questions; the first of equal ones.

    Args:
        scores: The scores, shape (questions, candidates). The first candidate is the current one.

    Example:
        >>> choose_candidate(np.array([[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]))
        0
    """
    means = scores.mean(axis=0)
    return int(np.flatnonzero(means >= means.max() - TIE)[0])


def cross_validate(scores: Scores, folds: Integers) -> TuningValidation:
    """Choose a candidate for each fold from the others, and measure its gain on the fold.

    Args:
        scores: The scores, shape (questions, candidates). The first candidate is the current one.
        folds: The fold of each question.

    Example:
        >>> scores = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> found = cross_validate(scores, np.array([0, 0, 1, 1]))
        >>> [one.candidate for one in found.folds], found.gains.tolist()
        ([0, 1], [0.0, 0.0, -1.0, 1.0])
    """
    gains = np.zeros(len(scores))
    choices = []
    for fold in np.unique(folds).tolist():
        held = folds == fold
        chosen = choose_candidate(scores[~held])
        differences = scores[:, chosen] - scores[:, CURRENT]
        gains[held] = differences[held]
        learned, tested = (float(differences[rows].mean()) for rows in (~held, held))
        choices.append(FoldChoice(int(fold), int(held.sum()), chosen, learned, tested))
    return TuningValidation(gains, tuple(choices))
