"""A chunk of texts stored as bytes: hash, read and compare many texts at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from greval.metrics.columns.chunked_array import Ints

Words = npt.NDArray[np.uint64]
Edges = npt.NDArray[np.integer[Any]]

WORD = 8
BLOCK = 65_536
"""Rows processed at once: their arrays fit into the processor's cache."""
KEPT = 32_000_000
"""Size in bytes up to which the C library reuses the memory of a freed array (glibc adapts up to 32 MB)."""
_BYTE, _BITS, _WHOLE = np.uint64(3), np.uint64(8), np.uint64(64)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], dtype=np.uint64)

# glibc returns a freed array to the system until an array of that size has been freed once, and the system
# clears each new page: that took a seventh of the time of all blocks. This array is never written to.
np.empty(KEPT, np.uint8)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The start, the end and the length in bytes of some texts of a chunk."""

    starts: Edges
    ends: Edges
    lengths: Edges

    @property
    def longest(self) -> int:
        """The length in bytes of the longest text."""
        return int(self.lengths.max(initial=0))


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk of a text column: text `n` is `data[edges[n]:edges[n + 1]]`; eight more bytes follow the last text."""

    edges: Edges
    data: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def bounds(self, rows: slice | Ints) -> Bounds:
        """Return the bounds of some texts."""
        starts, ends = self.edges[:-1][rows], self.edges[1:][rows]
        return Bounds(starts, ends, ends - starts)

    def word(self, texts: Bounds, place: int) -> Words:
        """Return eight bytes of each text from byte `8 * place` on; bytes past the end of the text are 0."""
        starts = texts.starts
        if place:  # shorter texts are masked below, but must not be read past the end of the data
            starts = np.minimum(starts + WORD * place, len(self.data) - WORD)
        words = self._read(starts)
        words &= _MASKS.take(texts.lengths - WORD * place, mode="clip")
        return words

    def piece(self, texts: Bounds, number: int) -> Words:
        """Return eight bytes of each text by piece number: 0 the first, 1 the last, 2 and up those in between.

        Bytes that a text does not have are 0.
        Texts of the same length are equal if all their pieces are. Unlike words, pieces need a mask only for texts
        shorter than eight bytes, which makes them faster.
        """
        if number > 1:
            return self._between(texts, number - 1)
        short = np.flatnonzero(texts.lengths < WORD)
        if number == 0:
            words = self._read(texts.starts)
            words[short] &= _MASKS.take(texts.lengths[short])
            return words
        starts = texts.ends - WORD
        if len(short):
            starts = np.maximum(starts, 0)
        words = self._read(starts)
        words[short] = 0
        return words

    def _between(self, texts: Bounds, place: int) -> Words:
        words: Words = np.zeros(len(texts.lengths), np.uint64)
        longer = np.flatnonzero(texts.lengths > WORD * (place + 1))
        words[longer] = self._read(texts.starts[longer] + WORD * place)
        return words

    def hashes(self, rows: slice | Ints) -> Words:
        """Hash some texts: multiply each piece by an odd factor of its own and add up the products."""
        texts = self.bounds(rows)
        hashed = self.piece(texts, 0)
        hashed *= _factor(0)
        for number in range(1, pieces_in(texts.longest)):
            words = self.piece(texts, number)
            words *= _factor(number)
            hashed += words
        return hashed

    def ends(self, rows: slice | Ints) -> Words:
        """Hash some texts by their last eight bytes only."""
        words = self._ends_of_range(rows) if isinstance(rows, slice) else self._ends(rows)
        words *= _factor(0)
        return words

    def _ends(self, rows: Ints) -> Words:
        """Return the last eight bytes of each text, or all bytes of a shorter one."""
        texts = self.bounds(rows)
        words = self._read(np.maximum(texts.ends - WORD, texts.starts))
        short = np.flatnonzero(texts.lengths < WORD)
        words[short] &= _MASKS.take(texts.lengths[short])
        return words

    def _ends_of_range(self, rows: slice) -> Words:
        """Return the same as `_read_ends` for a range of rows, from an aligned copy of their bytes.

        Eight bytes that begin anywhere are combined from two aligned words of the copy, which is faster than unaligned
        reads.
        """
        first, last = int(self.edges[rows.start]), int(self.edges[rows.stop])
        copied = np.zeros((last - first) // WORD + 3, np.uint64)
        copied.view(np.uint8)[WORD : WORD + last - first] = self.data[first:last]
        places = self.edges[rows.start + 1 : rows.stop + 1].astype(np.int64)
        places -= first
        shifts = (places & (WORD - 1)).view(np.uint64)
        shifts <<= _BYTE
        places >>= 3
        words = copied.take(places)
        words >>= shifts
        places += 1
        higher = copied.take(places)
        higher <<= _WHOLE - shifts  # a shift by all 64 bits leaves 0
        words |= higher
        lengths = self.bounds(rows).lengths
        short = np.flatnonzero(lengths < WORD)
        words[short] >>= (WORD - 1 - lengths[short]).astype(np.uint64) << _BYTE
        words[short] >>= _BITS
        return words

    def _read(self, starts: Edges) -> Words:
        """Return the eight bytes from each of the given offsets."""
        every: Words = np.ndarray((len(self.data) - WORD + 1,), "<u8", self.data, strides=(1,))
        words: Words = every[starts]
        return words

    def changes(self) -> Iterator[Ints]:
        """Yield the rows that differ from the row before, a block at a time."""
        for start in range(0, len(self) - 1, BLOCK):
            rows = slice(start, min(start + BLOCK + 1, len(self)))
            texts = self.bounds(rows)
            width = int(texts.lengths[0])
            if width and (texts.lengths == width).all():  # fast path: compare bytes directly
                data = self.data[self.edges[rows.start] : self.edges[rows.stop]]
                changed = np.flatnonzero(data[width:] != data[:-width]) // width
                yield changed[np.diff(changed, prepend=-1) > 0] + (start + 1)
            else:
                yield self._changes(texts) + (start + 1)

    def _changes(self, texts: Bounds) -> Ints:
        differs = texts.lengths[1:] != texts.lengths[:-1]
        for number in range(pieces_in(texts.longest)):
            words = self.piece(texts, number)
            differs |= words[1:] != words[:-1]
        return np.flatnonzero(differs)


def words_in(length: int) -> int:
    """Return the number of eight-byte words that a text of `length` bytes takes."""
    return -(-length // WORD)


def pieces_in(longest: int) -> int:
    """Return the number of pieces (`TextChunk.read_piece`) that distinguish texts of up to `longest` bytes.

    Texts of eight bytes or more have at least two, the first and the last eight bytes.
    """
    return max(words_in(longest), 1 + (longest >= WORD)) if longest else 0


def _factor(place: int) -> np.uint64:
    """Return the odd factor of the pieces with a number."""
    return np.uint64(((place + 1) * 0xA24BAED4963EE407 + 0x9FB21C651E98DF25) % 2**64 | 1)
