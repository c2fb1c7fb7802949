"""Columns of texts stored as bytes: hashed, compared and read without a Python object for each row.

A column of ten million ids takes only the memory of its bytes and offsets. Hashes find candidates for equality; the
bytes decide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from greval.metrics.columns.chunked_array import Flags, Ints, Stretches
from greval.metrics.columns.text_chunks import WORD, Bounds, Edges, Part, Words, pieces_in, words_in

TABLE_WORDS = 64
"""Texts of up to this many words are decoded through a table of fixed width."""
ENOUGH = 0.99
"""The share of distinct texts that must have distinct ends for hashes of the ends to suffice."""
SAMPLE = 8_192
"""The number of rows, evenly spaced over a column, from which this share is estimated."""


class Texts(Stretches[Part]):
    """A column of texts."""

    def hashes(self, rows: slice | Ints, *, whole: bool = True) -> Words:
        """Return a 64-bit hash of each of some rows; equal texts have equal hashes.

        Args:
            rows: The rows.
            whole: Whether the whole text is hashed, or only its last eight bytes, which is faster.
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
        """Return whether many different texts share their last eight bytes, judged by a sample of rows."""
        some = np.arange(0, len(self), max(1, len(self) // SAMPLE))
        ends, whole = (len(np.unique(self.hashes(some, whole=counts))) for counts in (False, True))
        return ends < ENOUGH * whole

    def runs(self) -> Ints:
        """Return the edges of the runs of equal texts: the rows that differ from the row before, and the end."""
        found = [np.zeros(min(1, len(self)), dtype=np.intp)]
        for first, part in zip(self.edges.tolist(), self.parts, strict=False):
            if first and not self.same(np.array([first - 1]), self, np.array([first]))[0]:
                found.append(np.array([first]))
            found += [block + first for block in part.changes()]
        return np.concatenate([*found, np.array([len(self)], dtype=np.intp)])

    def same(self, rows: Ints, other: Texts, others: Ints) -> Flags:
        """Return for each pair of a row and a row of another column whether the texts are equal, byte by byte."""
        ours, theirs = Chosen(self, rows), Chosen(other, others)
        equal: Flags = ours.lengths == theirs.lengths
        for number in range(pieces_in(int(ours.lengths.max(initial=0)))):
            equal &= ours.piece(number) == theirs.piece(number)
        return equal

    def read(self, rows: Ints) -> list[str]:
        """Return the texts of some rows as strings."""
        chosen = Chosen(self, rows)
        width = words_in(int(chosen.lengths.max(initial=0)))
        if 0 < width <= TABLE_WORDS:
            table = np.stack([chosen.word(place) for place in range(width)], axis=1)
            cells = table.view(f"S{WORD * width}").ravel()
            if np.array_equal(np.char.str_len(cells), chosen.lengths):  # else a text ends in NUL
                return _decoded(cells.tolist())
        return chosen.read()


class Chosen:
    """Some rows of a text column.

    Args:
        texts: The column.
        rows: The rows.
    """

    def __init__(self, texts: Texts, rows: Ints) -> None:
        self._size = len(rows)
        self._pieces = [(which, part, local, part.bounds(local)) for which, part, local in texts.located(rows)]

    @cached_property
    def lengths(self) -> Edges:
        """The length of each text in bytes."""
        if len(self._pieces) == 1:
            return self._pieces[0][3].lengths
        found: Edges = np.empty(self._size, dtype=np.int64)
        for which, _, _, bounds in self._pieces:
            found[which] = bounds.lengths
        return found

    def word(self, place: int) -> Words:
        """Return eight bytes of each text, as `TextChunk.read_word` does."""
        return self._put(Part.word, place)

    def piece(self, number: int) -> Words:
        """Return eight bytes of each text, as `TextChunk.read_piece` does."""
        return self._put(Part.piece, number)

    def _put(self, give: Callable[[Part, Bounds, int], Words], number: int) -> Words:
        if len(self._pieces) == 1:
            _, part, _, bounds = self._pieces[0]
            return give(part, bounds, number)
        found: Words = np.empty(self._size, dtype=np.uint64)
        for which, part, _, bounds in self._pieces:
            found[which] = give(part, bounds, number)
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
