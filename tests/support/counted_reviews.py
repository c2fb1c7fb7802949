"""Small worlds of reviews, as the graph of an index, and the same counts in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from small_index import SmallIndex

from greval.methods.index_records import Entity, IndexedChunk, Relation
from greval.reference.index import Manifest
from greval.reference.schema import read_schema
from greval.reference.storage.graph_store import GraphStore, open_graph

SCHEMA = """\
entities:
  Brand: {from_tag: brand, words: [maker]}
  Product: {from_tag: product}
  Feature: {terms: {battery: [batteries, battery life], charging: [charger], screen: [display]}}
relations:
  HAS_POSITIVE: {from: [Brand, Product], to: Feature, cues: [love], opposite: HAS_NEGATIVE, words: [praise]}
  HAS_NEGATIVE:
    from: [Brand, Product]
    to: Feature
    cues: [poor]
    opposite: HAS_POSITIVE
    words: [complaint, complain, problem]
  MAKES: {from: Brand, to: Product}
"""
BRANDS = ("Volta", "Ohmly", "Fara")
PRODUCTS = {"Volta One": "Volta", "Volta Two": "Volta", "Ohmly Air": "Ohmly", "Fara X": "Fara"}
FEATURES = ("battery", "charging", "screen")


class Review(NamedTuple):
    """A review: its product, and its (relation, feature) statements."""

    id: str
    product: str
    opinions: tuple[tuple[str, str], ...] = ()

    @property
    def brand(self) -> str:
        return PRODUCTS[self.product]


class StoredIndex(SmallIndex):
    """A small index with a real graph in a folder, and a schema if there is one."""

    def __init__(self, folder: Path, schema: str | None, *args, **fields) -> None:
        super().__init__(*args, **fields)
        (folder / "schema.yaml").write_text(schema or "", encoding="utf-8")
        graph_schema = read_schema(folder / "schema.yaml") if schema else None
        self.manifest = Manifest(embedder="tfidf", extractor="rules", graph_schema=graph_schema)
        self.graph: GraphStore = write_graph(folder, self.all_entities, self.relations)


class CountedIndex(StoredIndex):
    """An index of reviews, each with two chunks that state the same: brands and products state features."""

    def __init__(self, folder: Path, reviews: Sequence[Review], schema: str | None = SCHEMA, **fields) -> None:
        chunks = {
            f"{review.id}#{number}": IndexedChunk(
                id=f"{review.id}#{number}",
                doc_id=review.id,
                text="A review.",
                tags={"brand": review.brand, "product": review.product},
            )
            for review in reviews
            for number in (1, 2)
        }
        stated: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for review in reviews:
            both = [f"{review.id}#{number}" for number in (1, 2)]
            for label, feature in dict.fromkeys(review.opinions):
                stated[review.brand, label, feature] += both
                stated[review.product, label, feature] += both
            stated[review.brand, "MAKES", review.product] += both
        types = dict.fromkeys(BRANDS, "Brand") | dict.fromkeys(PRODUCTS, "Product") | dict.fromkeys(FEATURES, "Feature")
        relations = [(*edge, ids) for edge, ids in stated.items()]
        mentions = dict.fromkeys(types, ())
        super().__init__(folder, schema, chunks, relations, mentions, types=types, **fields)


def write_graph(folder: Path, entities: Sequence[Entity], relations: Sequence[Relation]) -> GraphStore:
    """Write a graph to a folder and open it."""
    store = open_graph("embedded", folder, read_only=False)
    store.write(entities, relations)
    store.close()
    return open_graph("embedded", folder)


def count_plainly(
    reviews: Sequence[Review],
    label: str,
    by: str,
    *,
    brand: str | None = None,
    product: str | None = None,
    feature: str | None = None,
) -> dict[str, int]:
    """Count the reviews that state a relation by brand, product or feature, without a graph."""
    documents: dict[str, set[str]] = defaultdict(set)
    for review in reviews:
        for stated, about in review.opinions:
            fits = stated == label and brand in {None, review.brand} and product in {None, review.product}
            if fits and feature in {None, about}:
                group = {"Brand": review.brand, "Product": review.product, "Feature": about}[by]
                documents[group].add(review.id)
    return {name: len(ids) for name, ids in documents.items()}
