"""Columns of texts stored as bytes: hashed, compared and read without a Python object for each row.

A column of ten million ids takes only the memory of its bytes and offsets. Hashes find candidates for equality; the
bytes decide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from greval.metrics.columns.chunked_array import ChunkedArray, Flags, Ints
from greval.metrics.columns.text_chunks import (
    WORD_BYTES,
    Edges,
    TextBounds,
    TextChunk,
    Words,
    count_pieces,
    count_words,
)

MAX_TABLE_WORDS = 64
"""Texts of up to this many words are decoded through a table of fixed width."""
MIN_DISTINCT_ENDS = 0.99
"""The share of distinct texts that must have distinct ends for hashes of the ends to suffice."""
SAMPLE_ROWS = 8_192
"""The number of rows, evenly spaced over a column, from which this share is estimated."""


class TextColumn(ChunkedArray[TextChunk]):
    """A column of texts."""

    def compute_hashes(self, rows: slice | Ints, *, whole: bool = True) -> Words:
        """Return a 64-bit hash of each of some rows; equal texts have equal hashes.

        Args:
            rows: The rows.
            whole: Whether the whole text is hashed, or only its last eight bytes, which is faster.
        """
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
        chosen = TextSelection(self, rows)
        width = count_words(int(chosen.lengths.max(initial=0)))
        if 0 < width <= MAX_TABLE_WORDS:
            table = np.stack([chosen.read_word(place) for place in range(width)], axis=1)
            cells = table.view(f"S{WORD_BYTES * width}").ravel()
            if np.array_equal(np.char.str_len(cells), chosen.lengths):  # else a text ends in NUL
                return _decode(cells.tolist())
        return chosen.read()


class TextSelection:
    """Some rows of a text column.

    Args:
        texts: The column.
        rows: The rows.
    """

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

    def read_word(self, place: int) -> Words:
        """Return eight bytes of each text, as `TextChunk.read_word` does."""
        return self._gather(TextChunk.read_word, place)

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

    def read(self) -> list[str]:
        """Read the texts one by one."""
        found = [""] * self._size
        for which, part, local, _ in self._pieces:
            places = range(self._size)[which] if isinstance(which, slice) else which.tolist()
            for place, row in zip(places, local.tolist(), strict=True):
                found[place] = part.data[part.edges[row] : part.edges[row + 1]].tobytes().decode()
        return found


def _decode(cells: list[bytes]) -> list[str]:
    """Decode many texts at once."""
    joined = b"\0".join(cells).decode()
    return joined.split("\0") if joined.count("\0") == len(cells) - 1 else [cell.decode() for cell in cells]
