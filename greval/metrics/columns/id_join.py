"""Join of ranked and judged documents by id: equal documents of a question are found by sorting their hashes.

The hashes of a block of questions form a table with a row for each question. The lowest bits of each hash are
replaced by its position in the row, and sorting a row puts equal hashes next to each other. Equal hashes are only
candidates: the ids are then compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from greval.metrics.columns.chunked_array import Flags, Ints, expand_ranges
from greval.metrics.columns.grouping import GroupedDocuments, iterate_blocks
from greval.metrics.columns.text_chunks import Words

JUDGED_OFFSET = 1 << 40
"""The offset of the positions of judged documents, so that they sort after the ranked ones."""
_FILL = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class DocumentRanges:
    """The documents of a block of questions.

    Args:
        grouped: All documents.
        starts: The position of the first document of each question.
        lengths: The number of documents of each question.
        whole: Whether whole ids are hashed, or only their last eight bytes.
    """

    grouped: GroupedDocuments
    starts: Ints
    lengths: Ints
    whole: bool

    @classmethod
    def from_questions(cls, grouped: GroupedDocuments, some: slice, *, whole: bool) -> DocumentRanges:
        """Return the documents of a range of questions."""
        return cls(grouped, grouped.starts[:-1][some], grouped.lengths[some], whole)

    def select(self, some: slice) -> DocumentRanges:
        """Return the documents of some of the questions."""
        return DocumentRanges(self.grouped, self.starts[some], self.lengths[some], self.whole)

    @cached_property
    def width(self) -> int:
        """The highest number of documents of any question."""
        return int(self.lengths.max(initial=0))

    def compute_hashes(self) -> Words:
        """Return the hashes of all documents, question by question."""
        filled = self.lengths > 0
        starts, lengths = self.starts[filled], self.lengths[filled]
        if len(starts) and bool(np.all(starts[1:] == starts[:-1] + lengths[:-1])):
            places: slice | Ints = slice(int(starts[0]), int(starts[-1] + lengths[-1]))
        else:
            places = expand_ranges(starts, lengths)
        return self.grouped.documents.compute_hashes(self.grouped.select_rows(places), whole=self.whole)

    def select_rows(self, questions: Ints, places: Ints) -> Ints:
        """Return the rows of documents by question and position."""
        return self.grouped.select_row_numbers(self.starts[questions] + places)

    def compare(self, questions: Ints, places: Ints, other: DocumentRanges, others: Ints) -> Flags:
        """Return for each pair of documents of one question whether they are equal, byte by byte.

        Args:
            questions: The question of each pair.
            places: The position of the first document of each pair, in this block.
            other: The block that holds the second documents.
            others: The positions of the second documents.
        """
        ours, theirs = self.select_rows(questions, places), other.select_rows(questions, others)
        return self.grouped.documents.compare(ours, other.grouped.documents, theirs)

    def read_ids(self, question: int, places: list[int]) -> list[str]:
        """Return the ids of some documents of a question."""
        chosen = np.array(places, dtype=np.intp)
        return self.grouped.documents.read(self.select_rows(np.full(len(chosen), question), chosen))


@dataclass(frozen=True)
class EqualPairs:
    """Pairs of documents of a question whose hashes are equal: each document with the next one in sorted order.

    Positions from `JUDGED_OFFSET` on are those of judged documents. All documents with the same hash form a chain. The
    pairs of a chain follow each other, in the order of the positions.

    Args:
        questions: The question of each pair.
        left: The position of the first document of each pair.
        right: The position of the second document of each pair.
        fresh: Whether a pair is the first of its chain.
    """

    questions: Ints
    left: Ints
    right: Ints
    fresh: Flags

    @cached_property
    def chains(self) -> Ints:
        """The chain number of each pair."""
        chains: Ints = np.cumsum(self.fresh) - 1
        return chains

    @property
    def first(self) -> Ints:
        """The first position in the chain of each pair."""
        if self.fresh.all():
            return self.left
        return self.left[self.fresh][self.chains]

    def select(self, which: Flags) -> EqualPairs:
        """Return the pairs that a mask selects; the mask must select whole chains."""
        return EqualPairs(self.questions[which], self.left[which], self.right[which], self.fresh[which])

    @staticmethod
    def concatenate(parts: Sequence[EqualPairs]) -> EqualPairs:
        """Concatenate pairs; `parts` must not be empty."""
        return EqualPairs(
            np.concatenate([part.questions for part in parts]),
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.fresh for part in parts]),
        )

    def iterate_chains(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the question of each chain and the positions of its documents."""
        edges = np.append(np.flatnonzero(self.fresh), len(self.left)).tolist()
        for first, last in pairwise(edges):
            yield int(self.questions[first]), [int(self.left[first]), *self.right[first:last].tolist()]


def find_equal_pairs(ranked: DocumentRanges, judged: DocumentRanges) -> EqualPairs:
    """Find equal documents among the ranked and judged ones of each question; all documents of a chain are equal.

    Args:
        ranked: The ranked documents, which may be repeated.
        judged: The judged documents, each of which occurs once.
    """
    parts = [
        _find_equal_hashes(ranked.select(slice(first, last)), judged.select(slice(first, last)), first)
        for first, last in iterate_blocks(ranked.lengths + judged.lengths)
    ]
    pairs = EqualPairs.concatenate(parts)
    unequal = ~_compare_pairs(pairs, ranked, judged)
    if not unequal.any():
        return pairs
    doubtful = np.isin(pairs.chains, pairs.chains[unequal])
    told = _split_chains(pairs.select(doubtful), ranked, judged)
    return EqualPairs.concatenate([pairs.select(~doubtful), told])


def _compare_pairs(pairs: EqualPairs, ranked: DocumentRanges, judged: DocumentRanges) -> Flags:
    """Return a mask of the pairs that are equal; two judged documents never are."""
    hit = (pairs.left < JUDGED_OFFSET) & (pairs.right >= JUDGED_OFFSET)
    if hit.all():  # as in rankings without repeated documents
        return ranked.compare(pairs.questions, pairs.left, judged, pairs.right - JUDGED_OFFSET)
    again, equal = pairs.right < JUDGED_OFFSET, np.zeros(len(hit), np.bool_)
    for some, other, first in ((again, ranked, 0), (hit, judged, JUDGED_OFFSET)):
        equal[some] = ranked.compare(pairs.questions[some], pairs.left[some], other, pairs.right[some] - first)
    return equal


def _split_chains(pairs: EqualPairs, ranked: DocumentRanges, judged: DocumentRanges) -> EqualPairs:
    """Split chains of different documents with the same hash into chains of equal documents, by their ids."""
    found = []
    for question, places in pairs.iterate_chains():
        own = [place for place in places if place < JUDGED_OFFSET]
        others = [place - JUDGED_OFFSET for place in places if place >= JUDGED_OFFSET]
        names = ranked.read_ids(question, own) + judged.read_ids(question, others)
        equal: dict[str, list[int]] = {}
        for name, place in zip(names, places, strict=True):
            equal.setdefault(name, []).append(place)
        for chain in equal.values():
            found += [(question, *pair, n == 0) for n, pair in enumerate(pairwise(chain))]
    columns = np.array(found, dtype=np.intp).reshape(-1, 4).T
    return EqualPairs(columns[0], columns[1], columns[2], columns[3].astype(np.bool_))


def _find_equal_hashes(ranked: DocumentRanges, judged: DocumentRanges, question: int) -> EqualPairs:
    """Find documents with equal hashes in a block of questions; `question` is the index of its first one."""
    table, low = _build_hash_table(ranked, judged)
    table.sort(axis=1)
    flat = table.ravel()
    near = np.zeros(len(flat), np.bool_)
    np.less_equal(flat[1:] ^ flat[:-1], low, out=near[:-1])
    near.reshape(table.shape)[:, -1] = False
    at = np.flatnonzero(near)
    right = (flat[at + 1] & low).view(np.int64)
    if len(at) and int(right.max()) == low:
        at, right = at[right < low], right[right < low]  # without the fill
    left = (flat[at] & low).view(np.int64)
    fresh = np.ones(len(at), np.bool_)
    fresh[1:] = at[1:] - at[:-1] > 1
    for side in (left, right):
        side[side >= ranked.width] += JUDGED_OFFSET - ranked.width
    return EqualPairs(at // table.shape[1] + question, left, right, fresh)


def _build_hash_table(ranked: DocumentRanges, judged: DocumentRanges) -> tuple[Words, np.uint64]:
    """Return hashes by question, with the position of each in its lowest bits, and the mask of these bits."""
    width = max(1, ranked.width + judged.width)
    low = np.uint64((1 << width.bit_length()) - 1)
    table = np.empty((len(ranked.lengths), width), np.uint64)
    _fill_hashes(table[:, : ranked.width], ranked, low)
    _fill_hashes(table[:, ranked.width :], judged, low)
    table |= np.arange(width, dtype=np.uint64)
    return table, low


def _fill_hashes(table: Words, documents: DocumentRanges, low: np.uint64) -> None:
    """Write hashes into a table; shorter rows are padded with a value that sorts last."""
    hashes = documents.compute_hashes()
    if len(hashes) == table.size:
        np.bitwise_and(hashes.reshape(table.shape), ~low, out=table)
    else:
        table[:] = _FILL
        table[np.arange(table.shape[1]) < documents.lengths[:, None]] = hashes & ~low
