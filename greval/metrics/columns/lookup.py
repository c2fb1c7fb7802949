"""Look-up of judged documents in dictionaries of scores.

Only the judged documents are looked up; of the others only the scores are read, to count those ranked higher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from greval.metrics.columns.chunked_array import RANK_BITS, Ints, expand_ranges
from greval.metrics.columns.column_readers import convert_numbers
from greval.metrics.columns.grouping import iterate_blocks
from greval.metrics.columns.qrels import Qrels

Floats = npt.NDArray[np.float64]
Scores = Mapping[str, float]


def find_judged(
    rankings: Sequence[Scores], qrels: Qrels, qrels_places: Ints, *, ties_by_id: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    """Find the judged documents in rankings.

    Args:
        rankings: The scores of each question's documents.
        qrels: The judged documents.
        qrels_places: The index of each question in the qrels, -1 if it is not in them.
        ties_by_id: Whether ties are ranked by falling id; otherwise they keep the order of the dictionary.

    Returns:
        The question, the rank and the qrels row of each hit, and the number of documents of each question.

    Raises:
        DataError: If a score is not a number.
    """
    depths = np.fromiter(map(len, rankings), np.intp, len(rankings))
    parts = [
        _find_in_block(rankings[first:last], qrels, qrels_places[first:last], first, ties_by_id=ties_by_id)
        for first, last in iterate_blocks(depths)
    ]
    nothing = (np.empty(0, np.intp),) * 3
    questions, ranks, gold = map(np.concatenate, zip(nothing, *parts, strict=True))
    return questions, ranks, gold, depths


def _find_in_block(
    rankings: Sequence[Scores], qrels: Qrels, qrels_places: Ints, question: int, *, ties_by_id: bool
) -> tuple[Ints, Ints, Ints]:
    """Find the judged documents in a block of rankings; `question` is the index of its first one."""
    depths = np.fromiter(map(len, rankings), np.intp, len(rankings))
    ends = np.cumsum(depths)
    starts = ends - depths
    every = convert_numbers(chain.from_iterable(scores.values() for scores in rankings), int(depths.sum()), "score")
    questions, gold, scores = _look_up(rankings, qrels, qrels_places)
    _sort_scores(every, starts, ends)
    above = _bisect_scores(every, starts[questions], ends[questions], scores)
    ranks = above - starts[questions] + 1
    follows = np.minimum(above + 1, len(every) - 1)
    tied = (every[follows] == scores) & (above + 1 < ends[questions])
    for n in np.flatnonzero(tied).tolist():
        ranks[n] += _count_ties_before(rankings[questions[n]], qrels.documents[gold[n]], ties_by_id=ties_by_id)
    order = np.argsort(questions << RANK_BITS | ranks, kind="stable")  # fast, because the hits are nearly sorted
    return questions[order] + question, ranks[order], gold[order]


def _look_up(rankings: Sequence[Scores], qrels: Qrels, qrels_places: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the question, the qrels row and the score of each judged document that was retrieved."""
    documents, known = qrels.documents, np.flatnonzero(qrels_places >= 0)
    starts, lengths = qrels.grouped.starts[qrels_places[known]], qrels.grouped.lengths[qrels_places[known]]
    slices = map(documents.__getitem__, map(slice, starts.tolist(), (starts + lengths).tolist()))
    gets = (rankings[n].get for n in known.tolist())
    got = chain.from_iterable(map(map, gets, slices, repeat(repeat(np.nan))))
    scores = np.fromiter(got, np.float64, int(lengths.sum()))
    there = ~np.isnan(scores)
    return np.repeat(known, lengths)[there], expand_ranges(starts, lengths)[there], scores[there]


def _sort_scores(every: Floats, starts: Ints, ends: Ints) -> None:
    """Sort the scores of each question in falling order, in place; sorted questions are skipped."""
    rises = every[1:] > every[:-1]
    inner = starts[(starts > 0) & (starts < len(every))]
    rises[inner - 1] = False
    wrong = np.unique(np.searchsorted(ends, np.flatnonzero(rises), side="right"))
    for first, last in zip(starts[wrong].tolist(), ends[wrong].tolist(), strict=True):
        every[first:last][::-1].sort()


def _bisect_scores(every: Floats, starts: Ints, ends: Ints, scores: Floats) -> Ints:
    """Return the position of the first score in each range that is not above the given score, by bisection."""
    places = starts.copy()
    for bit in reversed(range(int((ends - starts).max(initial=0)).bit_length())):
        further = places + (1 << bit)
        higher = (every.take(further - 1, mode="clip") > scores) & (further <= ends)
        places += higher.astype(np.intp) << bit
    return places


def _count_ties_before(scores: Scores, document: str, *, ties_by_id: bool) -> int:
    """Count the documents with the same score that are ranked before a document."""
    score = scores[document]
    equals = [name for name, other in scores.items() if other == score]
    return sum(name > document for name in equals) if ties_by_id else equals.index(document)
