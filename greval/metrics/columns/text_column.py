"""Columns of texts stored as bytes: hashed, compared and read without a Python object for each row.

A column of ten million ids takes only the memory of its bytes and offsets. Hashes find candidates for equality; the
bytes decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from greval.metrics.columns.chunked_array import ChunkedArray, Flags, Ints, keep_freed_memory

Words = npt.NDArray[np.uint64]
Edges = npt.NDArray[np.integer[Any]]

WORD_BYTES = 8
BLOCK_ROWS = 65_536
"""Rows processed at once: their arrays fit into the processor's cache."""
_BYTE, _BITS, _WHOLE = np.uint64(3), np.uint64(8), np.uint64(64)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(WORD_BYTES + 1)], dtype=np.uint64)
MAX_GAPS = 4
"""Texts are decoded at once if they fill at least a fourth of the bytes between the first and the last."""
MIN_DISTINCT_ENDS = 0.99
"""The share of distinct texts that must have distinct ends for hashes of the ends to suffice."""
SAMPLE_ROWS = 8_192
"""The number of rows, evenly spaced over a column, from which this share is estimated."""


@dataclass(frozen=True, slots=True)
class TextBounds:
    """The start, the end and the length in bytes of some texts of a chunk."""

    starts: Edges
    ends: Edges
    lengths: Edges

    @property
    def longest(self) -> int:
        """The length in bytes of the longest text."""
        return int(self.lengths.max(initial=0))


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A chunk of a text column: text `n` is `data[edges[n]:edges[n + 1]]`; eight more bytes follow the last text."""

    edges: Edges
    data: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def find_bounds(self, rows: slice | Ints) -> TextBounds:
        """Return the bounds of some texts."""
        starts, ends = self.edges[:-1][rows], self.edges[1:][rows]
        return TextBounds(starts, ends, ends - starts)

    def read(self, rows: Ints) -> list[str]:
        """Return some texts as strings; ASCII texts that lie close together are decoded at once."""
        texts = self.find_bounds(rows)
        first, last = int(texts.starts.min(initial=len(self.data))), int(texts.ends.max(initial=0))
        if last - first <= MAX_GAPS * int(texts.lengths.sum()):
            joined = self.data[first:last].tobytes()
            if joined.isascii():
                text = joined.decode()
                return [
                    text[a:b]
                    for a, b in zip((texts.starts - first).tolist(), (texts.ends - first).tolist(), strict=True)
                ]
        view = self.data.data
        return [str(view[a:b], "utf-8") for a, b in zip(texts.starts.tolist(), texts.ends.tolist(), strict=True)]

    def read_piece(self, texts: TextBounds, number: int) -> Words:
        """Return eight bytes of each text by piece number: 0 the first, 1 the last, 2 and up those in between.

        Bytes that a text does not have are 0.
        Texts of the same length are equal if all their pieces are. Unlike words, pieces need a mask only for texts
        shorter than eight bytes, which makes them faster.
        """
        if number > 1:
            return self._read_inner_piece(texts, number - 1)
        short = np.flatnonzero(texts.lengths < WORD_BYTES)
        if number == 0:
            words = self._read_bytes(texts.starts)
            words[short] &= _MASKS.take(texts.lengths[short])
            return words
        starts = texts.ends - WORD_BYTES
        if len(short):
            starts = np.maximum(starts, 0)
        words = self._read_bytes(starts)
        words[short] = 0
        return words

    def _read_inner_piece(self, texts: TextBounds, place: int) -> Words:
        words: Words = np.zeros(len(texts.lengths), np.uint64)
        longer = np.flatnonzero(texts.lengths > WORD_BYTES * (place + 1))
        words[longer] = self._read_bytes(texts.starts[longer] + WORD_BYTES * place)
        return words

    def compute_hashes(self, rows: slice | Ints) -> Words:
        """Hash some texts: multiply each piece by an odd factor of its own and add up the products."""
        texts = self.find_bounds(rows)
        hashed = self.read_piece(texts, 0)
        hashed *= _compute_factor(0)
        for number in range(1, count_pieces(texts.longest)):
            words = self.read_piece(texts, number)
            words *= _compute_factor(number)
            hashed += words
        return hashed

    def compute_end_hashes(self, rows: slice | Ints) -> Words:
        """Hash some texts by their last eight bytes only."""
        words = self._read_ends_of_range(rows) if isinstance(rows, slice) else self._read_ends(rows)
        words *= _compute_factor(0)
        return words

    def _read_ends(self, rows: Ints) -> Words:
        """Return the last eight bytes of each text, or all bytes of a shorter one."""
        texts = self.find_bounds(rows)
        words = self._read_bytes(np.maximum(texts.ends - WORD_BYTES, texts.starts))
        short = np.flatnonzero(texts.lengths < WORD_BYTES)
        words[short] &= _MASKS.take(texts.lengths[short])
        return words

    def _read_ends_of_range(self, rows: slice) -> Words:
        """Return the same as `_read_ends` for a range of rows, from an aligned copy of their bytes.

        Eight bytes that begin anywhere are combined from two aligned words of the copy, which is faster than unaligned
        reads.
        """
        first, last = int(self.edges[rows.start]), int(self.edges[rows.stop])
        copied = np.zeros((last - first) // WORD_BYTES + 3, np.uint64)
        copied.view(np.uint8)[WORD_BYTES : WORD_BYTES + last - first] = self.data[first:last]
        places = self.edges[rows.start + 1 : rows.stop + 1].astype(np.int64)
        places -= first
        shifts = (places & (WORD_BYTES - 1)).view(np.uint64)
        shifts <<= _BYTE
        places >>= 3
        words = copied.take(places)
        words >>= shifts
        places += 1
        higher = copied.take(places)
        higher <<= _WHOLE - shifts  # a shift by all 64 bits leaves 0
        words |= higher
        lengths = self.find_bounds(rows).lengths
        short = np.flatnonzero(lengths < WORD_BYTES)
        words[short] >>= (WORD_BYTES - 1 - lengths[short]).astype(np.uint64) << _BYTE
        words[short] >>= _BITS
        return words

    def _read_bytes(self, starts: Edges) -> Words:
        """Return the eight bytes from each of the given offsets."""
        every: Words = np.ndarray((len(self.data) - WORD_BYTES + 1,), "<u8", self.data, strides=(1,))
        words: Words = every[starts]
        return words

    def find_changes(self) -> Iterator[Ints]:
        """Yield the rows that differ from the row before, a block at a time."""
        for start in range(0, len(self) - 1, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS + 1, len(self)))
            texts = self.find_bounds(rows)
            width = int(texts.lengths[0])
            if width and (texts.lengths == width).all():  # fast path: compare bytes directly
                data = self.data[self.edges[rows.start] : self.edges[rows.stop]]
                changed = np.flatnonzero(data[width:] != data[:-width]) // width
                yield changed[np.diff(changed, prepend=-1) > 0] + (start + 1)
            else:
                yield self._compare_neighbours(texts) + (start + 1)

    def _compare_neighbours(self, texts: TextBounds) -> Ints:
        differs = texts.lengths[1:] != texts.lengths[:-1]
        for number in range(count_pieces(texts.longest)):
            words = self.read_piece(texts, number)
            differs |= words[1:] != words[:-1]
        return np.flatnonzero(differs)


def compact_chunk(chunk: TextChunk) -> TextChunk:
    """Return a copy of a chunk that holds the bytes of its texts only."""
    first, last = int(chunk.edges[0]), int(chunk.edges[-1])
    data = np.zeros(last - first + WORD_BYTES, np.uint8)
    data[: last - first] = chunk.data[first:last]
    return TextChunk(chunk.edges - chunk.edges[0], data)


def count_words(length: int) -> int:
    """Return the number of eight-byte words that a text of `length` bytes takes."""
    return -(-length // WORD_BYTES)


def count_pieces(longest: int) -> int:
    """Return the number of pieces (`TextChunk.read_piece`) that distinguish texts of up to `longest` bytes.

    Texts of eight bytes or more have at least two, the first and the last eight bytes.
    """
    return max(count_words(longest), 1 + (longest >= WORD_BYTES)) if longest else 0


def _compute_factor(place: int) -> np.uint64:
    """Return the odd factor of the pieces with a number."""
    return np.uint64(((place + 1) * 0xA24BAED4963EE407 + 0x9FB21C651E98DF25) % 2**64 | 1)


class TextColumn(ChunkedArray[TextChunk]):
    """A column of texts."""

    def compute_hashes(self, rows: slice | Ints, *, whole: bool = True) -> Words:
        """Return 64-bit hashes of rows, equal for equal texts: of `whole` texts or, faster, of the last eight bytes."""
        give = TextChunk.compute_hashes if whole else TextChunk.compute_end_hashes
        if isinstance(rows, slice):
            pieces = [give(part, local) for part, local in self.iterate_range(rows)]
            return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.uint64), *pieces])
        found: Words = np.empty(len(rows), dtype=np.uint64)
        for which, part, local in self.locate_rows(rows):
            found[which] = give(part, local)
        return found

    def has_common_ends(self) -> bool:
        """Return whether many different texts share their last eight bytes, judged by a sample of rows."""
        some = np.arange(0, len(self), max(1, len(self) // SAMPLE_ROWS))
        ends, whole = (len(np.unique(self.compute_hashes(some, whole=counts))) for counts in (False, True))
        return ends < MIN_DISTINCT_ENDS * whole

    def find_runs(self) -> Ints:
        """Return the edges of the runs of equal texts: the rows that differ from the row before, and the end."""
        keep_freed_memory()
        found = [np.zeros(min(1, len(self)), dtype=np.intp)]
        for first, part in zip(self.edges.tolist(), self.parts, strict=False):
            if first and not self.compare(np.array([first - 1]), self, np.array([first]))[0]:
                found.append(np.array([first]))
            found += [block + first for block in part.find_changes()]
        return np.concatenate([*found, np.array([len(self)], dtype=np.intp)])

    def compare(self, rows: Ints, other: TextColumn, others: Ints) -> Flags:
        """Return for each pair of a row and a row of another column whether the texts are equal, byte by byte."""
        ours, theirs = TextSelection(self, rows), TextSelection(other, others)
        equal: Flags = ours.lengths == theirs.lengths
        for number in range(count_pieces(int(ours.lengths.max(initial=0)))):
            equal &= ours.read_piece(number) == theirs.read_piece(number)
        return equal

    def read(self, rows: Ints) -> list[str]:
        """Return the texts of some rows as strings."""
        found = [""] * len(rows)
        for which, part, local in self.locate_rows(rows):
            texts = part.read(local)
            if isinstance(which, slice):
                found[which] = texts
            else:
                for place, text in zip(which.tolist(), texts, strict=True):
                    found[place] = text
        return found


class TextSelection:
    """Some rows of a text column."""

    def __init__(self, texts: TextColumn, rows: Ints) -> None:
        self._size = len(rows)
        self._pieces = [(which, part, local, part.find_bounds(local)) for which, part, local in texts.locate_rows(rows)]

    @cached_property
    def lengths(self) -> Edges:
        """The length of each text in bytes."""
        if len(self._pieces) == 1:
            return self._pieces[0][3].lengths
        found: Edges = np.empty(self._size, dtype=np.int64)
        for which, _, _, bounds in self._pieces:
            found[which] = bounds.lengths
        return found

    def read_piece(self, number: int) -> Words:
        """Return eight bytes of each text, as `TextChunk.read_piece` does."""
        return self._gather(TextChunk.read_piece, number)

    def _gather(self, read_chunk: Callable[[TextChunk, TextBounds, int], Words], number: int) -> Words:
        if len(self._pieces) == 1:
            _, part, _, bounds = self._pieces[0]
            return read_chunk(part, bounds, number)
        found: Words = np.empty(self._size, dtype=np.uint64)
        for which, part, _, bounds in self._pieces:
            found[which] = read_chunk(part, bounds, number)
        return found


class LazyNames(Sequence[str]):
    """The texts of some rows of a column."""

    def __init__(self, texts: TextColumn, rows: Ints) -> None:
        self._texts, self._rows = texts, rows

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The names as strings."""
        return tuple(self._texts.read(self._rows))

    @property
    def is_distinct(self) -> bool:
        """True if no name occurs twice."""
        hashes = np.sort(self._texts.compute_hashes(self._rows))
        return bool((hashes[1:] != hashes[:-1]).all()) or len(set(self.strings)) == len(self)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self.strings[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyNames):
            return len(self) == len(other) and bool(self._texts.compare(self._rows, other._texts, other._rows).all())
        return isinstance(other, Sequence) and self.strings == tuple(other)

    # Like a list this sequence has no hash, because it compares equal to other sequences with the same texts.
    __hash__ = None  # type: ignore[assignment]
