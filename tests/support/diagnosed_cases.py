"""A small index, a case whose record is whole, and ways to break one thing of it."""

from __future__ import annotations

from greval import Case
from greval.analysis.diagnosis.api import diagnose
from greval.records.inventory import IndexInventory

CHAIN = (("Silver Boat", "directed by", "Ada Moreau"), ("Ada Moreau", "born in", "Turin"))

INDEX = IndexInventory(
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

    return IndexInventory(
        documents=INDEX.documents - {*documents},
        chunks={name: of for name, of in INDEX.chunks.items() if of not in documents},
        nodes=kept(INDEX.nodes),
        edges=kept(INDEX.edges),
    )


def told_right(messages):
    return {"reason": "Compared.", "value": int("ANSWER RIGHT" in messages[-1].text)}


CASES = (
    case(id="q1", answer="ANSWER RIGHT"),
    case(id="q2", chunks=chunks("boat"), triples=CHAIN[:1], traversal=walk(CHAIN[0])),
    case(id="q3"),
    case(id="q2", method="vector", triples=None, traversal=None, chunks=chunks("port"), tags={"query_type": "hop"}),
    case(id="q4", answer=None, error="down"),
)
