"""Names of questions that are decoded only when needed, because often two columns are only compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from greval.metrics.columns.chunked_array import Ints
from greval.metrics.columns.text_column import Texts


class Names(Sequence[str]):
    """The texts of some rows of a column.

    Args:
        texts: The column.
        rows: The rows.
    """

    def __init__(self, texts: Texts, rows: Ints) -> None:
        self._texts, self._rows = texts, rows

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The names as strings."""
        return tuple(self._texts.read(self._rows))

    @property
    def distinct(self) -> bool:
        """True if no name occurs twice."""
        hashes = np.sort(self._texts.hashes(self._rows))
        return bool((hashes[1:] != hashes[:-1]).all()) or len(set(self.read)) == len(self)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self.read[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.read)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return len(self) == len(other) and bool(self._texts.same(self._rows, other._texts, other._rows).all())
        return isinstance(other, Sequence) and self.read == tuple(other)

    # Like a list this sequence has no hash, because it compares equal to other sequences with the same texts.
    __hash__ = None  # type: ignore[assignment]
