"""Fusion of rankings: weighted sums of normalised scores, and reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum, log


def fuse_weighted(
    vector_scores: Mapping[int, float], graph_scores: Mapping[int, float], alpha: float
) -> dict[int, float]:
    """Return the weighted sum of two scores, each divided by its highest; alpha is the weight of the first.

    What has no score in one of them has 0 there, and so has a negative score.

    Example:
        >>> fuse_weighted({1: 0.8, 2: 0.4}, {2: 0.5, 3: 0.25}, alpha=0.6)
        {1: 0.6, 2: 0.7, 3: 0.2}
    """
    vector, graph = _divide_by_highest(vector_scores), _divide_by_highest(graph_scores)
    return {
        item: alpha * vector.get(item, 0.0) + (1 - alpha) * graph.get(item, 0.0)
        for item in dict.fromkeys([*vector, *graph])
    }


def fuse_minmax(
    vector_scores: Mapping[int, float], graph_scores: Mapping[int, float], alpha: float
) -> dict[int, float]:
    """Return the weighted sum of two scores, each scaled to 0 to 1; alpha is the weight of the first.

    Vector scores and the logarithms of graph scores are scaled from their lowest to their highest, and a missing score
    counts as the lowest. Graph scores are positive.

    Example:
        >>> fuse_minmax({1: 9, 2: 8, 3: 7}, {2: 4, 3: 1}, alpha=0.5)
        {1: 0.5, 2: 0.75, 3: 0.0}
    """
    # Cosines of sentence embeddings lie close together, often all between 0.7 and 0.9: divided by the highest, they
    # hardly differ. PageRanks span several orders of magnitude: without logarithms, a few would hide all others.
    vector = _scale_to_range(vector_scores)
    graph = _scale_to_range({item: log(score) for item, score in graph_scores.items() if score > 0})
    return {
        item: alpha * vector.get(item, 0.0) + (1 - alpha) * graph.get(item, 0.0)
        for item in dict.fromkeys([*vector_scores, *graph_scores])
    }


def _scale_to_range(scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores scaled so that the lowest is 0 and the highest 1; all are 1 if they are equal."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {item: (score - low) / (high - low) if high > low else 1.0 for item, score in scores.items()}


def _divide_by_highest(scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores divided by the highest; all are 0 if none is positive."""
    highest = max(scores.values(), default=0.0)
    if highest <= 0:
        return dict.fromkeys(scores, 0.0)
    return {item: max(score, 0.0) / highest for item, score in scores.items()}


def fuse_ranks(rankings: Iterable[Mapping[int, int]], k: int) -> dict[int, float]:
    """Return the reciprocal rank fusion of rankings: the sum of 1 / (k + rank), with ranks from 1.

    What is not in a ranking gets nothing from it.
    """
    parts: dict[int, list[float]] = {}
    for ranks in rankings:
        for item, rank in ranks.items():
            parts.setdefault(item, []).append(1 / (k + rank))
    # An exact sum, on which the order of the rankings has no effect.
    return {item: fsum(shares) for item, shares in parts.items()}
