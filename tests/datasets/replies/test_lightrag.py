"""Contexts of LightRAG as chunks, triples and traversals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lightrag_folder import EDGE, write
from lightrag_stand_in import DATA

from greval.datasets.replies.lightrag import SEPARATOR, build_edge, build_response, find_file_path
from greval.methods.lightrag.index import read_lightrag
from greval.records.case import Traversal


def test_context_becomes_a_response(tmp_path):
    """Chunks, triples and the walk have the ids, the labels and the names of the inventory."""
    inventory = read_lightrag(write(tmp_path))
    response = build_response("It was Ada.", DATA, {"c1": "doc-1"}, "mix")
    assert [(c.id, c.doc_id) for c in response.chunks] == [*inventory.chunks.items()][:1]
    assert [(t.id, t.subject, t.predicate, t.object) for t in response.triples] == [
        ("relation:Ada|Notes", *EDGE),
        ("entity:Notes", "Notes", "description", "A text."),
    ]
    assert response.traversal == Traversal(
        start_nodes=("Notes", "Ada"), traversed_edges=(EDGE,), final_nodes=("Notes", "Ada")
    )
    assert {*response.traversal.traversed_edges} <= {*inventory.edges}


def test_modes_without_a_start():
    """The mode `global` begins at relations, and `naive` has no walk at all."""
    assert build_response("So.", DATA, {}, "global").traversal.start_nodes == ()
    assert build_response("So.", {"chunks": DATA["chunks"]}, {}, "naive").traversal is None


@given(st.text(), st.text(), st.lists(st.text(st.sampled_from("ab c"))))
def test_edges_have_no_direction(source, target, parts):
    """The same relation is the same edge in either direction, and merged descriptions are one label."""
    description = SEPARATOR.join(parts)
    edge = build_edge(source, target, description)
    assert edge == build_edge(target, source, description)
    assert edge[0] <= edge[2]
    assert {edge[0], edge[2]} == {source, target}
    assert SEPARATOR not in edge[1]


def test_an_unknown_path_is_no_path():
    """What LightRAG writes for a text without a file is not taken for the name of one."""
    assert find_file_path({"file_path": "a.md"}) == "a.md"
    assert [find_file_path(row) for row in ({}, {"file_path": ""}, {"file_path": "unknown_source"})] == [None] * 3
