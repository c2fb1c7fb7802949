"""Traversal of the graph by spreading activation, with a log of what was followed and what was cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.integer[Any]]
Scores = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The edges at each node, in both directions, in compressed rows.

    Those of node n are at `offsets[n]:offsets[n + 1]`, the edges with the greatest weight first, equal ones by the
    name of the neighbour. `edges` has positions of edges, `nodes` the node at the other end, and `forward` whether
    the edge leads to it.
    """

    offsets: Positions
    edges: Positions
    nodes: Positions
    forward: Mask

    def select_edges(self, allowed: Mask) -> Neighbours:
        """Return only the edges that a mask over all edges allows."""
        selected = allowed[self.edges]
        cumulative = np.concatenate(([0], np.cumsum(selected)))
        return Neighbours(cumulative[self.offsets], self.edges[selected], self.nodes[selected], self.forward[selected])


def sort_neighbours(source: Positions, target: Positions, weight: Positions, names: Sequence[str]) -> Neighbours:
    """Return the neighbours of each node. An edge from a node to itself is there once."""
    edge = np.arange(len(source), dtype=np.int64)
    # An edge from a node to itself is there once.
    back = source != target
    start = np.concatenate((source, target[back])).astype(np.int64)
    end = np.concatenate((target, source[back])).astype(np.int64)
    edges = np.concatenate((edge, edge[back]))
    forward = np.arange(len(edges)) < len(edge)
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)] = np.arange(len(names))
    order = np.lexsort((edges, rank[end], -np.asarray(weight, dtype=np.int64)[edges], start))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(start, minlength=len(names)))))
    return Neighbours(offsets, edges[order], end[order], forward[order])


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A traversal.

    `passed` is the activation that each edge passed on when it was first followed.
    """

    activation: Scores
    edges: Positions
    passed: Scores
    forward: Mask
    steps: Positions
    cut: dict[int, int]


def spread_activation(
    neighbours: Neighbours, starts: Mapping[int, float], *, depth: int, decay: float, limit: int
) -> Walk:
    """Spread activation from start nodes over edges in both directions.

    A neighbour gets the activation of the node times `decay`; the best activation of a node wins, so that activation
    never rises along a path. At most the first `limit` edges of a node are followed, and paths of at most `depth`.
    """
    activation = np.zeros(len(neighbours.offsets) - 1)
    for node, score in starts.items():
        activation[node] = score
    frontier = np.flatnonzero(activation > 0)
    followed = np.zeros(int(neighbours.edges.max(initial=-1)) + 1, dtype=np.bool_)
    parts: list[tuple[Positions, Scores, Mask, Positions]] = []
    cut: dict[int, int] = {}
    for step in range(1, depth + 1):
        # From the most activated node on, so that an edge between two of them is followed from the higher one.
        frontier = frontier[np.argsort(-activation[frontier], kind="stable")]
        slots, origins, skipped = _take_edges(neighbours, frontier, limit)
        cut.update(skipped)
        if not len(slots):
            break
        passed = activation[origins] * decay
        edges = neighbours.edges[slots]
        _, first = np.unique(edges, return_index=True)
        first = np.sort(first)
        new = first[~followed[edges[first]]]
        followed[edges[new]] = True
        parts.append((edges[new], passed[new], neighbours.forward[slots[new]], np.full(len(new), step)))
        ends = neighbours.nodes[slots]
        best = activation.copy()
        np.maximum.at(best, ends, passed)
        frontier = np.flatnonzero(best > activation)
        activation = best
    return Walk(activation, *_join_parts(parts), cut=cut)


def _take_edges(neighbours: Neighbours, nodes: Positions, limit: int) -> tuple[Positions, Positions, dict[int, int]]:
    """Return the first edges of nodes as places in the rows, the node of each, and the number of the other edges."""
    starts = neighbours.offsets[nodes]
    degrees = neighbours.offsets[nodes + 1] - starts
    counts = np.minimum(degrees, limit)
    offsets = np.cumsum(counts) - counts
    slots = np.repeat(starts - offsets, counts) + np.arange(int(counts.sum()))
    more = np.flatnonzero(degrees > limit)
    skipped = {int(nodes[n]): int(degrees[n] - limit) for n in more}
    return slots, np.repeat(nodes, counts), skipped


def _join_parts(
    parts: Sequence[tuple[Positions, Scores, Mask, Positions]],
) -> tuple[Positions, Scores, Mask, Positions]:
    if not parts:
        none = np.empty(0, dtype=np.int64)
        return none, np.empty(0), np.empty(0, dtype=np.bool_), none
    edges, passed, forward, steps = zip(*parts, strict=True)
    return np.concatenate(edges), np.concatenate(passed), np.concatenate(forward), np.concatenate(steps)
