"""Chunks of documents: sentences, as many as fit into a chunk, with some repeated from the chunk before."""

from __future__ import annotations

from greval.methods.reference.records import Document, IndexedChunk
from greval.methods.reference.settings import IndexSettings


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences.

    Example:
        >>> split_sentences("Dr. Ada lives here. She writes.")
        ['Dr. Ada lives here.', 'She writes.']
    """
    raise NotImplementedError


def chunk_document(document: Document, settings: IndexSettings) -> list[IndexedChunk]:
    """Return the chunks of a document."""
    raise NotImplementedError
