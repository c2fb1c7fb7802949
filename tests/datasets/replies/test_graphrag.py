"""Contexts of GraphRAG as chunks, triples and traversals."""

from __future__ import annotations

import pandas as pd
from graphrag_tables import SOURCES, TABLES

from greval.datasets.replies.graphrag import IndexIds, build_response
from greval.records.case import Traversal

CONTEXT = {
    "sources": SOURCES,
    "entities": pd.DataFrame({"id": ["4", "9"], "entity": ["ADA", "BOB"], "description": ["A writer.", ""]}),
    "relationships": pd.DataFrame(
        {"id": ["7"], "source": ["ADA"], "target": ["NOTES"], "description": ["Ada wrote\n them."], "weight": ["1"]}
    ),
    "claims": pd.DataFrame({"id": ["3"], "entity": ["ADA"], "description": ["Ada was first."], "status": ["TRUE"]}),
    "reports": pd.DataFrame({"id": ["2", "3"], "title": ["x", "y"], "content": ["All about Ada.", "All."]}),
}


def test_numbers_become_ids():
    """Numbers of the context become the ids of the index, and chunks know their documents."""
    response = build_response("It was Ada.", [CONTEXT], IndexIds.from_tables(TABLES))
    assert [(c.id, c.text, c.doc_id) for c in response.chunks] == [
        ("u-b", "second", "d2"),
        ("u-a", "first", "d1"),
        ("report:2", "All about Ada.", "d1"),
        ("report:3", "All.", None),
    ]
    assert [c.doc_id for c in build_response("", [CONTEXT], IndexIds.from_tables(TABLES, "title")).chunks[:2]] == [
        "two.txt",
        "one.txt",
    ]


def test_triples_and_walk():
    """Relationships come first, then descriptions and claims; the walk begins at the entities."""
    response = build_response("It was Ada.", [CONTEXT], IndexIds.from_tables(TABLES))
    assert [(t.id, t.subject, t.predicate, t.object) for t in response.triples] == [
        ("r-a", "ADA", "Ada wrote them.", "NOTES"),
        ("e-a", "ADA", "description", "A writer."),
        ("claims:3", "ADA", "claim", "Ada was first."),
    ]
    assert response.traversal == Traversal(
        start_nodes=("ADA", "BOB"),
        traversed_edges=(("ADA", "Ada wrote them.", "NOTES"),),
        final_nodes=("ADA", "BOB", "NOTES"),
    )


def test_no_graph_no_walk():
    """Without entities in the context there is no walk, and that there are no triples is recorded."""
    response = build_response("So.", [{"sources": SOURCES}], IndexIds.from_tables(TABLES))
    assert response.traversal is None
    assert response.triples == ()
    assert build_response("So.", [{}], IndexIds()).chunks == ()


def test_several_contexts():
    """What several contexts of a search hold is there once, at its first place."""
    second_context = {"sources": pd.DataFrame({"id": ["5", "0"], "text": ["new", "first, cut"]})}
    response = build_response("So.", [CONTEXT, second_context, CONTEXT], IndexIds.from_tables(TABLES))
    assert [c.id for c in response.chunks] == ["u-b", "u-a", "sources:5", "report:2", "report:3"]
    assert [c.text for c in response.chunks[:3]] == ["second", "first", "new"]
    assert len(response.triples) == 3


def test_candidates_are_left_out():
    """A row that was a candidate and is not in the context was not given to the model."""
    sources = SOURCES.assign(in_context=[False, True])
    assert [c.id for c in build_response("So.", [{"sources": sources}], IndexIds.from_tables(TABLES)).chunks] == ["u-a"]
