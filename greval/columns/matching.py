"""Which documents of a ranking are judged: by hashes, a block at a time, and then by the texts themselves.

No hash decides anything: rows whose hashes are equal are compared byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from greval.columns.grouping import Grouped
from greval.columns.index import Index
from greval.columns.stretches import Flags, Ints, spans
from greval.columns.texts import Words

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
        self._index = Index()

    def find(self, block: Block) -> Found:
        """Find the judged documents of a block."""
        judged, questions = self._judged(block)
        wanted = self._gold.hashes[judged] + (questions + 1).astype(np.uint64) * _SALT
        local, at, twice = self._index.find(block.keys, wanted)
        gold, which = judged[at], questions[at]
        places = local - block.offsets[which]
        mine = self._equal(block, local, gold) & (places >= 0) & (places < block.lengths[which])
        order = np.flatnonzero(mine)
        order = order[np.argsort(local[order])]
        places, gold, which = places[order], gold[order], which[order]
        depths = block.lengths
        repeated = repeats(block) if twice else None
        if repeated is not None:
            local, offsets = local[order], block.offsets
            before = np.concatenate([[0], np.cumsum(repeated)])
            kept = ~repeated[local]
            places = places - (before[local] - before[offsets[which]])
            places, gold, which = places[kept], gold[kept], which[kept]
            depths = depths - (before[offsets + block.lengths] - before[offsets])
        return Found(which + block.first, places, gold, depths)

    def _equal(self, block: Block, local: Ints, gold: Ints) -> Flags:
        """Tell which documents of the block are the judged ones, for their keys are equal."""
        ranked, judged = block.grouped.rows_at(local + block.span.start), self._gold.rows_at(gold)
        return block.grouped.documents.same(ranked, self._gold.documents, judged, ends=not block.whole)

    def _judged(self, block: Block) -> tuple[Ints, Ints]:
        """Give the judged places of the block's questions, and the question of each, counted from the block's first."""
        of = self._of[block.first : block.last]
        known = np.flatnonzero(of >= 0)
        starts, lengths = self._gold.starts[of[known]], self._gold.lengths[of[known]]
        return spans(starts, lengths), np.repeat(known, lengths)


def repeats(block: Block) -> Flags:
    """Mark the documents that a question has named before.

    Args:
        block: The questions.
    """
    keys = block.keys
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
