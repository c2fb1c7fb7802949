"""Personalised PageRank on an undirected graph, as the solution of a linear system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from greval.reference.traversal import Positions, Scores

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOLERANCE = 1e-6
MAX_DAMPING = 0.999
"""Without restarts, the rank would not depend on the start nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class RankGraph:
    """An undirected weighted graph, prepared for PageRank.

    Args:
        weights: The symmetric matrix of weights, each divided by the square roots of the strengths of both ends.
        roots: The square root of the strength of each node, which is the sum of the weights of its edges.
    """

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

    Example:
        >>> import numpy as np
        >>> pair = RankGraph.build(np.array([0]), np.array([1]), np.array([1.0]), 2)
        >>> rank_nodes(pair, np.array([1.0, 0.0]), damping=0.5).round(4).tolist()
        [0.6667, 0.3333]
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
