"""The evidence that an answer needs by its gold."""

from __future__ import annotations

from diagnosed_cases import CHAIN, cause, chunks, walk, without


def test_what_is_in_the_context_is_not_lost():
    """However it came there: evidence in the context needs no entry, no walk and no place in the index."""
    wrong = walk(("Porto", "twin of", "Turin"), starts=("Porto",))
    assert cause(triples=None, traversal=wrong) == "not used"
    assert cause(without("ada")) == "not used"
    assert cause(chunks=None) == "not used"
    assert cause(chunks=[]) == "not used"
    assert cause(triples=None, traversal=None) == "not used"


def test_an_edge_without_gold_documents_may_stand_in_a_text():
    """Where gold names edges only, a chunk that names both ends gives the edge."""
    edges_only = {"expected_edges": CHAIN}
    assert cause(gold=edges_only, triples=None, traversal=None) == "not used"
    assert cause(gold=edges_only, triples=None, traversal=None, chunks=chunks("port")) == "not reached"
    short = [{"id": "c1", "text": "Of A. Moreau, Turin was the home; she made the Silver_Boat."}]
    assert cause(gold=edges_only, triples=None, traversal=None, chunks=short) == "not used"


def test_gold_may_name_chunks():
    """An essential document may be the id of a chunk; then that chunk is needed."""
    gold = {"essential_docs": ["ada#1"]}
    vector = {"triples": None, "traversal": None, "gold": gold}
    assert cause(**vector) == "not used"
    assert cause(**vector, chunks=chunks("boat")) == "not reached"
    assert cause(without("ada"), **vector, chunks=chunks("boat")) == "not in the index"
    assert cause(gold=gold, chunks=chunks("boat"), triples=None) == "dropped"


def test_a_method_without_a_graph_is_asked_for_documents_only():
    """What the graph of the index lacks is no cause for a method that only searches texts."""
    vector = {"triples": None, "traversal": None, "chunks": chunks("boat")}
    unknown = {"essential_docs": ["ada"], "expected_edges": [("Ada Moreau", "lives in", "Quito")]}
    assert cause(gold=unknown, **vector) == "not reached"
    assert cause(gold=unknown, chunks=chunks("boat")) == "not in the index"


def test_without_an_index_a_whole_walk_was_dropped():
    """Without an index a document counts as reached where the walk went along everything that gold expects."""
    assert cause(None, chunks=chunks("port")) == "dropped"
    assert cause(None, chunks=chunks("port"), triples=[], traversal=walk(CHAIN[0])) == "not reached"
