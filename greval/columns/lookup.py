"""Judged documents looked up in dictionaries of scores: only they are looked at, the others are only counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from greval.columns.qrels import Qrels
from greval.columns.stretches import Flags, Ints, spans
from greval.errors import DataError

Floats = npt.NDArray[np.float64]
Scores = Mapping[str, float]


def lookups(rankings: Sequence[Scores], qrels: Qrels, of: Ints, *, by_name: bool) -> tuple[Ints, Ints, Ints, Ints]:
    """Find the judged documents in rankings.

    Args:
        rankings: The scores of each question's documents.
        qrels: The judged documents.
        of: The place of each question in the qrels, -1 where it is not there.
        by_name: Put documents with the same score in falling order of their ids, else as they are given.

    Returns:
        The question, the rank and the judged place of each find; the number of documents of each question.

    Raises:
        DataError: Where a score is no number.
    """
    depths = np.fromiter(map(len, rankings), np.intp, len(rankings))
    starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(depths)])
    every = _flat(rankings, int(starts[-1]))
    questions, gold, scores = _found(rankings, qrels, of)
    _sort(every, starts)
    bounds = starts[questions], starts[questions + 1]
    above = _above(every, bounds, scores, equal=False)
    tied = np.flatnonzero(_above(every, bounds, scores, equal=True) - above > 1)
    ranks = above - bounds[0] + 1
    for n in tied.tolist():
        ranks[n] += _behind(rankings[questions[n]], qrels.documents[gold[n]], by_name=by_name)
    return questions, ranks, gold, depths


def _found(rankings: Sequence[Scores], qrels: Qrels, of: Ints) -> tuple[Ints, Ints, Floats]:
    """Give the question, the judged place and the score of each judged document that was retrieved."""
    documents, starts = qrels.documents, qrels.grouped.starts
    known = np.flatnonzero(of >= 0)
    looked = of[known]
    first, last = starts[looked].tolist(), starts[looked + 1].tolist()
    ranges = list(zip(known.tolist(), first, last, strict=True))
    got = [score for n, a, b in ranges for score in map(rankings[n].get, documents[a:b])]
    lengths = qrels.grouped.lengths[looked]
    there: Flags = np.fromiter((score is not None for score in got), np.bool_, len(got))
    scores = np.array(got, dtype=np.float64)[there]
    return np.repeat(known, lengths)[there], spans(starts[looked], lengths)[there], scores


def _flat(rankings: Sequence[Scores], count: int) -> Floats:
    """Give all scores, one question after the other."""
    values = chain.from_iterable(scores.values() for scores in rankings)
    try:
        flat = np.fromiter(values, np.float64, count)
    except (TypeError, ValueError) as error:
        message = f"scores must be numbers: {error}; leave documents without a score out"
        raise DataError(message) from error
    if np.isnan(flat).any():
        message = "a score is no number (NaN); leave documents without a score out"
        raise DataError(message)
    return flat


def _sort(every: Floats, starts: Ints) -> None:
    """Put the scores of each question in falling order, where they are not."""
    rises = every[1:] > every[:-1]
    inner = starts[1:-1]
    rises[inner[(inner > 0) & (inner < len(every))] - 1] = False
    wrong = np.unique(np.searchsorted(starts, np.flatnonzero(rises), side="right") - 1)
    for first, last in zip(starts[wrong].tolist(), starts[wrong + 1].tolist(), strict=True):
        every[first:last][::-1].sort()


def _above(every: Floats, bounds: tuple[Ints, Ints], scores: Floats, *, equal: bool) -> Ints:
    """Give, by bisection, how many places there are up to the last score that is higher (or equal)."""
    low, high = bounds[0], bounds[1]
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) // 2
        at = every[np.minimum(middle, len(every) - 1)]
        before = (at >= scores) if equal else (at > scores)
        going = low < high
        low, high = np.where(going & before, middle + 1, low), np.where(going & ~before, middle, high)
    return low


def _behind(scores: Scores, document: str, *, by_name: bool) -> int:
    """Give how many documents with the same score come before one."""
    score = scores[document]
    equals = [name for name, other in scores.items() if other == score]
    return sum(name > document for name in equals) if by_name else equals.index(document)
