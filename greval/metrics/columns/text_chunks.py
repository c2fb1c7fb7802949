"""A stretch of texts as bytes: hashes, words and changes of many texts at a time."""

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
"""Rows that are handled at once: their arrays fit into the processor's cache."""
KEPT = 32_000_000
"""Bytes up to which the C library keeps an array's memory for the next one (glibc learns it at most up to 32 MB)."""
_BYTE, _BITS, _WHOLE = np.uint64(3), np.uint64(8), np.uint64(64)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], dtype=np.uint64)

# glibc gives a freed array back to the system until it has seen one of that size freed, and the system
# clears each page anew: for the arrays of all blocks that was a seventh of the time. This one is never written.
np.empty(KEPT, np.uint8)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where some texts begin and end in the bytes of their stretch, and how many bytes each has."""

    starts: Edges
    ends: Edges
    lengths: Edges

    @property
    def longest(self) -> int:
        """The bytes of the longest text."""
        return int(self.lengths.max(initial=0))


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a column: text `n` is `data[edges[n]:edges[n + 1]]`; eight bytes follow the last text."""

    edges: Edges
    data: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def bounds(self, rows: slice | Ints) -> Bounds:
        """Give where some texts stand."""
        starts, ends = self.edges[:-1][rows], self.edges[1:][rows]
        return Bounds(starts, ends, ends - starts)

    def word(self, texts: Bounds, place: int) -> Words:
        """Give eight bytes of each text, those after `8 * place`; bytes past its end are 0."""
        starts = texts.starts
        if place:  # of a shorter text nothing is kept, but it must not be read past the end of all
            starts = np.minimum(starts + WORD * place, len(self.data) - WORD)
        words = self._read(starts)
        words &= _MASKS.take(texts.lengths - WORD * place, mode="clip")
        return words

    def piece(self, texts: Bounds, number: int) -> Words:
        """Give eight bytes of each text: its first, its last, then those between; 0 for what a text has not.

        Texts of the same length are equal where all their pieces are. Other than words, the pieces need no
        mask but in texts of less than eight bytes.
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
        """Hash some texts: each piece times an odd number of its own, added up."""
        texts = self.bounds(rows)
        hashed = self.piece(texts, 0)
        hashed *= _factor(0)
        for number in range(1, pieces_in(texts.longest)):
            words = self.piece(texts, number)
            words *= _factor(number)
            hashed += words
        return hashed

    def ends(self, rows: slice | Ints) -> Words:
        """Hash some texts by their last eight bytes alone."""
        words = self._ends_of_range(rows) if isinstance(rows, slice) else self._ends(rows)
        words *= _factor(0)
        return words

    def _ends(self, rows: Ints) -> Words:
        """Give the last eight bytes of each text, or all bytes of a shorter one."""
        texts = self.bounds(rows)
        words = self._read(np.maximum(texts.ends - WORD, texts.starts))
        short = np.flatnonzero(texts.lengths < WORD)
        words[short] &= _MASKS.take(texts.lengths[short])
        return words

    def _ends_of_range(self, rows: slice) -> Words:
        """Give the same for a range of rows, where it pays to copy their bytes.

        Eight bytes that begin anywhere are put together of two words of the copy, which is quicker than
        reading them as they lie.
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
        higher <<= _WHOLE - shifts  # nothing is left of a word that is shifted by all its bits
        words |= higher
        lengths = self.bounds(rows).lengths
        short = np.flatnonzero(lengths < WORD)
        words[short] >>= (WORD - 1 - lengths[short]).astype(np.uint64) << _BYTE
        words[short] >>= _BITS
        return words

    def _read(self, starts: Edges) -> Words:
        """Give the eight bytes from each of some places."""
        every: Words = np.ndarray((len(self.data) - WORD + 1,), "<u8", self.data, strides=(1,))
        words: Words = every[starts]
        return words

    def changes(self) -> Iterator[Ints]:
        """Give the rows that differ from the row before, a block at a time."""
        for start in range(0, len(self) - 1, BLOCK):
            rows = slice(start, min(start + BLOCK + 1, len(self)))
            texts = self.bounds(rows)
            width = int(texts.lengths[0])
            if width and (texts.lengths == width).all():  # the quick way: byte against byte
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
    """Give how many words of eight bytes a text of so many bytes takes."""
    return -(-length // WORD)


def pieces_in(longest: int) -> int:
    """Give how many pieces (`Part.piece`) tell texts apart: of eight bytes or more the last eight are one, too."""
    return max(words_in(longest), 1 + (longest >= WORD)) if longest else 0


def _factor(place: int) -> np.uint64:
    """Give the odd number that the pieces at a place are multiplied by."""
    return np.uint64(((place + 1) * 0xA24BAED4963EE407 + 0x9FB21C651E98DF25) % 2**64 | 1)
