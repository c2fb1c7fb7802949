"""Edges of graphs: their labels, and the note on ends that are not nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greval.methods.index_records import MAX_LISTED, describe_dangling
from greval.records.inventory import RELATED, format_edge_label

NODES = st.sampled_from("abcdef")
EDGES = st.lists(st.tuples(NODES, st.just("knows"), NODES))


@given(st.text() | st.none() | st.floats(allow_nan=True))
def test_a_label_is_one_line_and_never_empty(description):
    """A description becomes one line without space at its ends; anything else is `related`."""
    label = format_edge_label(description)
    assert label == " ".join(label.split())
    assert label
    if not isinstance(description, str) or not description.strip():
        assert label == RELATED


@given(EDGES, st.sets(NODES))
def test_dangling_edges_are_counted(edges, nodes):
    """The note counts exactly the edges with an end outside the nodes, and there is none without such an edge."""
    dangling = [edge for edge in edges if not {edge[0], edge[2]} <= nodes]
    sentences = describe_dangling(edges, nodes)
    if not dangling:
        assert sentences == []
        return
    (note,) = sentences
    missing = sorted({end for edge in dangling for end in (edge[0], edge[2])} - nodes)
    assert note.startswith("1 edge has" if len(dangling) == 1 else f"{len(dangling)} edges have")
    assert all(repr(name) in note for name in missing[:MAX_LISTED])
