"""Columns of texts as bytes: hashed, compared and read without making a Python object for each row.

A column of ten million ids takes no more than its bytes and where each of them begins. Hashes find
what may be equal; whether it is equal is told by the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from greval.metrics.columns.chunked_array import Flags, Ints, Stretches
from greval.metrics.columns.text_chunks import WORD, Bounds, Edges, Part, Words, pieces_in, words_in

TABLE_WORDS = 64
"""Texts of up to so many words are read through a table of equal widths."""
ENOUGH = 0.99
"""The share of different texts that must have different ends, for hashes of the ends to do."""
SAMPLE = 8_192
"""Rows, from all over a column, that tell this share."""


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
        some = np.arange(0, len(self), max(1, len(self) // SAMPLE))
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
        for number in range(pieces_in(int(ours.lengths.max(initial=0)))):
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
        self._pieces = [(which, part, local, part.bounds(local)) for which, part, local in texts.located(rows)]

    @cached_property
    def lengths(self) -> Edges:
        """How many bytes each text has."""
        if len(self._pieces) == 1:
            return self._pieces[0][3].lengths
        found: Edges = np.empty(self._size, dtype=np.int64)
        for which, _, _, bounds in self._pieces:
            found[which] = bounds.lengths
        return found

    def word(self, place: int) -> Words:
        """Give eight bytes of each text, as `Part.word`."""
        return self._put(Part.word, place)

    def piece(self, number: int) -> Words:
        """Give eight bytes of each text, as `Part.piece`."""
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
