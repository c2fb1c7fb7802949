"""What searches compute from an index once: sorted neighbours, rarity of entities, and the graph of PageRank.

PageRank is personalised, on an undirected graph, and computed as the solution of a linear system.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from greval.reference.graph_arrays import GroupedPositions
from greval.reference.traversal import Mask, Neighbours, Positions, Scores, sort_neighbours

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from greval.reference.index import ReferenceIndex

TOLERANCE = 1e-6
MAX_DAMPING = 0.999
"""Without restarts, the rank would not depend on the start nodes."""


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


@dataclass(frozen=True, slots=True, eq=False)
class RankGraph:
    """An undirected weighted graph, prepared for PageRank."""

    weights: csr_array
    roots: Scores

    @classmethod
    def build(cls, source: Positions, target: Positions, weight: Scores, nodes: int) -> RankGraph:
        """Build the graph of edges between nodes. The weights of parallel edges add up."""
        from scipy.sparse import coo_array

        # An edge from a node to itself is there once.
        back = source != target
        rows, columns = np.concatenate((source, target[back])), np.concatenate((target, source[back]))
        values = np.concatenate((weight, weight[back])).astype(np.float64)
        roots = np.sqrt(np.bincount(rows, weights=values, minlength=nodes))
        # Half the memory to read at each step.
        places = rows.astype(np.int32), columns.astype(np.int32)
        return cls(coo_array((values / (roots[rows] * roots[columns]), places), (nodes, nodes)).tocsr(), roots)


def rank_nodes(graph: RankGraph, starts: Scores, damping: float) -> Scores:
    """Return the personalised PageRank of each node.

    A walk starts at a node in proportion to `starts`, follows an edge with the probability `damping`, and starts again
    otherwise. At a node without edges it starts again.
    """
    damping = min(damping, MAX_DAMPING)
    roots = np.where(graph.roots > 0, graph.roots, 1.0)
    # The graph is undirected, so that the system is symmetric, and conjugate gradients solve it in a fraction of
    # the steps of a power iteration.
    solution = _solve_system(graph.weights, starts / roots, damping)
    ranks = np.maximum(solution * roots, 0.0)
    return np.asarray(ranks / ranks.sum(), dtype=np.float64)


def _solve_system(weights: csr_array, right: Scores, damping: float) -> Scores:
    """Solve (1 - damping * weights) x = right by conjugate gradients."""
    # `scipy.sparse.linalg.cg` takes several times as long on a busy machine: its dot products start threads, which
    # wait for each other.
    solution = np.zeros_like(right)
    residual = right.copy()
    direction = right.copy()
    square = float(np.einsum("i,i->", residual, residual))
    least = square * TOLERANCE**2
    for _ in range(len(right)):
        if square <= least:
            break
        image = direction - damping * (weights @ direction)
        step = square / float(np.einsum("i,i->", direction, image))
        solution += step * direction
        residual -= step * image
        previous, square = square, float(np.einsum("i,i->", residual, residual))
        direction *= square / previous
        direction += residual
    return solution
