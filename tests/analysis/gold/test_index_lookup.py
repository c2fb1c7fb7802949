"""Gold that is looked up in an index."""

from __future__ import annotations

from gold_cases import EDGE, INDEX, only, told

from greval.records.inventory import IndexInventory


def test_related_tells_no_relation():
    """An edge of gold that is only `related` fits a described one of the index, and the other way round."""
    described = {("Ada", "wrote in 1843", "Notes"): ("d1",), ("Ada", "related", "Charles"): ("d1",)}
    index = IndexInventory(nodes=INDEX.nodes, edges=described)
    assert told(index, expected_edges=[("Ada", "related", "Notes"), ("Charles", "related", "Ada")]) == []
    assert told(index, expected_edges=[("Ada", "wrote in 1843", "Charles")]) == []
    other = IndexInventory(nodes=INDEX.nodes, edges={**described, ("Ada", "met", "Notes"): ("d1",)})
    assert told(other, expected_edges=[("Ada", "MET", "Charles")]) == []
    lost = IndexInventory(nodes=INDEX.nodes, edges={EDGE: ("d1",), ("Charles", "met", "Ada"): ("d1",)})
    assert "Ada -met-> Notes not in the index" in only(told(lost, expected_edges=[("Ada", "met", "Notes")]))
    assert "Charles -related-> Notes not in" in only(told(lost, expected_edges=[("Charles", "related", "Notes")]))


def test_documents_and_nodes_that_are_in_no_index():
    """Documents, expected nodes and start nodes must be in the index."""
    assert "gold.essential_docs: d2, d3 not in the index" in only(told(INDEX, essential_docs=["d1", "d2", "d3"]))
    assert "gold.helpful_docs: d4" in only(told(INDEX, essential_docs=["d1"], helpful_docs=["d4"]))
    assert "gold.start_nodes: no node Grace" in only(told(INDEX, start_nodes=["Grace"]))
    assert "gold.expected_nodes: no node Grace" in only(told(INDEX, expected_nodes=["Grace"]))
    assert told(IndexInventory(), essential_docs=["d9"], expected_nodes=["x"], expected_edges=[("x", "y", "x")]) == []
