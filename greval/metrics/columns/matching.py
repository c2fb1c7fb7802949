"""Matching of rankings with judged documents, and detection of repeated documents, a block of questions at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greval.metrics.columns.chunked_array import RANK_BITS, Ints
from greval.metrics.columns.grouping import GroupedDocuments, iterate_blocks
from greval.metrics.columns.id_join import JUDGED_OFFSET, DocumentRanges, find_equal_pairs
from greval.metrics.columns.text_chunks import BLOCK_ROWS

BATCH_ROWS = 8 * BLOCK_ROWS
"""Documents matched at once: hits are few, so that larger blocks save the fixed cost of each step."""


@dataclass(frozen=True)
class JudgedMatches:
    """The judged documents that occur in rankings.

    Args:
        questions: The question of each match, as an index into the rankings; ascending.
        places: The position of each match among the question's distinct documents, from 0. Ascending within a question.
        gold: The qrels row of each match.
        depths: The number of distinct documents of each question.
    """

    questions: Ints
    places: Ints
    gold: Ints
    depths: Ints


def match_judged(ranked: GroupedDocuments, gold: GroupedDocuments, qrels_places: Ints) -> JudgedMatches:
    """Find the judged documents in rankings.

    Args:
        ranked: The rankings.
        gold: The judged documents.
        qrels_places: The index of each ranked question among the judged ones, -1 if it is not judged.
    """
    due = (
        np.where(qrels_places < 0, 0, gold.lengths[qrels_places])
        if len(gold.names)
        else np.zeros(len(qrels_places), np.intp)
    )
    parts = []
    for first, last in iterate_blocks(ranked.lengths, BATCH_ROWS):
        some = slice(first, last)
        judged = DocumentRanges(gold, gold.starts[qrels_places[some]], due[some], gold.needs_full_hashes)
        parts.append(
            _match_block(DocumentRanges.from_questions(ranked, some, whole=gold.needs_full_hashes), judged, first)
        )
    none = np.empty(0, np.int32)
    return JudgedMatches(
        np.concatenate([none, *(part.questions for part in parts)]),
        np.concatenate([none, *(part.places for part in parts)]),
        np.concatenate([none, *(part.gold for part in parts)]),
        np.concatenate([none, *(part.depths for part in parts)]),
    )


def _match_block(ranked: DocumentRanges, judged: DocumentRanges, question: int) -> JudgedMatches:
    """Find the judged documents in a block of questions; `question` is the index of its first one."""
    pairs = find_equal_pairs(ranked, judged)
    again, hit = pairs.right < JUDGED_OFFSET, pairs.right >= JUDGED_OFFSET
    which, local, gold = _sort_matches(pairs.questions[hit], pairs.first[hit], pairs.right[hit] - JUDGED_OFFSET)
    if again.any():
        offsets = np.cumsum(ranked.lengths) - ranked.lengths
        repeated = np.sort(offsets[pairs.questions[again]] + pairs.right[again])
        starts = offsets[which]
        local -= np.searchsorted(repeated, starts + local) - np.searchsorted(repeated, starts)
    depths = ranked.lengths - np.bincount(pairs.questions[again], minlength=len(ranked.lengths))
    found = which + question, local, judged.starts[which] + gold, depths
    return JudgedMatches(*(column.astype(np.int32) for column in found))


def _sort_matches(questions: Ints, places: Ints, gold: Ints) -> tuple[Ints, Ints, Ints]:
    """Sort matches by their positions; they already are in the order of questions."""
    order = np.argsort(questions << RANK_BITS | places, kind="stable")  # fast, because the matches are nearly sorted
    return questions[order], places[order], gold[order]


def find_repeats(documents: DocumentRanges) -> Ints:
    """Return the positions of documents that occur earlier in the same question."""
    none = DocumentRanges(documents.grouped, documents.starts, np.zeros_like(documents.lengths), documents.whole)
    pairs = find_equal_pairs(documents, none)
    return np.sort(documents.starts[pairs.questions] + pairs.right)
