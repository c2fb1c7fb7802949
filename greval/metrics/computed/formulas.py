"""Formulas of ranked retrieval: pure functions of what stands at each rank, and of what was due.

A document stands in a ranking once. Where no `k` is given, the whole ranking counts. Linear gains
and the discount log2(rank + 1) are those of Järvelin and Kekäläinen (2002) as trec_eval has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum, log2


def ndcg(gains: Sequence[int], due: Iterable[int], k: int | None = None, *, exponential: bool = False) -> float:
    """Give the normalised discounted cumulative gain: DCG / ideal DCG, each over the first k.

    DCG is the sum of gain / log2(rank + 1); with `exponential` the gain counts as 2**gain - 1.

    Args:
        gains: The gain of the document at each rank, 0 where it is not relevant.
        due: The gain of every relevant document, found or not, in any order; at least one above 0.
        k: How many ranks count.
        exponential: Whether gains count as 2**gain - 1.

    Example:
        >>> round(ndcg([0, 2], [2, 1], 10), 4)
        0.4796
    """
    ideal = sorted(due, reverse=True)
    return _dcg(gains[:k], exponential=exponential) / _dcg(ideal[:k], exponential=exponential)


def _dcg(gains: Iterable[int], *, exponential: bool) -> float:
    """Sum up the discounted gains."""
    return fsum((2**gain - 1 if exponential else gain) / log2(rank + 1) for rank, gain in enumerate(gains, 1) if gain)


def recall(hits: Sequence[bool], due: int, k: int | None = None) -> float:
    """Give the share of what was due that stands in the first k.

    Args:
        hits: Whether the document at each rank is one of those that were due.
        due: How many were due, at least 1.
        k: How many ranks count.

    Example:
        >>> recall([True, False, True], due=4, k=2)
        0.25
    """
    return sum(hits[:k]) / due


def precision(hits: Sequence[bool], k: int | None = None) -> float:
    """Give the share of hits among k ranks, also where fewer were filled; without k among the filled ones.

    Example:
        >>> precision([True, False], k=5), precision([True, False]), precision([])
        (0.2, 0.5, 0.0)
    """
    ranks = len(hits) if k is None else k
    return sum(hits[:k]) / ranks if ranks else 0.0


def reciprocal_rank(hits: Sequence[bool], k: int | None = None) -> float:
    """Give 1 / rank of the first hit, 0 where there is none in the first k.

    Example:
        >>> reciprocal_rank([False, True]), reciprocal_rank([False, True], k=1)
        (0.5, 0.0)
    """
    return next((1 / rank for rank, hit in enumerate(hits[:k], 1) if hit), 0.0)


def average_precision(hits: Sequence[bool], due: int, k: int | None = None) -> float:
    """Give the sum of the precision at each hit of the first k, divided by how many were due (trec_eval's map).

    Example:
        >>> round(average_precision([True, False, True], due=2), 4)
        0.8333
    """
    ranks = [rank for rank, hit in enumerate(hits[:k], 1) if hit]
    return fsum(found / rank for found, rank in enumerate(ranks, 1)) / due


def common_order(walked: Sequence[object], due: Sequence[object]) -> int:
    """Give the length of the longest common subsequence: how many stand in both in the same order.

    Example:
        >>> common_order("xabyc", "acb")
        2
    """
    lengths = [0] * (len(due) + 1)
    for step in walked:
        diagonal = 0
        for place, wanted in enumerate(due, 1):
            above = lengths[place]
            lengths[place] = diagonal + 1 if step == wanted else max(above, lengths[place - 1])
            diagonal = above
    return lengths[-1]
