"""Chunked arrays, such as Arrow's: read by ranges of rows, without concatenating the chunks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence, Sized
from functools import cache
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.signedinteger[Any]]
Flags = npt.NDArray[np.bool_]
RANK_BITS = 32
"""Bits of the rank in sort keys that combine a question and a rank in one integer."""

REUSED_BYTES = 32_000_000
"""Size in bytes up to which the C library reuses the memory of a freed array (glibc adapts up to 32 MB)."""

ChunkT = TypeVar("ChunkT", bound=Sized)


class ChunkedArray(Generic[ChunkT]):
    """A column that is stored in several chunks, in order; empty chunks are dropped."""

    def __init__(self, parts: Sequence[ChunkT]) -> None:
        self.parts = tuple(part for part in parts if len(part))
        self._bounds = [0, *accumulate(len(part) for part in self.parts)]
        self.edges = np.array(self._bounds, dtype=np.intp)

    def __len__(self) -> int:
        return int(self.edges[-1])

    def iterate_range(self, rows: slice) -> Iterator[tuple[ChunkT, slice]]:
        """Yield the chunks that overlap a range of rows, each with its local range."""
        at = self._find_chunk(rows.start)
        while at < len(self.parts) and self.edges[at] < rows.stop:
            first, part = int(self.edges[at]), self.parts[at]
            yield part, slice(max(0, rows.start - first), min(len(part), rows.stop - first))
            at += 1

    def _find_chunk(self, row: int) -> int:
        """Return the index of the chunk that holds a row."""
        return bisect_right(self._bounds, row) - 1

    def locate_rows(self, rows: Ints) -> Iterator[tuple[slice | Ints, ChunkT, Ints]]:
        """Yield for each chunk which of the rows it holds, the chunk, and the local row numbers."""
        if not len(rows):
            return
        at = self._find_chunk(int(rows.min()))
        if at == self._find_chunk(int(rows.max())):
            yield slice(None), self.parts[at], rows - self.edges[at]
            return
        order = None if bool(np.all(rows[1:] >= rows[:-1])) else np.argsort(rows, kind="stable")
        ascending = rows if order is None else rows[order]
        cuts = np.searchsorted(ascending, self.edges)
        for at in np.flatnonzero(cuts[1:] > cuts[:-1]).tolist():
            some = slice(int(cuts[at]), int(cuts[at + 1]))
            yield some if order is None else order[some], self.parts[at], ascending[some] - self.edges[at]


class NumberColumn(ChunkedArray[npt.NDArray[Any]]):
    """A column of numbers."""

    def read(self, rows: slice | Ints) -> npt.NDArray[Any]:
        """Return some of the numbers."""
        if isinstance(rows, slice):
            pieces = [part[local] for part, local in self.iterate_range(rows)]
            return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, self._dtype), *pieces])
        found = np.empty(len(rows), self._dtype)
        for which, part, local in self.locate_rows(rows):
            found[which] = part[local]
        return found

    @property
    def _dtype(self) -> np.dtype[Any]:
        return np.result_type(*self.parts) if self.parts else np.dtype(np.float64)


@cache
def keep_freed_memory() -> None:
    """Make glibc keep the memory of freed arrays for the next block, once in a process.

    glibc returns a freed array to the system until an array of that size has been freed once, and the system clears
    each new page: that took a seventh of the time of all blocks. The array is never written to.
    """
    np.empty(REUSED_BYTES, np.uint8)


def expand_ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return the rows of several ranges, one range after the other.

    Example:
        >>> expand_ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    shifts = np.repeat(starts - (ends - lengths), lengths)
    return shifts + np.arange(len(shifts))
