"""Cross-validation: folds of similar sizes, and the gain of choosing one of several candidates.

A candidate is chosen on all folds but one, and its gain measured on that one. The gain over all folds is therefore that
of the choice itself: it is not flattered by the fact that the best of many candidates is partly so by chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from greval.stats.bootstrap import Flags, Floats, Integers

Cluster = TypeVar("Cluster", bound=Hashable)
CURRENT = 0
"""The candidate that the others are compared with."""
TIE = 1e-12
"""Means that differ by no more are equal; they differ by rounding only."""
MAX_FOLDS = 10
MIN_FOLDS = 2
"""One fold to learn from, and one to measure on."""


class FoldChoice(NamedTuple):
    """The candidate chosen on all other folds, and its mean gain there, which is biased, and on the fold itself."""

    fold: int
    questions: int
    candidate: int
    learned_gain: float
    gain: float


class ChoiceValidation(NamedTuple):
    """The gain of each question over the current candidate, and what each fold chose."""

    gains: Floats
    folds: tuple[FoldChoice, ...]


def assign_folds(sizes: Mapping[Cluster, int], count: int) -> dict[Cluster, int]:
    """Assign clusters to folds, numbered from 0, so that folds have similar sizes.

    The largest cluster is first, and of equal ones the first in `sizes`. Each goes to the smallest fold.
    """
    fold_sizes = [0] * count
    fold_of: dict[Cluster, int] = {}
    # The sort is stable: clusters of equal size keep their order.
    for cluster in sorted(sizes, key=lambda cluster: -sizes[cluster]):
        fold = fold_sizes.index(min(fold_sizes))
        fold_sizes[fold] += sizes[cluster]
        fold_of[cluster] = fold
    return fold_of


def split_folds(clusters: Integers) -> list[Flags]:
    """Return the mask of the observations that each fold holds out; those of a cluster are held out together.

    There are ten folds, or one for each cluster if there are fewer. A single cluster gives no fold.
    """
    names, places, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    count = min(MAX_FOLDS, len(names))
    if count < MIN_FOLDS:
        return []
    # Seeded by the number of clusters, so that the same data give the same folds.
    order = np.argsort(np.random.default_rng(len(names)).permutation(len(names))).tolist()
    fold_of = assign_folds({cluster: int(sizes[cluster]) for cluster in order}, count)
    folds = np.array([fold_of[cluster] for cluster in range(len(names))])[places]
    masks = [folds == fold for fold in range(count)]
    return sorted(masks, key=lambda held_out: int(np.argmax(held_out)))


def choose_candidate(scores: Floats) -> int:
    """Return the candidate with the highest mean over questions; the first of equal ones."""
    means = scores.mean(axis=0)
    return int(np.flatnonzero(means >= means.max() - TIE)[0])


def validate_choice(scores: Floats, folds: Integers) -> ChoiceValidation:
    """Choose a candidate for each fold from the others, and measure its gain on the fold.

    Args:
        scores: The scores, shape (questions, candidates). The first candidate is the current one.
        folds: The fold of each question.
    """
    gains = np.zeros(len(scores))
    choices = []
    for fold in np.unique(folds).tolist():
        held_out = folds == fold
        chosen = choose_candidate(scores[~held_out])
        differences = scores[:, chosen] - scores[:, CURRENT]
        gains[held_out] = differences[held_out]
        learned, tested = (float(differences[rows].mean()) for rows in (~held_out, held_out))
        choices.append(FoldChoice(int(fold), int(held_out.sum()), chosen, learned, tested))
    return ChoiceValidation(gains, tuple(choices))
