"""Reader of an index of the reference pipeline as an inventory."""

from __future__ import annotations

from pathlib import Path

from greval.methods.index_records import describe_dangling, find_document, list_documents
from greval.records.inventory import IndexInventory
from greval.reference.index import ReferenceIndex


def read_reference(folder: str | Path) -> IndexInventory:
    """Read the inventory of an index of the reference pipeline.

    Documents and chunks are identified by their ids, a node by the name of its entity, which has the other names of
    the entity as aliases. A document without a chunk, such as an empty one, is left out.
    """
    with ReferenceIndex.open(folder) as index:
        chunks = {chunk: find_document(chunk) for chunk in index.chunk_ids}
        entities, relations = index.read_entities(), index.read_relations()
    nodes = {entity.name: list_documents(entity.chunks) for entity in entities}
    edges = {(relation.source, relation.label, relation.target): relation.documents for relation in relations}
    return IndexInventory(
        documents=frozenset(chunks.values()),
        chunks=chunks,
        nodes=nodes,
        edges=edges,
        aliases={entity.name: entity.aliases for entity in entities if entity.aliases},
        notes=tuple(describe_dangling(edges, nodes)) if nodes else (),
    )
