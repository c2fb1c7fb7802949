"""The vectors of an index: exact search in a memory-mapped array while there are few, an HNSW graph beyond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from greval.errors import DataError, MissingExtraError

EXACT_ROWS = 50_000
"""Up to this many vectors, all are compared: 7 ms for 50,000 vectors of 1,024 columns."""
EXACT_SHARE = 0.05
"""If fewer rows than this share of all are allowed, they are all compared: the HNSW graph would be searched widely."""
LARGE_SHARE = 0.25
MARGIN = 32
"""The HNSW graph is asked for this many more rows than needed: it may miss some, and ties are broken by position."""
CONNECTIVITY = 16
EXPANSION = 64
UNIT = 1e-3


class VectorIndex:
    """Vectors of unit length, found by their cosine similarity to another one.

    Example:
        >>> import numpy as np
        >>> index = VectorIndex.build(np.eye(3, dtype=np.float32))
        >>> positions, scores = index.search(np.array([0, 0.6, 0.8], dtype=np.float32), k=2)
        >>> positions.tolist(), [round(score, 3) for score in scores.tolist()]
        ([2, 1], [0.8, 0.6])
    """

    def __init__(self, vectors: np.ndarray, graph: Any = None) -> None:  # noqa: ANN401 - usearch has no types
        self._vectors = vectors
        self._graph = graph

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def rows(self) -> np.ndarray:
        """The vectors, a row for each. They may be mapped to memory."""
        return self._vectors

    @property
    def is_exact(self) -> bool:
        """True if all vectors are compared, so that nothing is missed."""
        return self._graph is None

    @classmethod
    def build(cls, vectors: np.ndarray, *, exact_rows: int = EXACT_ROWS) -> VectorIndex:
        """Build the index of the rows of a matrix. The same rows give the same index.

        Args:
            vectors: The rows, each of unit length.
            exact_rows: Up to this many rows, all are compared.
        """
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        if vectors.ndim != 2:  # noqa: PLR2004 - a matrix
            raise DataError(f"expected a matrix with a row for each chunk, got the shape {vectors.shape}")
        wrong = np.flatnonzero(~(np.abs(np.linalg.norm(vectors, axis=1) - 1) < UNIT))
        if len(wrong):
            raise DataError(f"row {wrong[0]} of the vectors is not of unit length; divide each by its length")
        return cls(vectors, _build_graph(vectors) if len(vectors) > exact_rows else None)

    def save(self, folder: Path) -> None:
        """Write the index to a folder, which is created."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "vectors.npy", self._vectors)
        # Loading would take the graph of an earlier index in this folder for that of these vectors.
        (folder / "vectors.usearch").unlink(missing_ok=True)
        if self._graph is not None:
            self._graph.save(str(folder / "vectors.usearch"))

    @classmethod
    def load(cls, folder: Path) -> VectorIndex:
        """Open an index. Its vectors are mapped to memory, and read from disk when they are needed.

        Raises:
            DataError: If the folder has none.
            MissingExtraError: If usearch is needed and not installed.
        """
        file = folder / "vectors.npy"
        try:
            vectors = np.load(file, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise DataError(
                f"{file}: expected the vectors of an index ({error}); build it again with greval index build"
            ) from error
        path = folder / "vectors.usearch"
        return cls(vectors, _import_usearch().Index.restore(str(path), view=True) if path.exists() else None)

    def search(self, vector: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and similarities of the `k` nearest rows, best first, ties by position.

        Args:
            vector: The vector of the query, of unit length.
            k: The most rows to return.
            allowed: Whether each row may be returned; None: all may.
        """
        if allowed is not None and len(allowed) != len(self):
            raise DataError(f"the mask has {len(allowed)} values for {len(self)} vectors; give one for each")
        if not len(self):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if vector.shape != self._vectors.shape[1:]:
            raise DataError(
                f"the vector has the shape {vector.shape}, the index {self._vectors.shape[1:]}; embed the question "
                "with the embedder that the index was built with"
            )
        rows = self._select_rows(vector, k, allowed)
        if rows is None:
            return select_best(score_rows(self._vectors, vector), k)
        # One pass over all rows is faster than copying most of them.
        if len(rows) > LARGE_SHARE * len(self):
            return select_best(score_rows(self._vectors, vector), k, rows)
        best, scores = select_best(score_rows(self._vectors[rows], vector), k)
        return rows[best], scores

    def _select_rows(self, vector: np.ndarray, k: int, allowed: np.ndarray | None) -> np.ndarray | None:
        """Return the positions to compare, in ascending order; None for all of them."""
        if self._graph is None:
            return None if allowed is None else np.flatnonzero(allowed)
        share = 1.0 if allowed is None else float(np.count_nonzero(allowed)) / len(self)
        # Rows that are not allowed are dropped afterwards, so that as many more are asked for.
        count = len(self) if not share else int((k + MARGIN) / share)
        if allowed is not None and (share < EXACT_SHARE or count > EXACT_SHARE * len(self)):
            return np.flatnonzero(allowed)
        rows = self._graph.search(vector, min(count, len(self)), threads=1).keys.astype(np.int64)
        if allowed is not None:
            rows = rows[allowed[rows]]
            # The allowed rows are far from the vector.
            if len(rows) < k:
                return np.flatnonzero(allowed)
        return np.sort(rows)


def score_rows(vectors: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the dot product of each row with a vector, the same for a row whatever other rows there are."""
    # A matrix product would start threads, which wait for each other on a busy machine, and would add up the
    # products of a row in an order that depends on the number of rows.
    scores: np.ndarray = np.vecdot(vectors, vector.astype(np.float32, copy=False))
    return scores


def select_best(scores: np.ndarray, k: int, positions: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and values of the `k` highest scores, the highest first, ties by position.

    Args:
        scores: The score of each position.
        k: The most positions to return.
        positions: The positions to choose from, in ascending order; None for all.

    Example:
        >>> import numpy as np
        >>> [found.tolist() for found in select_best(np.array([1.0, 3.0, 2.0, 3.0]), k=3)]
        [[1, 3, 2], [3.0, 3.0, 2.0]]
    """
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


def _build_graph(vectors: np.ndarray) -> Any:  # noqa: ANN401 - usearch has no types
    """Build the HNSW graph."""
    graph = _import_usearch().Index(
        ndim=vectors.shape[1], metric="ip", dtype="f32", connectivity=CONNECTIVITY, expansion_add=EXPANSION
    )
    # With more than one thread, each build would give another graph.
    graph.add(np.arange(len(vectors)), vectors, threads=1)
    return graph


def _import_usearch() -> Any:  # noqa: ANN401 - usearch has no types
    try:
        import usearch.index
    except ImportError as error:
        raise MissingExtraError("reference", "usearch") from error
    return usearch.index
