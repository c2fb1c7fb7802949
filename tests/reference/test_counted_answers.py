"""A method filters by the tags that a question names, and returns what the index counts."""

from __future__ import annotations

import asyncio

import pytest
from counted_reviews import SCHEMA

from greval.records.case import Sample
from greval.reference.building import build_index
from greval.reference.method import load
from greval.reference.records import Document
from greval.reference.settings import IndexSettings

QUESTION = Sample(question="What is the most common complaint about Volta?")
TEXTS = {
    "d1": ("Volta", "Volta One", "The battery of the Volta One is poor."),
    "d2": ("Volta", "Volta Two", "Poor battery, poor screen."),
    "d3": ("Ohmly", "Ohmly Air", "I love the battery, but the charger is poor."),
    "d4": ("Ohmly", "Ohmly Air", "Poor charger. A complaint about Volta is common."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("reviews")
    (target / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    documents = [
        Document(id=name, text=text, tags={"brand": brand, "product": product})
        for name, (brand, product, text) in TEXTS.items()
    ]
    build_index(documents, target / "index", IndexSettings(schema_file=str(target / "schema.yaml"), embedding="tfidf"))
    (target / "schema.yaml").unlink()  # the index keeps the schema that it was made with
    return target / "index"


def ask(method, sample=QUESTION):
    return asyncio.run(method(sample))


def test_aggregates_of_an_index(folder):
    """What the rules extract is counted, and comes with the response of a search that uses the graph."""
    assert ask(load(f"{folder}?search=hybrid")).aggregates == (
        (
            "documents that state HAS_NEGATIVE (complaint) of Brand Volta, by Feature (2 values): "
            "battery: 2, screen: 1; 2 in all; counted in Cypher over 4 documents"
        ),
    )
    assert ask(load(f"{folder}?search=hybrid&aggregates=false")).aggregates is None
    assert ask(load(f"{folder}?search=basic")).aggregates is None


def test_filter_of_the_question(folder):
    """With `filter=auto` only documents are found that have the tags that the question names."""
    everything = {chunk.doc_id for chunk in ask(load(f"{folder}?search=basic")).chunks}
    filtered = {chunk.doc_id for chunk in ask(load(f"{folder}?search=basic&filter=auto")).chunks}
    assert (everything, filtered) == ({"d1", "d2", "d3", "d4"}, {"d1", "d2"})
    unfiltered = Sample(question="What is the most common complaint?")
    assert len(ask(load(f"{folder}?search=basic&filter=auto"), unfiltered).chunks) == 4


def test_given_filter_counts_first(folder):
    """A tag of the sample that the method filters by is not replaced by the one that the question names."""
    sample = QUESTION.model_copy(update={"tags": {"brand": "Ohmly"}})
    response = ask(load(f"{folder}?search=basic&filter=auto&where=brand"), sample)
    assert {chunk.doc_id for chunk in response.chunks} == {"d3", "d4"}
