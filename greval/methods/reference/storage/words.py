"""The index of words: BM25 over texts, with identifiers of code found whole and by their parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def split_words(text: str, *, stop_words: bool = True) -> list[str]:
    """Return the words of a text in lower case; `stop_words` leaves out the most frequent words of English."""
    raise NotImplementedError


class WordIndex:
    """Texts, found by their words (BM25)."""

    @classmethod
    def build(cls, texts: Sequence[str], *, stop_words: bool = True) -> WordIndex:
        """Build the index of texts."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write the index to a folder, which is created."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path) -> WordIndex:
        """Open an index; it is mapped to memory when it is read."""
        raise NotImplementedError

    def search(self, text: str, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and scores of the `k` best texts, best first, ties by position; none with a score of 0."""
        raise NotImplementedError
