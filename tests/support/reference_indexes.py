"""Small documents about a harbour, and indexes of them made without a download."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np

from greval.reference.building import build_index
from greval.reference.index import ReferenceIndex
from greval.reference.records import Document
from greval.reference.settings import IndexSettings
from greval.testing import ScriptedJudge

SETTINGS = IndexSettings(embedding="tfidf", chunk_chars=60)
VECTOR_STEPS = 10_000
"""Vectors and scores are rounded to steps of 1/10,000 when two indexes are compared."""
PLACES = ("Pier", "Tower", "Bridge", "Market", "Station", "Garden", "School")


def make_documents(count, start=0):
    """Return documents with some chunks each, which share names."""
    return [
        Document(
            id=f"harbour/{number}.md",
            title=f"{PLACES[number % len(PLACES)]} {number % 5}",
            text=" ".join(
                f"Ferry {(number * 3 + part) % 11} leaves {PLACES[(number + part) % len(PLACES)]} {part % 5} at {part}."
                for part in range(2 + number % 4)
            ),
            repo="north" if number % 2 else "south",
            version=f"v{number % 3}",
            tags={"kind": "odd" if number % 2 else "even"},
        )
        for number in range(start, start + count)
    ]


def find_names(text):
    """Return what a model could extract from a text: its names, each related to the next."""
    names = [*dict.fromkeys(f"{one} {n}" for one in (*PLACES, "Ferry") for n in range(11) if f"{one} {n}" in text)]
    return {"entities": names, "relations": [[one, "leaves", two] for one, two in pairwise(names)]}


def answer_with_names(messages):
    """Answer as a model that finds the names of the chunk in the last message."""
    return find_names(messages[-1].content)


def make_model():
    return ScriptedJudge(answer_with_names)


def make_index(folder, documents, settings=SETTINGS, **more):
    return build_index(documents, folder, settings, **more)


def digest_index(folder):
    """Return the hash of all that a search of an index can find; equal content has equal digests, whatever its files.

    It covers chunks, entities, relations, vectors (rounded), and the scores of the words of chunks.
    """
    hasher = hashlib.sha256()
    with ReferenceIndex.open(folder) as index:
        chunks = index.read_chunks(index.chunk_ids)
        for record in (*chunks, *index.read_entities(), *index.read_relations()):
            hasher.update(record.model_dump_json().encode())
        hasher.update(np.round(index.vectors.rows * VECTOR_STEPS).astype(np.int32).tobytes())
        for chunk in chunks[:: max(1, len(chunks) // 100)]:
            positions, scores = index.words.search(chunk.content, 20)
            ranked = zip(positions.tolist(), np.round(scores * VECTOR_STEPS).astype(int).tolist(), strict=True)
            hasher.update(repr(sorted(ranked)).encode())
    return hasher.hexdigest()
