"""The index of words: BM25 over texts, with identifiers of code found whole and by their parts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from greval.errors import DataError, MissingExtraError
from greval.reference.storage.vectors import select_best

K1 = 1.5
B = 0.75
_STOP_WORDS = """
a about after all also am an and any are as at be because been before being between both but by can could did do
does doing during each for from had has have having he her here hers him his how i if in into is it its itself just
me more most my no nor not of off on once only or other our ours out over own s same she should so some such t than
that the their theirs them then there these they this those through to too under until up very was we were what when
where which while who whom whose why will with would you your yours
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""The most frequent words of English, and its question words."""
_WORD = re.compile(r"\w+(?:[-.]\w+)*")
_JOINTS = re.compile(r"[-._]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
"""Scripts without spaces between words: Han, Hiragana and Katakana."""


def split_search_words(text: str) -> list[str]:
    """Return the words of a text in lower case, in their order, without the most frequent words of English.

    A name with hyphens, dots, underscores or capitals within is followed by its parts. Text of a script without spaces
    is split into pairs of characters.

    Example:
        >>> split_search_words("The HTTPServer reads retry_limit")
        ['httpserver', 'http', 'server', 'reads', 'retry_limit', 'retry', 'limit']
    """
    return [word for word in _iterate_words(unicodedata.normalize("NFKC", text)) if word not in STOP_WORDS]


def _iterate_words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0]
        if _UNSPACED.search(word):
            yield from _split_unspaced(word)
            continue
        yield word.casefold()
        # A plain word has no parts.
        if word.isascii() and (word.islower() or word.isupper()) and word.isalnum():
            continue
        parts = [part for part in _JOINTS.split(word) if part]
        if len(parts) > 1 or (parts and parts[0] != word):
            yield from (part.casefold() for part in parts)


def _split_unspaced(word: str) -> Iterator[str]:
    start = 0
    for run in _UNSPACED.finditer(word):
        yield from _iterate_words(word[start : run.start()])
        characters = run[0]
        yield from (characters[n : n + 2] for n in range(max(1, len(characters) - 1)))
        start = run.end()
    yield from _iterate_words(word[start:])


class WordIndex:
    """Texts, found by their words: BM25 as in Lucene, with k1 = 1.5 and b = 0.75."""

    def __init__(self, ranking: Any, size: int) -> None:  # noqa: ANN401 - bm25s has no types
        self._ranking = ranking
        self._size = size

    def __len__(self) -> int:
        return self._size

    @classmethod
    def build(cls, texts: Sequence[str]) -> WordIndex:
        """Build the index of texts."""
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(word, len(numbers)) for word in split_search_words(text)] for text in texts]
        if not numbers:
            return cls(None, len(rows))
        ranking = _import_bm25s().BM25(k1=K1, b=B, method="lucene")
        ranking.index((rows, numbers), create_empty_token=False, show_progress=False)
        return cls(ranking, len(rows))

    def save(self, folder: Path) -> None:
        """Write the index to a folder, which is created."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "size.npy", np.array([self._size], dtype=np.int64))
        if self._ranking is not None:
            self._ranking.save(str(folder / "bm25"), show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> WordIndex:
        """Open an index. It is mapped to memory, and read from disk when it is needed."""
        try:
            size, *_ = np.load(folder / "size.npy").tolist()
            ranking = None
            if (folder / "bm25").exists():
                ranking = _import_bm25s().BM25.load(str(folder / "bm25"), mmap=True, show_progress=False, verbosity=0)
        except (OSError, ValueError) as error:
            raise DataError(
                f"{folder}: expected an index of words ({error}); build it again with greval index build"
            ) from error
        return cls(ranking, size)

    def search(self, text: str, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and scores of the `k` best texts, best first, ties by position; none with a score of 0.

        A word that the text has twice counts twice.
        """
        vocabulary = self._ranking.vocab_dict if self._ranking is not None else {}
        words = [vocabulary[word] for word in split_search_words(text) if word in vocabulary]
        if not words:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        scores: np.ndarray = self._ranking.get_scores_from_ids(words)
        matching = scores > 0
        return select_best(scores, k, np.flatnonzero(matching if allowed is None else matching & allowed))


def _import_bm25s() -> Any:  # noqa: ANN401 - bm25s has no types
    try:
        import bm25s
    except ImportError as error:
        raise MissingExtraError("reference", "bm25s") from error
    return bm25s
