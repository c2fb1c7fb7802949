"""Names of questions that are decoded only when needed, because often two columns are only compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from greval.metrics.columns.chunked_array import Ints
from greval.metrics.columns.text_column import TextColumn


class LazyNames(Sequence[str]):
    """The texts of some rows of a column.

    Args:
        texts: The column.
        rows: The rows.
    """

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
