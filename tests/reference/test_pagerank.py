"""Personalised PageRank equals the solution of its equations, and a long walk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.reference.search_tables import RankGraph, rank_nodes

NODES = 7
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(1, 5)), max_size=20)
STARTS = st.dictionaries(st.integers(0, NODES - 1), st.floats(0.1, 5), min_size=1)
DAMPING = st.floats(0, 0.95)


def rank(edges, starts, damping):
    """Return the ranks of the nodes of edges given as (left, right, weight)."""
    source, right, weight = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    restart = np.zeros(NODES)
    restart[[*starts]] = [*starts.values()]
    return rank_nodes(RankGraph.build(source, right, weight.astype(float), NODES), restart, damping)


def build_dense(edges, starts):
    """Return the dense matrix of transitions with restarts at nodes without edges, and the restart vector."""
    weights = np.zeros((NODES, NODES))
    for source, right, weight in edges:
        weights[source, right] += weight
        if source != right:
            weights[right, source] += weight
    restart = np.zeros(NODES)
    restart[[*starts]] = [*starts.values()]
    restart /= restart.sum()
    strength = weights.sum(axis=0)
    return np.where(strength > 0, weights / np.where(strength > 0, strength, 1), restart[:, None]), restart


@given(EDGES, STARTS, DAMPING)
def test_ranks_solve_the_equations(edges, starts, damping):
    """Ranks equal a dense solution of r = damping * M r + (1 - damping) * restart."""
    transitions, restart = build_dense(edges, starts)
    expected = np.linalg.solve(np.eye(NODES) - damping * transitions, (1 - damping) * restart)
    assert rank(edges, starts, damping) == pytest.approx(expected, abs=1e-5)


@given(EDGES, STARTS, DAMPING)
def test_ranks_are_shares_and_stay_where_the_start_nodes_can_reach(edges, starts, damping):
    """Ranks are not negative and add up to 1; what no start node is connected with has none."""
    ranks = rank(edges, starts, damping)
    assert (ranks >= 0).all()
    assert ranks.sum() == pytest.approx(1)
    reached = set(starts)
    for _ in range(NODES):
        reached |= {end for source, right, _ in edges for end in (source, right) if {source, right} & reached}
    assert not ranks[[node for node in range(NODES) if node not in reached]].any()


def test_a_long_random_walk_visits_nodes_as_often_as_their_ranks_say():
    """An independent simulation gives the same shares."""
    edges, starts, damping = [(0, 1, 1), (1, 2, 3), (2, 0, 1), (2, 3, 1)], {0: 1.0}, 0.7
    transitions, restart = build_dense(edges, starts)
    random = np.random.default_rng(3)
    visits, node = np.zeros(NODES), 0
    for _ in range(8_000):
        visits[node] += 1
        follows = random.random() < damping
        node = random.choice(NODES, p=transitions[:, node] if follows else restart)
    assert rank(edges, starts, damping) == pytest.approx(visits / visits.sum(), abs=0.04)
