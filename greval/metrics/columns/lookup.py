"""Judged documents looked up in dictionaries of scores: only they are looked at, the others are only counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from greval.metrics.columns.chunked_array import RANK_BITS, Ints, spans
from greval.metrics.columns.column_readers import numbers_in
from greval.metrics.columns.grouping import blocks
from greval.metrics.columns.qrels import Qrels

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
    parts = [
        _found(rankings[first:last], qrels, of[first:last], first, by_name=by_name) for first, last in blocks(depths)
    ]
    nothing = (np.empty(0, np.intp),) * 3
    questions, ranks, gold = map(np.concatenate, zip(nothing, *parts, strict=True))
    return questions, ranks, gold, depths


def _found(
    rankings: Sequence[Scores], qrels: Qrels, of: Ints, question: int, *, by_name: bool
) -> tuple[Ints, Ints, Ints]:
    """Find the judged documents in some rankings, the first of which is a question's."""
    depths = np.fromiter(map(len, rankings), np.intp, len(rankings))
    ends = np.cumsum(depths)
    starts = ends - depths
    every = numbers_in(chain.from_iterable(scores.values() for scores in rankings), int(depths.sum()), "score")
    questions, gold, scores = _looked_up(rankings, qrels, of)
    _sort(every, starts, ends)
    above = _above(every, starts[questions], ends[questions], scores)
    ranks = above - starts[questions] + 1
    follows = np.minimum(above + 1, len(every) - 1)
    tied = (every[follows] == scores) & (above + 1 < ends[questions])
    for n in np.flatnonzero(tied).tolist():
        ranks[n] += _behind(rankings[questions[n]], qrels.documents[gold[n]], by_name=by_name)
    order = np.argsort(questions << RANK_BITS | ranks, kind="stable")  # quick, as they nearly are in order
    return questions[order] + question, ranks[order], gold[order]


def _looked_up(rankings: Sequence[Scores], qrels: Qrels, of: Ints) -> tuple[Ints, Ints, Floats]:
    """Give the question, the judged place and the score of each judged document that was retrieved."""
    documents, known = qrels.documents, np.flatnonzero(of >= 0)
    starts, lengths = qrels.grouped.starts[of[known]], qrels.grouped.lengths[of[known]]
    slices = map(documents.__getitem__, map(slice, starts.tolist(), (starts + lengths).tolist()))
    gets = (rankings[n].get for n in known.tolist())
    got = chain.from_iterable(map(map, gets, slices, repeat(repeat(np.nan))))
    scores = np.fromiter(got, np.float64, int(lengths.sum()))
    there = ~np.isnan(scores)
    return np.repeat(known, lengths)[there], spans(starts, lengths)[there], scores[there]


def _sort(every: Floats, starts: Ints, ends: Ints) -> None:
    """Put the scores of each question in falling order, where they are not."""
    rises = every[1:] > every[:-1]
    inner = starts[(starts > 0) & (starts < len(every))]
    rises[inner - 1] = False
    wrong = np.unique(np.searchsorted(ends, np.flatnonzero(rises), side="right"))
    for first, last in zip(starts[wrong].tolist(), ends[wrong].tolist(), strict=True):
        every[first:last][::-1].sort()


def _above(every: Floats, starts: Ints, ends: Ints, scores: Floats) -> Ints:
    """Give the place of the first score of each range that is not higher than one, by bisection."""
    places = starts.copy()
    for bit in reversed(range(int((ends - starts).max(initial=0)).bit_length())):
        further = places + (1 << bit)
        higher = (every.take(further - 1, mode="clip") > scores) & (further <= ends)
        places += higher.astype(np.intp) << bit
    return places


def _behind(scores: Scores, document: str, *, by_name: bool) -> int:
    """Give how many documents with the same score come before one."""
    score = scores[document]
    equals = [name for name, other in scores.items() if other == score]
    return sum(name > document for name in equals) if by_name else equals.index(document)
