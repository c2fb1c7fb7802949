"""Equal documents of a question, found by sorting its hashes: ranked ones that come again, and judged ones.

The hashes of some questions stand in a table, a row for each question; the lowest bits of each tell its
place in the row. Sorted rows have equal hashes side by side. No hash decides anything: what stands side by
side is compared byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from greval.metrics.columns.chunked_array import Flags, Ints, spans
from greval.metrics.columns.grouping import Grouped, blocks
from greval.metrics.columns.text_chunks import Words

JUDGED = 1 << 40
"""Added to the places of judged documents, so that they stand behind the ranked ones."""
_FILL = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Documents:
    """The documents of some questions.

    Args:
        grouped: All documents.
        starts: The place of the first one of each question.
        lengths: How many each question has.
        whole: Whether whole ids are hashed, or their ends alone.
    """

    grouped: Grouped
    starts: Ints
    lengths: Ints
    whole: bool

    @classmethod
    def of(cls, grouped: Grouped, some: slice, *, whole: bool) -> Documents:
        """Give the documents of a range of questions."""
        return cls(grouped, grouped.starts[:-1][some], grouped.lengths[some], whole)

    def some(self, some: slice) -> Documents:
        """Give those of some of the questions."""
        return Documents(self.grouped, self.starts[some], self.lengths[some], self.whole)

    @cached_property
    def width(self) -> int:
        """The highest number of documents of a question."""
        return int(self.lengths.max(initial=0))

    def hashes(self) -> Words:
        """Give the hashes, one question after the other."""
        filled = self.lengths > 0
        starts, lengths = self.starts[filled], self.lengths[filled]
        if len(starts) and bool(np.all(starts[1:] == starts[:-1] + lengths[:-1])):
            places: slice | Ints = slice(int(starts[0]), int(starts[-1] + lengths[-1]))
        else:
            places = spans(starts, lengths)
        return self.grouped.documents.hashes(self.grouped.rows(places), whole=self.whole)

    def rows(self, questions: Ints, places: Ints) -> Ints:
        """Give the rows of documents by question and place."""
        return self.grouped.rows_at(self.starts[questions] + places)

    def same(self, questions: Ints, places: Ints, other: Documents, others: Ints) -> Flags:
        """Tell for pairs of documents of one question whether they are equal, byte for byte.

        Args:
            questions: The questions.
            places: The places of the ones in them.
            other: Where the other ones are.
            others: Their places.
        """
        ours, theirs = self.rows(questions, places), other.rows(questions, others)
        return self.grouped.documents.same(ours, other.grouped.documents, theirs)

    def read(self, question: int, places: list[int]) -> list[str]:
        """Give the ids of some documents of a question."""
        chosen = np.array(places, dtype=np.intp)
        return self.grouped.documents.read(self.rows(np.full(len(chosen), question), chosen))


@dataclass(frozen=True)
class Pairs:
    """Documents of a question whose hashes are equal, each with the one before it.

    Places from `JUDGED` on are of judged ones. Those that all have one hash are a chain: its pairs stand one
    after the other, in the order of the places.

    Args:
        questions: The question of each pair.
        left: The place of one.
        right: The place of the other.
        fresh: Whether a pair is the first of its chain.
    """

    questions: Ints
    left: Ints
    right: Ints
    fresh: Flags

    @cached_property
    def chains(self) -> Ints:
        """The chain of each pair."""
        chains: Ints = np.cumsum(self.fresh) - 1
        return chains

    @property
    def first(self) -> Ints:
        """The first place of each pair's chain."""
        if self.fresh.all():
            return self.left
        return self.left[self.fresh][self.chains]

    def chosen(self, which: Flags) -> Pairs:
        """Give the pairs of some chains."""
        return Pairs(self.questions[which], self.left[which], self.right[which], self.fresh[which])

    @staticmethod
    def joined(parts: Sequence[Pairs]) -> Pairs:
        """Join pairs; there is one part at least."""
        return Pairs(
            np.concatenate([part.questions for part in parts]),
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.fresh for part in parts]),
        )

    def members(self) -> Iterator[tuple[int, list[int]]]:
        """Give the question of each chain and the places of its documents."""
        edges = np.append(np.flatnonzero(self.fresh), len(self.left)).tolist()
        for first, last in pairwise(edges):
            yield int(self.questions[first]), [int(self.left[first]), *self.right[first:last].tolist()]


def equal_pairs(ranked: Documents, judged: Documents) -> Pairs:
    """Find equal documents among the ranked and judged ones of each question: in each chain all are equal.

    Args:
        ranked: The ranked documents, which may come again.
        judged: The judged documents, each there once.
    """
    parts = [
        _alike(ranked.some(slice(first, last)), judged.some(slice(first, last)), first)
        for first, last in blocks(ranked.lengths + judged.lengths)
    ]
    pairs = Pairs.joined(parts)
    unequal = ~_equal(pairs, ranked, judged)
    if not unequal.any():
        return pairs
    doubtful = np.isin(pairs.chains, pairs.chains[unequal])
    told = _told_apart(pairs.chosen(doubtful), ranked, judged)
    return Pairs.joined([pairs.chosen(~doubtful), told])


def _equal(pairs: Pairs, ranked: Documents, judged: Documents) -> Flags:
    """Tell which pairs are equal; two judged ones are not."""
    hit = (pairs.left < JUDGED) & (pairs.right >= JUDGED)
    if hit.all():  # as in rankings without repeated documents
        return ranked.same(pairs.questions, pairs.left, judged, pairs.right - JUDGED)
    again, equal = pairs.right < JUDGED, np.zeros(len(hit), np.bool_)
    for some, other, first in ((again, ranked, 0), (hit, judged, JUDGED)):
        equal[some] = ranked.same(pairs.questions[some], pairs.left[some], other, pairs.right[some] - first)
    return equal


def _told_apart(pairs: Pairs, ranked: Documents, judged: Documents) -> Pairs:
    """Divide chains of different documents with one hash into chains of equal ones, by their ids."""
    found = []
    for question, places in pairs.members():
        own = [place for place in places if place < JUDGED]
        others = [place - JUDGED for place in places if place >= JUDGED]
        names = ranked.read(question, own) + judged.read(question, others)
        equal: dict[str, list[int]] = {}
        for name, place in zip(names, places, strict=True):
            equal.setdefault(name, []).append(place)
        for chain in equal.values():
            found += [(question, *pair, n == 0) for n, pair in enumerate(pairwise(chain))]
    columns = np.array(found, dtype=np.intp).reshape(-1, 4).T
    return Pairs(columns[0], columns[1], columns[2], columns[3].astype(np.bool_))


def _alike(ranked: Documents, judged: Documents, question: int) -> Pairs:
    """Find documents with equal hashes in some questions, the first of which stands at a place."""
    table, low = _table(ranked, judged)
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
        side[side >= ranked.width] += JUDGED - ranked.width
    return Pairs(at // table.shape[1] + question, left, right, fresh)


def _table(ranked: Documents, judged: Documents) -> tuple[Words, np.uint64]:
    """Put hashes by question, with the place of each as the lowest bits; give these bits too."""
    width = max(1, ranked.width + judged.width)
    low = np.uint64((1 << width.bit_length()) - 1)
    table = np.empty((len(ranked.lengths), width), np.uint64)
    _put(table[:, : ranked.width], ranked, low)
    _put(table[:, ranked.width :], judged, low)
    table |= np.arange(width, dtype=np.uint64)
    return table, low


def _put(table: Words, documents: Documents, low: np.uint64) -> None:
    """Put hashes into a table, and what sorts behind them where a question has fewer."""
    hashes = documents.hashes()
    if len(hashes) == table.size:
        np.bitwise_and(hashes.reshape(table.shape), ~low, out=table)
    else:
        table[:] = _FILL
        table[np.arange(table.shape[1]) < documents.lengths[:, None]] = hashes & ~low
