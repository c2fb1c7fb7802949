"""Inventories: what an index holds, so that it can be told what no method could have found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from greval.records.case import Edge

RELATED = "related"
"""The label of an edge whose relation is not told."""


@dataclass(frozen=True)
class Inventory:
    """What an index holds: documents, chunks, nodes and edges of its graph, and which document told each.

    Args:
        documents: Ids of the indexed documents.
        chunks: The document of each chunk, by the chunk's id.
        nodes: The documents that each node of the graph comes from, by the node's name.
        edges: The documents that each edge comes from.
        aliases: Other names of a node, by its name.
        notes: What is wrong with the index, one sentence each, such as an edge whose end is no node.

    Example:
        >>> inventory = Inventory(documents=frozenset({"d1"}), nodes={"Ada": ("d1",)})
        >>> "d2" in inventory.documents, inventory.nodes["Ada"]
        (False, ('d1',))
    """

    documents: frozenset[str] = frozenset()
    chunks: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edges: Mapping[Edge, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
