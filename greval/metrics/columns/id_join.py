"""Join of ranked and judged documents by id, a block of questions at a time.

Equal documents of a question are found by sorting their hashes. The hashes of a block of questions form a table with a
row for each question. The lowest bits of each hash are replaced by its position in the row, and sorting a row puts
equal hashes next to each other. Equal hashes are only candidates: the ids are then compared byte by byte. Rankings that
are dictionaries of scores need no join: the judged documents are looked up in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, repeat

import numpy as np
import numpy.typing as npt

from greval.metrics.columns.chunked_array import RANK_BITS, Flags, Ints, expand_ranges
from greval.metrics.columns.column_readers import convert_numbers
from greval.metrics.columns.grouping import GroupedDocuments, iterate_blocks
from greval.metrics.columns.text_column import BLOCK_ROWS, Words

JUDGED_OFFSET = 1 << 40
"""The offset of the positions of judged documents, so that they sort after the ranked ones."""
_FILL = np.uint64(2**64 - 1)
BATCH_ROWS = 8 * BLOCK_ROWS
"""Documents matched at once: hits are few, so that larger blocks save the fixed cost of each step."""
Floats = npt.NDArray[np.float64]
Scores = Mapping[str, float]


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
        """Return for each pair of documents of one question whether they are equal, byte by byte."""
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
    """Find equal documents of each question; ranked ones may be repeated, each judged one occurs once."""
    parts = [
        _find_equal_hashes(ranked.select(slice(first, last)), judged.select(slice(first, last)), first)
        for first, last in iterate_blocks(ranked.lengths + judged.lengths)
    ]
    pairs = EqualPairs.concatenate(parts)
    unequal = ~_compare_pairs(pairs, ranked, judged)
    if not unequal.any():
        return pairs
    doubtful = np.isin(pairs.chains, pairs.chains[unequal])
    resolved = _split_chains(pairs.select(doubtful), ranked, judged)
    return EqualPairs.concatenate([pairs.select(~doubtful), resolved])


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
        for same in equal.values():
            found += [(question, *pair, n == 0) for n, pair in enumerate(pairwise(same))]
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


@dataclass(frozen=True)
class Hits:
    """The judged documents that occur in rankings, by question and rank.

    Args:
        questions: The question of each hit, as an index into the rankings, or into the qrels; ascending.
        ranks: The rank of each hit among the question's distinct documents, from 1; ascending within a question.
        gold: The qrels row of each hit.
        depths: The number of distinct documents of each question; -1 if a question of the qrels has no ranking.
        unknown: The ranked questions that are not in the qrels.
    """

    questions: Ints
    ranks: Ints
    gold: Ints
    depths: Ints
    unknown: tuple[str, ...] = ()


def match_judged(ranked: GroupedDocuments, gold: GroupedDocuments, qrels_places: Ints) -> Hits:
    """Find the judged documents in rankings; `qrels_places` is -1 for a question that is not judged."""
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
    none = (np.empty(0, np.int32),) * 4
    questions, places, rows, depths = map(np.concatenate, zip(none, *parts, strict=True))
    return Hits(questions, places + 1, rows, depths)


def _match_block(ranked: DocumentRanges, judged: DocumentRanges, question: int) -> tuple[Ints, ...]:
    """Find the question, position and qrels row of each hit in a block, and the depths of its questions.

    `question` is the index of the first question of the block.
    """
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
    return tuple(column.astype(np.int32) for column in found)


def _sort_matches(questions: Ints, places: Ints, gold: Ints) -> tuple[Ints, Ints, Ints]:
    """Sort matches by their positions; they already are in the order of questions."""
    order = np.argsort(questions << RANK_BITS | places, kind="stable")  # fast, because the matches are nearly sorted
    return questions[order], places[order], gold[order]


def find_repeats(documents: DocumentRanges) -> Ints:
    """Return the positions of documents that occur earlier in the same question."""
    none = DocumentRanges(documents.grouped, documents.starts, np.zeros_like(documents.lengths), documents.whole)
    pairs = find_equal_pairs(documents, none)
    return np.sort(documents.starts[pairs.questions] + pairs.right)


def find_judged(rankings: Sequence[Scores], judged: GroupedDocuments, qrels_places: Ints, *, ties_by_id: bool) -> Hits:
    """Find the judged documents in dictionaries of scores; ties keep their order or are ranked by falling id.

    Raises:
        DataError: If a score is not a number.
    """
    depths = np.fromiter(map(len, rankings), np.intp, len(rankings))
    parts = [
        _find_in_block(rankings[first:last], judged, qrels_places[first:last], first, ties_by_id=ties_by_id)
        for first, last in iterate_blocks(depths)
    ]
    nothing = (np.empty(0, np.intp),) * 3
    questions, ranks, gold = map(np.concatenate, zip(nothing, *parts, strict=True))
    return Hits(questions, ranks, gold, depths)


def _find_in_block(
    rankings: Sequence[Scores], judged: GroupedDocuments, qrels_places: Ints, question: int, *, ties_by_id: bool
) -> tuple[Ints, Ints, Ints]:
    """Find the judged documents in a block of rankings; `question` is the index of its first one."""
    depths = np.fromiter(map(len, rankings), np.intp, len(rankings))
    ends = np.cumsum(depths)
    starts = ends - depths
    every = convert_numbers(chain.from_iterable(scores.values() for scores in rankings), int(depths.sum()), "score")
    questions, gold, scores = _look_up(rankings, judged, qrels_places)
    _sort_scores(every, starts, ends)
    above = _bisect_scores(every, starts[questions], ends[questions], scores)
    ranks = above - starts[questions] + 1
    follows = np.minimum(above + 1, len(every) - 1)
    tied = (every[follows] == scores) & (above + 1 < ends[questions])
    for n in np.flatnonzero(tied).tolist():
        ranks[n] += _count_ties_before(rankings[questions[n]], judged.ids[gold[n]], ties_by_id=ties_by_id)
    order = np.argsort(questions << RANK_BITS | ranks, kind="stable")  # fast, because the hits are nearly sorted
    return questions[order] + question, ranks[order], gold[order]


def _look_up(rankings: Sequence[Scores], judged: GroupedDocuments, qrels_places: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the question, the qrels row and the score of each judged document that was retrieved."""
    documents, known = judged.ids, np.flatnonzero(qrels_places >= 0)
    starts, lengths = judged.starts[qrels_places[known]], judged.lengths[qrels_places[known]]
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
