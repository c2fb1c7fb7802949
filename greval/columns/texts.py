"""Columns of texts as bytes: hashed, compared and read without making a Python object for each row.

A column of ten million ids takes no more than its bytes and where each of them begins. Hashes find
what may be equal; whether it is equal is told by the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from greval.columns.stretches import Flags, Ints, Stretches

Words = npt.NDArray[np.uint64]
Edges = npt.NDArray[np.integer[Any]]

WORD = 8
BLOCK = 65_536
"""Rows that are handled at once: their arrays fit into the processor's cache."""
KEPT = 32_000_000
"""Bytes up to which the C library keeps an array's memory for the next one (glibc learns it at most up to 32 MB)."""
_BYTE, _BITS, _WHOLE = np.uint64(3), np.uint64(8), np.uint64(64)
TABLE_WORDS = 64
"""Texts of up to so many words are read through a table of equal widths."""
ENOUGH = 0.99
"""The share of different texts that must have different ends, for hashes of the ends to do."""
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], dtype=np.uint64)


# glibc gives a freed array back to the system until it has seen one of that size freed, and the system
# clears each page anew: for the arrays of all blocks that was a seventh of the time. This one is never written.
np.empty(KEPT, np.uint8)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a column: text `n` is `data[edges[n]:edges[n + 1]]`; eight bytes follow the last text."""

    edges: Edges
    data: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def lengths(self, rows: slice | Ints) -> Edges:
        """Give how many bytes each text has."""
        lengths: Edges = self.edges[1:][rows] - self.edges[:-1][rows]
        return lengths

    def word(self, rows: slice | Ints, place: int, lengths: Edges) -> Words:
        """Give eight bytes of each text, those after `8 * place`; bytes past its end are 0.

        Args:
            rows: Which texts.
            place: Which eight bytes.
            lengths: The lengths of these texts.
        """
        starts = self.edges[:-1][rows]
        if place:  # of a shorter text nothing is kept, but it must not be read past the end of all
            starts = np.minimum(starts + WORD * place, len(self.data) - WORD)
        words = self._read(starts)
        words &= _MASKS.take(lengths - WORD * place, mode="clip")
        return words

    def piece(self, rows: slice | Ints, number: int, lengths: Edges) -> Words:
        """Give eight bytes of each text: its first, its last, then those between; 0 for what a text has not.

        Texts of the same length are equal where all their pieces are. Other than words, the pieces need no
        mask but in texts of eight bytes or less.
        """
        if number > 1:
            return self._between(rows, number - 1, lengths)
        short = np.flatnonzero(lengths < WORD + number)
        if number == 0:
            words = self._read(self.edges[:-1][rows])
            words[short] &= _MASKS.take(lengths[short])
            return words
        starts = self.edges[1:][rows] - WORD
        if len(short):
            starts = np.maximum(starts, 0)
        words = self._read(starts)
        words[short] = 0
        return words

    def _between(self, rows: slice | Ints, place: int, lengths: Edges) -> Words:
        words: Words = np.zeros(len(lengths), np.uint64)
        longer = np.flatnonzero(lengths > WORD * (place + 1))
        words[longer] = self._read(self.edges[:-1][rows][longer] + WORD * place)
        return words

    def hashes(self, rows: slice | Ints) -> Words:
        """Hash some texts: each piece times an odd number of its own, added up."""
        lengths = self.lengths(rows)
        hashed = self.piece(rows, 0, lengths)
        hashed *= _factor(0)
        for number in range(1, words_in(int(lengths.max(initial=0)))):
            words = self.piece(rows, number, lengths)
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
        starts = self.edges[:-1][rows]
        words = self._read(np.maximum(self.edges[1:][rows] - WORD, starts))
        lengths = self.lengths(rows)
        short = np.flatnonzero(lengths < WORD)
        words[short] &= _MASKS.take(lengths[short])
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
        lengths = self.lengths(rows)
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
            lengths = self.lengths(rows)
            width = int(lengths[0])
            if width and (lengths == width).all():  # the quick way: byte against byte
                data = self.data[self.edges[rows.start] : self.edges[rows.stop]]
                changed = np.flatnonzero(data[width:] != data[:-width]) // width
                yield changed[np.diff(changed, prepend=-1) > 0] + (start + 1)
            else:
                yield self._changes(rows, lengths) + (start + 1)

    def _changes(self, rows: slice, lengths: Edges) -> Ints:
        differs = lengths[1:] != lengths[:-1]
        for number in range(words_in(int(lengths.max(initial=0)))):
            words = self.piece(rows, number, lengths)
            differs |= words[1:] != words[:-1]
        return np.flatnonzero(differs)


class Texts(Stretches[Part]):
    """A column of texts."""

    def hashes(self, rows: slice | Ints, *, whole: bool = True) -> Words:
        """Give a 64-bit number for each of some rows; equal texts have equal numbers.

        Args:
            rows: Which rows.
            whole: Whether the whole text counts, or its last eight bytes alone, which is quicker.
        """
        give = Part.hashes if whole else Part.ends
        if isinstance(rows, slice):
            pieces = [give(part, local) for part, local in self.within(rows)]
            return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.uint64), *pieces])
        found: Words = np.empty(len(rows), dtype=np.uint64)
        for which, part, local in self.located(rows):
            found[which] = give(part, local)
        return found

    def alike_at_the_end(self) -> bool:
        """Tell whether different texts have the same last eight bytes, so that these do not tell them apart."""
        some = slice(0, min(len(self), BLOCK))
        ends, whole = (len(np.unique(self.hashes(some, whole=counts))) for counts in (False, True))
        return ends < ENOUGH * whole

    def runs(self) -> Ints:
        """Give where a text differs from that of the row before: the edges of the runs of equal texts."""
        found = [np.zeros(min(1, len(self)), dtype=np.intp)]
        for first, part in zip(self.edges.tolist(), self.parts, strict=False):
            if first and not self.same(np.array([first - 1]), self, np.array([first]))[0]:
                found.append(np.array([first]))
            found += [block + first for block in part.changes()]
        return np.concatenate([*found, np.array([len(self)], dtype=np.intp)])

    def same(self, rows: Ints, other: Texts, others: Ints) -> Flags:
        """Tell for each pair of a row and a row of another column whether the texts are equal, byte for byte."""
        ours, theirs = Chosen(self, rows), Chosen(other, others)
        equal: Flags = ours.lengths == theirs.lengths
        for number in range(words_in(int(ours.lengths.max(initial=0)))):
            equal &= ours.piece(number) == theirs.piece(number)
        return equal

    def read(self, rows: Ints) -> list[str]:
        """Give the texts of some rows as strings."""
        chosen = Chosen(self, rows)
        width = words_in(int(chosen.lengths.max(initial=0)))
        if 0 < width <= TABLE_WORDS:
            table = np.stack([chosen.word(place) for place in range(width)], axis=1)
            cells = table.view(f"S{WORD * width}").ravel()
            if np.array_equal(np.char.str_len(cells), chosen.lengths):  # else a text ends in NUL
                return _decoded(cells.tolist())
        return chosen.read()


class Chosen:
    """Some rows of a column of texts.

    Args:
        texts: The column.
        rows: Which rows.
    """

    def __init__(self, texts: Texts, rows: Ints) -> None:
        self._size = len(rows)
        self._pieces = [(which, part, local, part.lengths(local)) for which, part, local in texts.located(rows)]

    @cached_property
    def lengths(self) -> Edges:
        """How many bytes each text has."""
        if len(self._pieces) == 1:
            return self._pieces[0][3]
        found: Edges = np.empty(self._size, dtype=np.int64)
        for which, _, _, lengths in self._pieces:
            found[which] = lengths
        return found

    def word(self, place: int) -> Words:
        """Give eight bytes of each text, as `Part.word`."""
        return self._put(Part.word, place)

    def piece(self, number: int) -> Words:
        """Give eight bytes of each text, as `Part.piece`."""
        return self._put(Part.piece, number)

    def _put(self, give: Callable[[Part, Ints, int, Edges], Words], number: int) -> Words:
        if len(self._pieces) == 1:
            _, part, local, lengths = self._pieces[0]
            return give(part, local, number, lengths)
        found: Words = np.empty(self._size, dtype=np.uint64)
        for which, part, local, lengths in self._pieces:
            found[which] = give(part, local, number, lengths)
        return found

    def read(self) -> list[str]:
        """Read the texts one by one."""
        found = [""] * self._size
        for which, part, local, _ in self._pieces:
            places = range(self._size)[which] if isinstance(which, slice) else which.tolist()
            for place, row in zip(places, local.tolist(), strict=True):
                found[place] = part.data[part.edges[row] : part.edges[row + 1]].tobytes().decode()
        return found


def _decoded(cells: list[bytes]) -> list[str]:
    """Decode many texts at once."""
    joined = b"\0".join(cells).decode()
    return joined.split("\0") if joined.count("\0") == len(cells) - 1 else [cell.decode() for cell in cells]


def words_in(length: int) -> int:
    """Give how many words of eight bytes a text of so many bytes takes."""
    return -(-length // WORD)


def _factor(place: int) -> np.uint64:
    """Give the odd number that the pieces at a place are multiplied by."""
    return np.uint64(((place + 1) * 0xA24BAED4963EE407 + 0x9FB21C651E98DF25) % 2**64 | 1)
