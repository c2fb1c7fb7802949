"""The vectors of an index: exact search in memory-mapped arrays while there are few, an HNSW graph beyond."""

from __future__ import annotations

from pathlib import Path

import numpy as np

EXACT_ROWS = 20_000
"""Up to this many vectors, all are compared."""


class VectorIndex:
    """Vectors of unit length, found by their cosine similarity to another one."""

    @classmethod
    def build(cls, vectors: np.ndarray) -> VectorIndex:
        """Build the index of the rows of a matrix (float32, unit length)."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write the index to a folder, which is created."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path) -> VectorIndex:
        """Open an index; its vectors are mapped to memory when they are read."""
        raise NotImplementedError

    def search(self, vector: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and similarities of the `k` nearest rows, best first, ties by position.

        Args:
            vector: The vector of the query, of unit length.
            k: The most rows to return.
            allowed: Whether each row may be returned; None: all may.
        """
        raise NotImplementedError
