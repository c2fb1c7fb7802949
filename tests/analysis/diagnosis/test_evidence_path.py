"""The evidence path: names, labels and the nodes at which a traversal began."""

from __future__ import annotations

from diagnosed_cases import CHAIN, GOLD, INDEX, cause, chunks, walk, without

from greval.records.inventory import IndexInventory


def test_names_stand_in_texts_of_any_script():
    """Scripts that write words together need no spaces around a name; in others a part of a word is no name."""
    bare = {"triples": None, "traversal": None}
    together = [{"id": "c1", "text": "艾达·莫罗出生于都灵。"}]
    assert cause(**bare, gold={"expected_edges": [("艾达·莫罗", "出生于", "都灵")]}, chunks=together) == "not used"
    part = [{"id": "c1", "text": "Adastra was born in Turinia."}]
    assert cause(None, **bare, gold={"expected_edges": [("Ada", "born in", "Turin")]}, chunks=part) == "not reached"


def test_names_are_compared_as_people_mean_them():
    """Case, underscores, aliases of the gold and of the index, and the direction of an edge make no difference."""
    turned = (("ada_moreau", "DIRECTED_BY", "SILVER BOAT"), ("turin", "born in", "A. Moreau"))
    assert cause(chunks=None, triples=turned, traversal=walk(*turned, starts=["SILVER_BOAT"])) == "not used"
    gold = {**GOLD, "aliases": {"Silver Boat": ["Barca d'argento"]}}
    other = walk(("Barca d'argento", "directed by", "Ada Moreau"), starts=["barca d'argento"])
    assert cause(gold=gold, chunks=chunks("boat"), triples=[], traversal=other) == "not reached"
    assert cause(gold=GOLD, chunks=chunks("boat"), triples=[], traversal=other) == "entry not found"


def test_labels_count_where_the_graph_uses_them():
    """Another relation between the same nodes is another edge, unless the graph has no such label at all."""
    other = ("Ada Moreau", "twin of", "Turin")
    missed = {"chunks": chunks("boat"), "triples": [CHAIN[0], other], "traversal": walk(CHAIN[0], other)}
    assert cause(**missed) == "not reached"
    related = tuple((a, "related", b) for a, _, b in CHAIN)
    plain = IndexInventory(INDEX.documents, INDEX.chunks, INDEX.nodes, dict.fromkeys(related, ("ada",)))
    assert cause(plain, chunks=None, triples=related, traversal=walk(*related)) == "not used"


def test_one_of_two_entries_missed():
    """Of two start nodes, what hangs at the one that was missed was lost at the entry."""
    edges = (("Red Kite", "made by", "Aurora"), ("Blue Kite", "made by", "Aurora"))
    gold = {"expected_edges": edges, "start_nodes": ["Red Kite", "Blue Kite"]}
    half = {"chunks": None, "triples": edges[:1], "traversal": walk(edges[0], starts=["Red Kite"])}
    assert cause(None, gold=gold, **half) == "entry not found"
    assert cause(None, gold={"expected_edges": edges}, **half) == "entry not found"
    both = {**half, "traversal": walk(edges[0], starts=["Red Kite", "Blue Kite"])}
    assert cause(None, gold=gold, **both) == "not reached"


def test_a_start_node_that_is_not_in_the_index_is_lost_there():
    """Entry linking cannot find a node that the index does not have."""
    lost = {"chunks": [], "triples": [], "traversal": walk(starts=["Porto"])}
    gold = {"expected_edges": CHAIN[1:], "start_nodes": ["Silver Boat"]}
    assert cause(gold=gold, **lost) == "entry not found"
    assert cause(without("boat"), gold=gold, **lost) == "not in the index"


def test_an_empty_walk_found_no_entry():
    """A walk that began nowhere is an entry that was not found."""
    assert cause(chunks=[], triples=[], traversal={}) == "entry not found"


def test_a_walk_that_tells_nodes_only():
    """Where a walk tells no edges, those between visited nodes count as walked."""
    nodes = {"start_nodes": ["Silver Boat"], "final_nodes": ["Ada Moreau", "Turin"]}
    assert cause(chunks=[], triples=[], traversal=nodes) == "dropped"
    assert cause(chunks=[], triples=[], traversal={"start_nodes": ["Silver Boat"]}) == "not reached"


def test_a_node_of_many_documents_reaches_none_of_them():
    """A document is reached by its edges; that a visited node occurs in it is not enough where it has edges."""
    gold = {"essential_docs": ["port"], "start_nodes": ["Silver Boat"]}
    assert cause(gold=gold) == "not reached"
    nodes_only = IndexInventory(documents=INDEX.documents, nodes=INDEX.nodes)
    assert cause(nodes_only, gold=gold) == "dropped"
