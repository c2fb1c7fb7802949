"""Formulas of ranked retrieval: pure functions of the gain or hit at each rank and of the relevant documents.

Each document occurs in a ranking at most once. If `k` is None, the whole ranking counts. Linear gains and
the discount log2(rank + 1) are those of Järvelin and Kekäläinen (2002) as implemented in trec_eval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum, log2


def ndcg(gains: Sequence[float], due: Iterable[float], k: int | None = None, *, exponential: bool = False) -> float:
    """Return the normalised discounted cumulative gain: DCG / ideal DCG, each over the first k ranks.

    DCG is the sum of gain / log2(rank + 1); with `exponential` the numerator is 2**gain - 1.

    Args:
        gains: The gain of the document at each rank, 0 if it is not relevant.
        due: The gain of every relevant document, retrieved or not, in any order; at least one must be above 0.
        k: The number of ranks that count, None for all.
        exponential: Whether the numerator is 2**gain - 1 instead of the gain.

    Returns:
        A value of at most 1. It is 1 if the first k documents are in an ideal order.

    Example:
        >>> round(ndcg([0, 2], [2, 1], 10), 4)
        0.4796
    """
    ideal = sorted(due, reverse=True)
    return _dcg(gains[:k], exponential=exponential) / _dcg(ideal[:k], exponential=exponential)


def _dcg(gains: Iterable[float], *, exponential: bool) -> float:
    return fsum((2**gain - 1 if exponential else gain) / log2(rank + 1) for rank, gain in enumerate(gains, 1) if gain)


def recall(hits: Sequence[bool], due: int, k: int | None = None) -> float:
    """Return the share of relevant documents among the first k ranks: hits in the first k / number of relevant ones.

    Args:
        hits: Whether the document at each rank is relevant.
        due: The number of relevant documents, at least 1.
        k: The number of ranks that count, None for all.

    Example:
        >>> recall([True, False, True], due=4, k=2)
        0.25
    """
    return sum(hits[:k]) / due


def precision(hits: Sequence[bool], k: int | None = None) -> float:
    """Return the share of relevant documents in the first k ranks: hits in the first k / k.

    The denominator is k even if fewer documents were retrieved. If k is None, it is the number of retrieved
    documents. An empty ranking has precision 0.

    Example:
        >>> precision([True, False], k=5), precision([True, False]), precision([])
        (0.2, 0.5, 0.0)
    """
    ranks = len(hits) if k is None else k
    return sum(hits[:k]) / ranks if ranks else 0.0


def reciprocal_rank(hits: Sequence[bool], k: int | None = None) -> float:
    """Return 1 / rank of the first relevant document, 0 if the first k ranks hold no relevant document.

    Example:
        >>> reciprocal_rank([False, True]), reciprocal_rank([False, True], k=1)
        (0.5, 0.0)
    """
    return next((1 / rank for rank, hit in enumerate(hits[:k], 1) if hit), 0.0)


def average_precision(hits: Sequence[bool], due: int, k: int | None = None) -> float:
    """Return the average precision: the sum of the precision at the rank of each hit / number of relevant documents.

    Hits beyond the first k ranks count as 0. Without k this is `map` of trec_eval. `due` is at least 1.

    Example:
        >>> round(average_precision([True, False, True], due=2), 4)
        0.8333
    """
    ranks = [rank for rank, hit in enumerate(hits[:k], 1) if hit]
    return fsum(hit_count / rank for hit_count, rank in enumerate(ranks, 1)) / due


def lcs_length(walked: Sequence[object], expected: Sequence[object]) -> int:
    """Return the length of the longest common subsequence: the number of elements in the same order in both.

    Example:
        >>> lcs_length("xabyc", "acb")
        2
    """
    # One row of the usual table is enough: `diagonal` is the value above and one column to the left.
    lengths = [0] * (len(expected) + 1)
    for step in walked:
        diagonal = 0
        for column, element in enumerate(expected, 1):
            above = lengths[column]
            lengths[column] = diagonal + 1 if step == element else max(above, lengths[column - 1])
            diagonal = above
    return lengths[-1]
