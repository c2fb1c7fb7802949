"""The vectors of an index: an exact search in a memory-mapped array."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from greval.errors import DataError

LARGE_SHARE = 0.25
"""If more rows than this share are allowed, one pass over all rows is faster than copying them."""
UNIT = 1e-3


class VectorIndex:
    """Vectors of unit length, found by their cosine similarity to another one.

    Example:
        >>> import numpy as np
        >>> index = VectorIndex(np.eye(3, dtype=np.float32))
        >>> positions, scores = index.search(np.array([0, 0.6, 0.8], dtype=np.float32), k=2)
        >>> positions.tolist(), [round(score, 3) for score in scores.tolist()]
        ([2, 1], [0.8, 0.6])
    """

    def __init__(self, rows: np.ndarray) -> None:
        if rows.ndim != 2:  # noqa: PLR2004 - a matrix
            raise DataError(f"expected a matrix with a row for each chunk, got the shape {rows.shape}")
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def save(self, folder: Path) -> None:
        """Write the index to a folder, which is created."""
        rows = np.ascontiguousarray(self.rows, dtype=np.float32)
        wrong = np.flatnonzero(~(np.abs(np.linalg.norm(rows, axis=1) - 1) < UNIT))
        if len(wrong):
            raise DataError(f"row {wrong[0]} of the vectors is not of unit length; divide each by its length")
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "vectors.npy", rows)

    @classmethod
    def load(cls, folder: Path) -> VectorIndex:
        """Open an index. Its vectors are mapped to memory, and read from disk when they are needed."""
        file = folder / "vectors.npy"
        try:
            return cls(np.load(file, mmap_mode="r"))
        except (OSError, ValueError) as error:
            raise DataError(
                f"{file}: expected the vectors of an index ({error}); build it again with greval index build"
            ) from error

    def search(self, vector: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and similarities of the `k` nearest rows, best first, ties by position."""
        if not len(self):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if vector.shape != self.rows.shape[1:]:
            raise DataError(
                f"the vector has the shape {vector.shape}, the index {self.rows.shape[1:]}; embed the question "
                "with the embedder that the index was built with"
            )
        rows = None if allowed is None else np.flatnonzero(allowed)
        if rows is None or len(rows) > LARGE_SHARE * len(self):
            return select_best(score_rows(self.rows, vector), k, rows)
        best, scores = select_best(score_rows(self.rows[rows], vector), k)
        return rows[best], scores


def score_rows(vectors: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the dot product of each row with a vector, the same for a row whatever other rows there are."""
    # A matrix product would start threads, which wait for each other on a busy machine, and would add up the
    # products of a row in an order that depends on the number of rows.
    scores: np.ndarray = np.vecdot(vectors, vector.astype(np.float32, copy=False))
    return scores


def select_best(scores: np.ndarray, k: int, positions: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and values of the `k` highest scores, the highest first, ties by position."""
    if positions is None:
        positions = np.arange(len(scores))
    else:
        scores = scores[positions]
    if k <= 0:
        positions, scores = positions[:0], scores[:0]
    elif k < len(scores):
        # A partition takes less time than sorting all scores, and ties with the last one stay.
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        selected = np.flatnonzero(scores >= least)
        positions, scores = positions[selected], scores[selected]
    order = np.argsort(-scores, kind="stable")[:k]
    return positions[order], scores[order]
