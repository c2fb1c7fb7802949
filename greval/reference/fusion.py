"""Fusion of rankings: weighted sums of normalised scores, and reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

Scores = Mapping[int, float]
"""The scores of items by one ranking."""


def fuse_weighted(rankings: Sequence[Scores], weights: Sequence[float]) -> dict[int, float]:
    """Return the weighted sum of scores, each divided by the highest of its ranking.

    What has no score in a ranking has 0 there, and so has a negative score.

    Example:
        >>> fuse_weighted([{1: 0.8, 2: 0.4}, {2: 0.5, 3: 0.25}], [0.6, 0.4])
        {1: 0.6, 2: 0.7, 3: 0.2}
    """
    return _sum_weighted([_divide_by_highest(scores) for scores in rankings], weights)


def fuse_minmax(rankings: Sequence[Scores], weights: Sequence[float]) -> dict[int, float]:
    """Return the weighted sum of scores, each scaled from the lowest (0) to the highest (1) of its ranking.

    A missing score counts as the lowest.

    References:
        CombSUM of Fox and Shaw, "Combination of multiple searches", TREC-2, 1994, with the scaling of Lee, "Analyses of
        multiple evidence combination", SIGIR 1997.

    Example:
        >>> fuse_minmax([{1: 9, 2: 8, 3: 7}, {2: 2, 3: 0}], [0.5, 0.5])
        {1: 0.5, 2: 0.75, 3: 0.0}
    """
    return _sum_weighted([_scale_to_range(scores) for scores in rankings], weights)


def fuse_ranks(rankings: Sequence[Mapping[int, int]], weights: Sequence[float], k: int) -> dict[int, float]:
    """Return the reciprocal rank fusion of rankings: the weighted sum of 1 / (k + rank), with ranks from 1.

    What is not in a ranking gets nothing from it.

    References:
        Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
        methods", SIGIR 2009.

    Example:
        >>> fuse_ranks([{1: 1, 2: 2}, {2: 1}], [0.5, 0.5], k=1)
        {1: 0.25, 2: 0.41666666666666663}
    """
    return _sum_weighted([{item: 1 / (k + rank) for item, rank in ranks.items()} for ranks in rankings], weights)


def _sum_weighted(rankings: Sequence[Scores], weights: Sequence[float]) -> dict[int, float]:
    """Return the weighted sum of the scores of each item; a missing score is 0."""
    parts: dict[int, list[float]] = {}
    for scores, weight in zip(rankings, weights, strict=True):
        for item, score in scores.items():
            parts.setdefault(item, []).append(weight * score)
    # An exact sum, on which the order of the rankings has no effect.
    return {item: fsum(products) for item, products in parts.items()}


def _scale_to_range(scores: Scores) -> Scores:
    """Return the scores scaled so that the lowest is 0 and the highest 1; all are 1 if they are equal."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {item: (score - low) / (high - low) if high > low else 1.0 for item, score in scores.items()}


def _divide_by_highest(scores: Scores) -> Scores:
    """Return the scores divided by the highest; all are 0 if none is positive."""
    highest = max(scores.values(), default=0.0)
    if highest <= 0:
        return dict.fromkeys(scores, 0.0)
    return {item: max(score, 0.0) / highest for item, score in scores.items()}
