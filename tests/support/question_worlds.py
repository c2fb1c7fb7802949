"""A small fleet whose documents state facts that questions are drawn from, as texts and as an index."""

from __future__ import annotations

from greval.reference.building import build_index
from greval.reference.index import ReferenceIndex
from greval.reference.questions.facts import IndexText
from greval.reference.records import Document
from greval.reference.settings import IndexSettings

FLEET = {
    "tansy": "Black Tansy was built in Lumm. Black Tansy is owned by Team Petrel.",
    "gull": "Grey Gull was built in Saltness. Grey Gull is owned by Team Eider. Grey Gull was painted in 1921.",
    "bramble": "Bramble was built in Saltness. Bramble is owned by Team Petrel. Team Eider was founded in Oarby.",
    "teams": "In winter Team Eider and Team Petrel rest. Team Petrel is led by Ines Marrow.",
    "log": "At night Black Tansy and Grey Gull meet the Bramble. A letter of Ines Marrow came from Lumm and Saltness.",
}


def build_fleet(folder, documents=FLEET):
    """Index the documents, and return the folder."""
    build_index(
        [Document(id=name, text=text) for name, text in documents.items()], folder, IndexSettings(embedding="tfidf")
    )
    return folder


def read_text(folder):
    """Return what an index holds, as questions are drawn from it."""
    with ReferenceIndex.open(folder) as index:
        return IndexText.build(index.read_chunks(index.chunk_ids), index.read_entities(), index.read_relations())
