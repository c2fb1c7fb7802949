"""Which documents of a ranking are judged: by hashes, a block at a time, and then by the texts themselves.

No hash decides anything: rows whose hashes are equal are compared byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from greval.columns.grouping import Grouped
from greval.columns.stretches import Flags, Ints, spans
from greval.columns.texts import Words

_SLOT_BITS = 17
_SLOTS = 1 << _SLOT_BITS
_SHIFT = np.uint64(64 - _SLOT_BITS)
_SALT = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Block:
    """Some questions' documents.

    Args:
        grouped: All rows.
        first: The first question.
        last: The question after the last.
        hashes: The hashes of all documents, where they are known.
        whole: Whether whole ids are hashed.
    """

    grouped: Grouped
    first: int
    last: int
    hashes: Words | None = None
    whole: bool = True

    @property
    def span(self) -> slice:
        """The places of its documents."""
        return slice(int(self.grouped.starts[self.first]), int(self.grouped.starts[self.last]))

    @cached_property
    def lengths(self) -> Ints:
        """How many documents each question has."""
        return self.grouped.lengths[self.first : self.last]

    @property
    def offsets(self) -> Ints:
        """Where each question's documents begin, counted from the block's first."""
        offsets: Ints = self.grouped.starts[self.first : self.last] - self.span.start
        return offsets

    @cached_property
    def questions(self) -> Ints:
        """The question of each document, counted from the block's first."""
        return np.repeat(np.arange(self.last - self.first), self.lengths)

    @cached_property
    def keys(self) -> Words:
        """A number for each pair of question and document; equal pairs have equal numbers."""
        if self.hashes is None:
            hashes = self.grouped.documents.hashes(self.grouped.rows(self.span), whole=self.whole)
        else:
            hashes = self.hashes[self.span]
        salts = np.arange(1, self.last - self.first + 1, dtype=np.uint64) * _SALT
        keys: Words = hashes + np.repeat(salts, self.lengths)
        return keys

    @cached_property
    def slots(self) -> Ints:
        """Where each key belongs in a table of marks."""
        return (self.keys >> _SHIFT).astype(np.intp)


@dataclass(frozen=True)
class Found:
    """What a block of rankings holds of the judged documents.

    Args:
        questions: The question of each find, by its place among the rankings.
        places: Its place among the question's documents, from 0; documents that come again are not counted.
        gold: The judged row.
        depths: How many different documents each question of the block has.
    """

    questions: Ints
    places: Ints
    gold: Ints
    depths: Ints


class Matcher:
    """Finds the judged documents in rankings.

    Args:
        gold: The judged documents.
        of: For each question of the rankings its place among the judged ones, -1 where it is not there.
    """

    def __init__(self, gold: Grouped, of: Ints) -> None:
        self._gold = gold
        self._of = of
        self._table = np.zeros(_SLOTS, dtype=np.int32)
        self._owners = Owners()

    def find(self, block: Block) -> Found:
        """Find the judged documents of a block."""
        keys = block.keys
        slots = block.slots
        local, gold, which = self._candidates(block, keys, slots)
        ranked, judged = block.grouped.rows_at(local + block.span.start), self._gold.rows_at(gold)
        equal = block.grouped.documents.same(ranked, self._gold.documents, judged)
        equal &= which == block.questions[local]
        local, gold, which = local[equal], gold[equal], which[equal]
        offsets = block.offsets
        places, depths = local - offsets[which], block.lengths
        repeated = repeats(block, self._owners)
        if repeated is not None:
            before = np.concatenate([[0], np.cumsum(repeated)])
            kept = ~repeated[local]
            places = places - (before[local] - before[offsets[which]])
            places, gold, which = places[kept], gold[kept], which[kept]
            depths = depths - (before[offsets + block.lengths] - before[offsets])
        return Found(which + block.first, places, gold, depths)

    def _candidates(self, block: Block, keys: Words, slots: Ints) -> tuple[Ints, Ints, Ints]:
        """Give pairs of a place in the block and a judged row whose keys are equal, and the judged one's question."""
        judged, questions = self._judged(block)
        wanted = self._gold.hashes[judged] + (questions + 1).astype(np.uint64) * _SALT
        marks = (wanted >> _SHIFT).astype(np.intp)
        numbers = np.arange(1, len(wanted) + 1, dtype=np.int32)
        self._table[marks] = numbers
        owners = self._table.take(slots)
        holders = self._table.take(marks)
        lost = np.flatnonzero(holders != numbers)
        self._table[marks] = 0
        maybe = np.flatnonzero(owners > 0)
        owned, asked = owners[maybe] - 1, keys[maybe]
        equal = np.flatnonzero(wanted[owned] == asked)
        local, found = maybe[equal], owned[equal]
        if len(lost):  # several judged documents have one slot: the others are sought one by one
            crowded = np.zeros(len(wanted), np.bool_)
            crowded[holders[lost] - 1] = True
            some = np.flatnonzero(crowded[owned])
            at, more = _joined(asked[some], wanted[lost])
            local, found = np.concatenate([local, maybe[some[at]]]), np.concatenate([found, lost[more]])
            order = np.argsort(local, kind="stable")
            local, found = local[order], found[order]
        return local, judged[found], questions[found]

    def _judged(self, block: Block) -> tuple[Ints, Ints]:
        """Give the judged places of the block's questions, and the question of each, counted from the block's first."""
        of = self._of[block.first : block.last]
        known = np.flatnonzero(of >= 0)
        starts, lengths = self._gold.starts[of[known]], self._gold.lengths[of[known]]
        return spans(starts, lengths), np.repeat(known, lengths)


def _joined(keys: Words, wanted: Words) -> tuple[Ints, Ints]:
    """Give all pairs of places in two arrays that hold the same number."""
    order = np.argsort(wanted)
    ascending = wanted[order]
    left = np.searchsorted(ascending, keys, side="left")
    times = np.searchsorted(ascending, keys, side="right") - left
    return np.repeat(np.arange(len(keys)), times), order[spans(left, times)]


class Owners:
    """Tells quickly whether a block may hold a key twice: each row takes a slot of a table, the last one keeps it."""

    def __init__(self) -> None:
        self._table = np.zeros(_SLOTS, dtype=np.int32)

    def contested(self, keys: Words, slots: Ints) -> bool:
        """Tell whether any key comes twice."""
        rows = np.arange(len(keys), dtype=np.int32)
        self._table[slots] = rows
        winners = self._table.take(slots)
        lost = np.flatnonzero(winners != rows)
        losers = np.sort(keys[lost])
        return bool((keys[lost] == keys[winners[lost]]).any() or (losers[1:] == losers[:-1]).any())


def repeats(block: Block, owners: Owners) -> Flags | None:
    """Mark the documents that a question has named before; None where there are none.

    Args:
        block: The questions.
        owners: A table to look with.
    """
    keys = block.keys
    if not owners.contested(keys, block.slots):
        return None
    order = np.argsort(keys, kind="stable")
    alike = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    first, second = order[alike], order[alike + 1]
    rows = [block.grouped.rows_at(side + block.span.start) for side in (first, second)]
    documents, questions = block.grouped.documents, block.questions
    equal = documents.same(rows[0], documents, rows[1]) & (questions[first] == questions[second])
    marks = np.zeros(len(keys), dtype=np.bool_)
    marks[second[equal]] = True
    if not equal.all():  # different documents with one hash: they may stand between equal ones
        _mark_one_by_one(block, np.unique(np.concatenate([first, second])), marks)
    return marks


def _mark_one_by_one(block: Block, doubtful: Ints, marks: Flags) -> None:
    """Mark the repeated ones of some documents by their texts."""
    names = block.grouped.documents.read(block.grouped.rows_at(doubtful + block.span.start))
    seen: set[tuple[int, str]] = set()
    for place, pair in zip(doubtful.tolist(), zip(block.questions[doubtful].tolist(), names, strict=True), strict=True):
        marks[place] = pair in seen
        seen.add(pair)
