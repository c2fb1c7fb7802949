"""Inventories: the contents of an index, used to find gold items that no method could retrieve; names in graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from greval.records.case import Edge

RELATED = "related"
"""The label of an edge whose relation is unknown."""
QUOTES = '""'


def strip_quotes(name: str) -> str:
    """Return an entity's name without the quotes that early versions of GraphRAG and LightRAG put around it."""
    return name[1:-1] if len(name) > len(QUOTES) and name[0] + name[-1] == QUOTES else name


def format_edge_label(description: object) -> str:
    """Return the label of an edge: the description of its relation, or `related` if it has no description."""
    return " ".join(description.split()) or RELATED if isinstance(description, str) else RELATED


@dataclass(frozen=True)
class IndexInventory:
    """The contents of an index: documents, chunks, and the nodes and edges of its graph with their documents.

    Args:
        documents: Ids of the indexed documents.
        chunks: The document of each chunk, by the chunk's id.
        nodes: The documents that each node of the graph comes from, by the node's name.
        edges: The documents that each edge comes from.
        aliases: Other names of a node, by its name.
        notes: Faults of the index, one sentence each, such as an edge whose end is not a node.

    Example:
        >>> inventory = IndexInventory(documents=frozenset({"d1"}), nodes={"Ada": ("d1",)})
        >>> "d2" in inventory.documents, inventory.nodes["Ada"]
        (False, ('d1',))
    """

    documents: frozenset[str] = frozenset()
    chunks: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edges: Mapping[Edge, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
