"""Walks and gold are compared by normalised names, and depths are those of a breadth-first search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.computed.graph_walk import (
    UNDIRECTED,
    UNLABELLED,
    compute_depths,
    explain_missing_edges,
    normalise_name,
    read_walk,
)
from greval.records.case import Case
from greval.records.result import Skipped

EDGES = st.lists(st.tuples(st.sampled_from("abcdef"), st.just("r"), st.sampled_from("abcdef")), max_size=9)


def walk_of(edges=(), gold=None, **parts):
    return read_walk(Case(question="?", traversal={"traversed_edges": edges, **parts}, gold=gold))


@pytest.mark.parametrize("name", ["Harbour_Team", " harbour  team ", "HARBOUR TEAM", "\uff28arbour team"])
def test_spellings_of_one_name(name):
    """Case, underscores, spaces and width make no difference."""
    assert normalise_name(name) == "harbour team"


@given(name=st.text(max_size=12))
def test_a_normal_form_stays(name):
    """Normalising a normalised name changes nothing."""
    assert normalise_name(normalise_name(name)) == normalise_name(name)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ((), [("A", "calls", "b"), ("a", "CALLS", "B")]),
        ((UNDIRECTED,), [("a", "calls", "b"), ("b", "calls", "a")]),
        ((UNLABELLED,), [("a", "calls", "b"), ("a", "reads", "b")]),
        ((UNDIRECTED, UNLABELLED), [("a", "calls", "b"), ("b", "reads", "a")]),
    ],
)
def test_options_merge_edges(options, same):
    """Each option makes two edges one that are two without it; the first spelling is kept."""
    walk = walk_of(same)
    assert len(walk.map_edges(same, options)) == 1
    assert len(walk.map_edges(same, ())) == (2 if options else 1)


def test_an_edge_without_label_matches_any():
    """A label counts for nothing between two ends that an edge without a label joins, on either side."""
    walk = walk_of([("a", "calls", "b")], gold={"expected_edges": [("b", "a"), ("c", "x", "d")]})
    assert [*walk.normalise_edges([("a", "calls", "b"), ("c", "x", "d")], ())] == [("a", "", "b"), ("c", "x", "d")]


def test_missing_edges():
    """A walk that ends elsewhere than it began must have edges; without a traversal there is no walk."""
    assert isinstance(explain_missing_edges(walk_of(start_nodes=["a"], final_nodes=["b"])), Skipped)
    assert explain_missing_edges(walk_of(start_nodes=["a", "b"], final_nodes=["B"])) is None
    assert read_walk(Case(question="?")) == Skipped(reason="traversal is not recorded")


@given(edges=EDGES, start=st.sampled_from("abcdef"))
def test_depths_by_relaxation(edges, start):
    """Depths are those found by relaxing every edge in both directions until nothing changes."""
    expected = {start: 0}
    for _ in range(len(edges) + 1):
        for a, _, b in (*edges, *((b, r, a) for a, r, b in edges)):
            if a in expected:
                expected[b] = min(expected.get(b, 99), expected[a] + 1)
    assert compute_depths(edges, [start]) == expected
