"""Activation spreads as a search by breadth says, never rises along a path, and the log names what was cut."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.reference.traversal import sort_neighbours, spread_activation

NODES = 8
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(1, 3)), max_size=24)
STARTS = st.dictionaries(st.integers(0, NODES - 1), st.sampled_from([1.0, 0.9, 0.5]), min_size=1, max_size=3)
DECAY = st.sampled_from([0.0, 0.3, 0.5, 1.0])
NAMES = [f"n{number}" for number in range(NODES)]


def build(edges):
    """Return the neighbours of edges given as (source, target, weight)."""
    columns = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    return sort_neighbours(*columns, NAMES)


def spread(edges, starts, depth=2, decay=0.5, limit=100):
    """Return the walk over edges given as (source, target, weight)."""
    return spread_activation(build(edges), starts, depth=depth, decay=decay, limit=limit)


def best_activations(edges, starts, depth, decay):
    """Return the best activation of each node over all paths, by enumeration of levels in plain Python."""
    linked = defaultdict(set)
    for source, target, _ in edges:
        linked[source].add(target)
        linked[target].add(source)
    best = dict(starts)
    level = dict(starts)
    for _ in range(depth):
        following = {}
        for node, score in level.items():
            for neighbour in linked[node]:
                following[neighbour] = max(following.get(neighbour, 0.0), score * decay)
        for node, score in following.items():
            best[node] = max(best.get(node, 0.0), score)
        level = following
    return [best.get(node, 0.0) for node in range(NODES)]


@given(EDGES, STARTS, st.integers(0, 4), DECAY)
def test_the_best_activation_over_all_paths_wins(edges, starts, depth, decay):
    """Activations are those of the best path of at most so many steps."""
    walk = spread(edges, starts, depth, decay)
    assert walk.activation.tolist() == pytest.approx(best_activations(edges, starts, depth, decay))


@given(EDGES, STARTS, st.integers(0, 4), DECAY, st.integers(1, 5))
def test_activation_never_rises_along_a_path(edges, starts, depth, decay, limit):
    """An edge passes on at most what its first end has, and its second end has at least what was passed on."""
    walk = spread(edges, starts, depth, decay, limit)
    for edge, passed, forward in zip(walk.edges, walk.passed, walk.forward, strict=True):
        origin, end = edges[edge][:2] if forward else edges[edge][1::-1]
        assert passed <= walk.activation[origin] * decay + 1e-12
        assert walk.activation[end] >= passed
    assert walk.activation.max() <= max(starts.values())


@given(EDGES, STARTS, st.integers(0, 4), DECAY, st.integers(1, 5))
def test_each_edge_is_followed_once_and_every_node_is_reached_over_followed_edges(edges, starts, depth, decay, limit):
    """The log is in the order of steps, has no edge twice, and connects each reached node with a start node."""
    walk = spread(edges, starts, depth, decay, limit)
    assert len(set(walk.edges.tolist())) == len(walk.edges)
    assert walk.steps.tolist() == sorted(walk.steps.tolist())
    reached = set(starts)
    for edge, forward in zip(walk.edges, walk.forward, strict=True):
        origin, end = edges[edge][:2] if forward else edges[edge][1::-1]
        assert origin in reached
        reached.add(end)
    assert set(np.flatnonzero(walk.activation > 0)) <= reached


@given(EDGES, STARTS, st.integers(0, 4), st.sampled_from([0.3, 0.5, 1.0]), st.lists(st.booleans()))
def test_a_mask_of_edges_never_adds(edges, starts, depth, decay, mask):
    """What is reached over some of the edges is reached over all, with at least that activation."""
    allowed = np.array([*mask, *[False] * len(edges)][: len(edges)], dtype=bool)
    part = spread_activation(build(edges).select_edges(allowed), starts, depth=depth, decay=decay, limit=100)
    assert (part.activation <= spread(edges, starts, depth, decay).activation + 1e-12).all()
    assert allowed[part.edges].all()


def test_the_published_example():
    """Neighbours have half of the activation of a start node, their neighbours a quarter; both directions count."""
    walk = spread([(0, 1, 1), (2, 1, 1), (2, 3, 1)], {0: 1.0})
    assert walk.activation[:4].tolist() == [1.0, 0.5, 0.25, 0.0]
    assert walk.edges.tolist() == [0, 1]
    assert walk.forward.tolist() == [True, False]
    assert walk.steps.tolist() == [1, 2]


def test_edges_beyond_the_limit_are_counted():
    """The edges with the greatest weight are followed, ties by name; the number of the others is logged."""
    walk = spread([(0, 1, 1), (0, 2, 3), (3, 0, 1), (0, 4, 2)], {0: 1.0}, limit=3)
    assert walk.edges.tolist() == [1, 3, 0]
    assert walk.cut == {0: 1}
    assert not walk.activation[3]


def test_an_edge_from_a_node_to_itself_is_one_edge():
    """It is followed once, and changes no activation."""
    walk = spread([(0, 0, 1), (0, 1, 1)], {0: 1.0})
    assert sorted(walk.edges.tolist()) == [0, 1]
    assert walk.activation[:2].tolist() == [1.0, 0.5]
