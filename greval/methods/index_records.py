"""The chunks of an index with their texts, and its graph, as the readers of other systems' indexes return them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greval.reference.records import Entity, IndexedChunk, Relation


@dataclass(frozen=True)
class IndexGraph:
    """The chunks, entities and relations of an index, with the names that the index has.

    Args:
        chunks: The chunks, each with its text and its document; these are empty if the index does not have them.
        entities: The entities, each with the ids of its chunks.
        relations: The relations, each with the ids of its chunks; the label is a description.
        notes: What the reader left out, one sentence each.
    """

    chunks: Sequence[IndexedChunk]
    entities: Sequence[Entity]
    relations: Sequence[Relation]
    notes: tuple[str, ...] = ()
