"""Which documents of a ranking are judged, and which come again: some questions at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greval.metrics.columns.chunked_array import RANK_BITS, Ints
from greval.metrics.columns.grouping import Grouped, blocks
from greval.metrics.columns.id_join import JUDGED, Documents, equal_pairs
from greval.metrics.columns.text_chunks import BLOCK

BATCH = 8 * BLOCK
"""Documents whose finds are handled at once: they are few, and each step has its price."""


@dataclass(frozen=True)
class Found:
    """What rankings hold of the judged documents.

    Args:
        questions: The question of each find, by its place among the rankings; ascending.
        places: Its place among the question's documents, from 0; documents that come again are not counted.
            Ascending within a question.
        gold: The judged row.
        depths: How many different documents each question has.
    """

    questions: Ints
    places: Ints
    gold: Ints
    depths: Ints


def found_in(ranked: Grouped, gold: Grouped, of: Ints) -> Found:
    """Find the judged documents in rankings.

    Args:
        ranked: The rankings.
        gold: The judged documents.
        of: For each question of the rankings its place among the judged ones, -1 where it is not there.
    """
    due = np.where(of < 0, 0, gold.lengths[of]) if len(gold.names) else np.zeros(len(of), np.intp)
    parts = []
    for first, last in blocks(ranked.lengths, BATCH):
        some = slice(first, last)
        judged = Documents(gold, gold.starts[of[some]], due[some], gold.whole)
        parts.append(_found(Documents.of(ranked, some, whole=gold.whole), judged, first))
    none = np.empty(0, np.int32)
    return Found(
        np.concatenate([none, *(part.questions for part in parts)]),
        np.concatenate([none, *(part.places for part in parts)]),
        np.concatenate([none, *(part.gold for part in parts)]),
        np.concatenate([none, *(part.depths for part in parts)]),
    )


def _found(ranked: Documents, judged: Documents, question: int) -> Found:
    """Find the judged documents of some questions, the first of which stands at a place."""
    pairs = equal_pairs(ranked, judged)
    again, hit = pairs.right < JUDGED, pairs.right >= JUDGED
    which, local, gold = _ascending(pairs.questions[hit], pairs.first[hit], pairs.right[hit] - JUDGED)
    if again.any():
        offsets = np.cumsum(ranked.lengths) - ranked.lengths
        repeated = np.sort(offsets[pairs.questions[again]] + pairs.right[again])
        starts = offsets[which]
        local -= np.searchsorted(repeated, starts + local) - np.searchsorted(repeated, starts)
    depths = ranked.lengths - np.bincount(pairs.questions[again], minlength=len(ranked.lengths))
    found = which + question, local, judged.starts[which] + gold, depths
    return Found(*(column.astype(np.int32) for column in found))


def _ascending(questions: Ints, places: Ints, gold: Ints) -> tuple[Ints, Ints, Ints]:
    """Put finds in the order of their places; they stand by question."""
    order = np.argsort(questions << RANK_BITS | places, kind="stable")  # quick, as they nearly are
    return questions[order], places[order], gold[order]


def repeats(documents: Documents) -> Ints:
    """Give the places of the documents that their question has before."""
    none = Documents(documents.grouped, documents.starts, np.zeros_like(documents.lengths), documents.whole)
    pairs = equal_pairs(documents, none)
    return np.sort(documents.starts[pairs.questions] + pairs.right)
