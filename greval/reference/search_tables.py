"""What searches compute from an index once: sorted neighbours, rarity of entities, and the matrix of PageRank."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from greval.reference.graph_arrays import GroupedPositions
from greval.reference.pagerank import RankGraph
from greval.reference.traversal import Mask, Neighbours, Scores, sort_neighbours

if TYPE_CHECKING:
    from greval.reference.index import ReferenceIndex


class SearchTables:
    """What searches of one index share. Each part is computed when a search first needs it."""

    def __init__(self, index: ReferenceIndex) -> None:
        self.edges = index.edges
        self.mentions = index.mentions
        self.entities = index.entities
        self.names = index.entity_positions
        self.find_entity = index.find_entity
        self.chunks = len(index.chunk_ids)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The edges at each entity, in both directions."""
        return sort_neighbours(self.edges.source, self.edges.target, self.edges.weight, self.entities)

    @cached_property
    def spellings(self) -> tuple[list[str], list[int]]:
        """All normalised names, and the position of the entity of each."""
        return [*self.names], [*self.names.values()]

    @cached_property
    def stated_edges(self) -> GroupedPositions:
        """The edges that each chunk states."""
        evidence = self.edges.evidence
        edges = np.repeat(np.arange(len(self.edges), dtype=np.int32), np.diff(evidence.offsets))
        return GroupedPositions.build(evidence.items, edges, self.chunks)

    @cached_property
    def rarity(self) -> Scores:
        """The inverse document frequency of each entity over chunks: log(1 + chunks / chunks that mention it)."""
        counts = np.diff(self.mentions.chunks.offsets)
        return np.log1p(self.chunks / np.maximum(counts, 1))

    @cached_property
    def rank_graph(self) -> RankGraph:
        """The graph for PageRank: the entities, and the chunks that mention them, which follow them."""
        return self.build_rank_graph()

    def build_rank_graph(self, allowed: Mask | None = None) -> RankGraph:
        """Build the graph for PageRank; with a mask over chunks, only of what allowed chunks state or mention."""
        edges, entities = self.edges, len(self.entities)
        selected = slice(None) if allowed is None else edges.evidence.find_allowed(allowed)
        source, target = edges.source[selected].astype(np.int64), edges.target[selected].astype(np.int64)
        weight = edges.weight[selected].astype(np.float64)
        by_entity = self.mentions.chunks
        owners = np.repeat(np.arange(entities), np.diff(by_entity.offsets))
        mentioned = by_entity.items.astype(np.int64)
        if allowed is not None:
            owners, mentioned = owners[allowed[mentioned]], mentioned[allowed[mentioned]]
        return RankGraph.build(
            np.concatenate((source, owners)),
            np.concatenate((target, entities + mentioned)),
            np.concatenate((weight, np.ones(len(owners)))),
            entities + self.chunks,
        )
