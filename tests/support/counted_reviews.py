"""Small worlds of reviews, as the graph of an index, and the same counts in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from greval.methods.index_records import Entity, Relation
from greval.reference.index import Manifest
from greval.reference.names import normalise_spelling
from greval.reference.schema import read_schema
from greval.reference.storage.graph_address import open_graph
from greval.reference.storage.graph_store import GraphStore

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


class CountedIndex:
    """What aggregates need of an index, with a real graph in a folder. A review has two chunks that state the same."""

    def __init__(self, folder: Path, reviews: Sequence[Review], schema: str | None = SCHEMA) -> None:
        file = folder / "schema.yaml"
        if schema is not None:
            file.write_text(schema, encoding="utf-8")
        self.folder = folder
        known = None if schema is None else read_schema(file)
        self.manifest = Manifest(embedder="tfidf", extractor="rules", graph_schema=known)
        self.reviews = reviews
        self.chunk_ids = [f"{review.id}#{number}" for review in reviews for number in (1, 2)]
        entities, relations = build_graph(reviews)
        self.entities = [entity.name for entity in entities]
        self._positions = {normalise_spelling(name): position for position, name in enumerate(self.entities)}
        self.graph: GraphStore = write_graph(folder, entities, relations)

    def find_entity(self, name: str) -> int | None:
        return self._positions.get(normalise_spelling(name))

    def select_chunks(self, where: Mapping[str, str | Collection[str]]) -> np.ndarray | None:
        if not where:
            return None
        wanted = {tag: {values} if isinstance(values, str) else {*values} for tag, values in where.items()}
        kept = [all(getattr(one, tag) in values for tag, values in wanted.items()) for one in self.reviews]
        return np.repeat(np.array(kept, dtype=bool), 2)


def build_graph(reviews: Sequence[Review]) -> tuple[list[Entity], list[Relation]]:
    """Return the graph of reviews: brands and products state features, and brands make products."""
    chunks: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for review in reviews:
        both = [f"{review.id}#{number}" for number in (1, 2)]
        for label, feature in dict.fromkeys(review.opinions):
            chunks[review.brand, label, feature] += both
            chunks[review.product, label, feature] += both
        chunks[review.brand, "MAKES", review.product] += both
    kinds = {
        **dict.fromkeys(BRANDS, "Brand"),
        **dict.fromkeys(PRODUCTS, "Product"),
        **dict.fromkeys(FEATURES, "Feature"),
    }
    entities = [Entity(name=name, type=kind) for name, kind in sorted(kinds.items())]
    relations = [
        Relation(source=source, label=label, target=target, chunks=tuple(ids))
        for (source, label, target), ids in sorted(chunks.items())
    ]
    return entities, relations


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
