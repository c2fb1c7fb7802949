"""The evidence that an answer needs by its gold."""

from __future__ import annotations

from greval import Case
from greval.analysis.diagnosis.api import diagnose
from greval.records.inventory import Inventory

CHAIN = (("Silver Boat", "directed by", "Ada Moreau"), ("Ada Moreau", "born in", "Turin"))


INDEX = Inventory(
    documents=frozenset({"boat", "ada", "port"}),
    chunks={"boat#1": "boat", "ada#1": "ada", "port#1": "port"},
    nodes={"silver_boat": ("boat",), "Ada Moreau": ("boat", "ada"), "Turin": ("ada", "port"), "Porto": ("port",)},
    edges={CHAIN[0]: ("boat",), CHAIN[1]: ("ada",), ("Porto", "twin of", "Turin"): ("port",)},
    aliases={"Ada Moreau": ("A. Moreau",)},
)


GOLD = {
    "essential_docs": ["boat", "ada"],
    "expected_edges": CHAIN,
    "expected_nodes": ["Silver Boat", "Ada Moreau", "Turin"],
    "start_nodes": ["Silver Boat"],
}


TEXTS = {
    "boat": "Silver Boat was directed by Ada Moreau.",
    "ada": "Ada Moreau was born in Turin.",
    "port": "Porto is a twin of Turin.",
}


def chunks(*names):
    return [{"id": f"{name}#1", "text": TEXTS[name], "doc_id": name} for name in names]


def walk(*edges, starts=("Silver Boat",)):
    return {"start_nodes": starts, "traversed_edges": edges, "final_nodes": [edge[2] for edge in edges[-1:]]}


def case(**fields):
    whole = {
        "id": "q1",
        "method": "walk",
        "question": "Where was the director of Silver Boat born?",
        "expected_answer": "Turin",
        "answer": "In Porto.",
        "gold": GOLD,
        "chunks": chunks("boat", "ada"),
        "triples": [*CHAIN],
        "traversal": walk(*CHAIN),
        "tags": {"query_type": "chain"},
    }
    return Case(**{**whole, **fields})


def cause(inventory=INDEX, **fields):
    return diagnose(case(**fields), verdict=False, inventory=inventory).cause


def without(*documents):
    """Give the index as it is where documents were never indexed."""

    def kept(known):
        left = {name: tuple(d for d in of if d not in documents) for name, of in known.items()}
        return {name: of for name, of in left.items() if of}

    return Inventory(
        documents=INDEX.documents - {*documents},
        chunks={name: of for name, of in INDEX.chunks.items() if of not in documents},
        nodes=kept(INDEX.nodes),
        edges=kept(INDEX.edges),
    )


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
