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

WORD_BYTES = 8
BLOCK_ROWS = 65_536
"""Rows processed at once: their arrays fit into the processor's cache."""
REUSED_BYTES = 32_000_000
"""Size in bytes up to which the C library reuses the memory of a freed array (glibc adapts up to 32 MB)."""
_BYTE, _BITS, _WHOLE = np.uint64(3), np.uint64(8), np.uint64(64)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(WORD_BYTES + 1)], dtype=np.uint64)

# glibc returns a freed array to the system until an array of that size has been freed once, and the system
# clears each new page: that took a seventh of the time of all blocks. This array is never written to.
np.empty(REUSED_BYTES, np.uint8)


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

    def read_word(self, texts: TextBounds, place: int) -> Words:
        """Return eight bytes of each text from byte `8 * place` on; bytes past the end of the text are 0."""
        starts = texts.starts
        if place:  # shorter texts are masked below, but must not be read past the end of the data
            starts = np.minimum(starts + WORD_BYTES * place, len(self.data) - WORD_BYTES)
        words = self._read_bytes(starts)
        words &= _MASKS.take(texts.lengths - WORD_BYTES * place, mode="clip")
        return words

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
