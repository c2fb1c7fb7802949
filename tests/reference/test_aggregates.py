"""Aggregates are what plain Python counts, and the words of a question decide what is counted."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from counted_reviews import (
    BRANDS,
    FEATURES,
    PRODUCTS,
    SCHEMA,
    CountedIndex,
    Review,
    StoredIndex,
    count_plainly,
    write_graph,
)
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from greval.methods.index_records import Entity, Relation
from greval.reference.aggregates import MAX_VALUES, compute_aggregates, derive_filter

WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A smaller world is no clearer, and each one takes a graph."""
LABELS = ("HAS_POSITIVE", "HAS_NEGATIVE")
NEGATIVE, POSITIVE = "HAS_NEGATIVE", "HAS_POSITIVE"
REVIEWS = (
    Review("d1", "Volta One", ((NEGATIVE, "charging"), (POSITIVE, "screen"))),
    Review("d2", "Volta One", ((NEGATIVE, "charging"), (NEGATIVE, "battery"))),
    Review("d3", "Volta Two", ((NEGATIVE, "charging"),)),
    Review("d4", "Ohmly Air", ((NEGATIVE, "charging"), (NEGATIVE, "screen"), (POSITIVE, "battery"))),
    Review("d5", "Ohmly Air", ((POSITIVE, "battery"),)),
    Review("d6", "Fara X", ()),
)
OPINIONS = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(FEATURES)), max_size=4)
WORLDS = st.lists(st.tuples(st.sampled_from([*PRODUCTS]), OPINIONS), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return CountedIndex(tmp_path_factory.mktemp("counted"), REVIEWS)


def read_counts(text: str) -> dict[str, int]:
    """Return the counts of an aggregate: those behind `by TYPE`, or the single number with an empty name."""
    if grouped := re.search(r", by \w+(?: \([^)]*\))?: ([^;]*);", text):
        return {name: int(number) for name, number in re.findall(r"([^,:]+): (\d+)", grouped[1].replace(", ", ","))}
    return {"": int(re.search(r": (\d+);", text)[1])}


COUNTED = """
Which brand has the most charging complaints?
NEGATIVE for Feature charging, by Brand (2 values): Volta: 3, Ohmly: 1; 4 in all
What are the most common complaints about Volta?
NEGATIVE of Brand Volta, by Feature (2 values): charging: 3, battery: 1; 3 in all
How many reviews praise the display of the Volta One?
POSITIVE of Product Volta One for Feature screen: 1
What is the most common complaint across all products?
NEGATIVE, by Feature (3 values): charging: 4, battery: 1, screen: 1; 4 in all
Who has more problems with the charger, Volta or Ohmly?
NEGATIVE for Feature charging, by Brand: Volta: 3, Ohmly: 1; 4 in all
Which product of Volta gets the most complaints about charging?
NEGATIVE of Brand Volta for Feature charging, by Product (2 values): Volta One: 2, Volta Two: 1; 3 in all
Which maker has the fewest complaints?
NEGATIVE, by Brand (3 values, fewest first): Fara: 0, Ohmly: 1, Volta: 3; 4 in all
How many reviews complain about the battery of the brand Fara?
NEGATIVE of Brand Fara for Feature battery: 0
What complaint do products of Ohmly get most?
NEGATIVE of Brand Ohmly, by Feature (2 values): charging: 1, screen: 1; 1 in all
What is loved most?
POSITIVE, by Feature (2 values): battery: 2, screen: 1; 3 in all
How often is the battery or the screen of Ohmly a problem?
NEGATIVE of Brand Ohmly, by Feature: screen: 1, battery: 0; 1 in all
Which brand makes the most products?
MAKES, by Brand (3 values): Volta: 3, Ohmly: 2, Fara: 1; 6 in all; distinct Product: Volta: 2, Fara: 1, Ohmly: 1
"""
"""Questions, each with what is counted for it on the next line."""
LINES = (
    COUNTED.replace("NEGATIVE", "HAS_NEGATIVE (complaint)")
    .replace("POSITIVE", "HAS_POSITIVE (praise)")
    .split("\n")[1:-1]
)


@pytest.mark.parametrize(("question", "expected"), zip(LINES[::2], LINES[1::2], strict=True))
def test_words_decide(index, question, expected):
    """Relation, filter, grouping and order follow from the words of the question."""
    assert compute_aggregates(index, question)[0] == (
        f"documents that state {expected}; counted in Cypher over 6 documents"
    )


def test_comparison_counts_both_signs(index):
    """A comparison that names no relation counts all that sentences state, for each of the two."""
    texts = compute_aggregates(index, "Compare Volta and Ohmly.")
    assert [read_counts(text) for text in texts] == [
        {"Volta": 1, "Ohmly": 2},
        {"screen": 1},
        {"battery": 2},
        {"Volta": 3, "Ohmly": 1},
        {"charging": 3, "battery": 1},
        {"charging": 1, "screen": 1},
    ]


@pytest.mark.parametrize("question", ["Where is the charger?", "Hello!", "", "What is the most expensive harbour?"])
def test_nothing_to_count(index, question):
    """A question that asks for no count, or for nothing that the schema knows, has no aggregates."""
    assert compute_aggregates(index, question) == ()


def test_filter_counts_its_documents_only(index):
    """A metadata filter restricts the documents that are counted, and the number of documents given."""
    text = compute_aggregates(index, "Which product gets most complaints?", {"brand": "Volta"})[0]
    assert read_counts(text) == {"Volta One": 2, "Volta Two": 1}
    assert text.endswith("over 3 documents")
    assert compute_aggregates(index, "Which product gets most complaints?", {"brand": "Nobody"}) == ()


def test_names_are_parameters(index):
    """A question never becomes part of a query: quotes and Cypher in it are words only."""
    question = "How many complaints about Volta' OR 1=1 RETURN e //? MATCH (n) DETACH DELETE n; \"}) {x: $y} `"
    texts = compute_aggregates(index, question)
    assert read_counts(texts[0]) == {"charging": 3, "battery": 1}
    assert len(index.graph.query("MATCH (e:Entity) RETURN e.name AS name")) == len(index.entities)


def test_types_joined_by_documents(tmp_path):
    """A type that is no end of the relation is joined by a relation that documents state."""
    schema = SCHEMA.replace("[Brand, Product]", "Product")
    index = CountedIndex(tmp_path, REVIEWS, schema)
    brands = compute_aggregates(index, "Which brand has the most charging complaints?")
    assert read_counts(brands[0]) == count_plainly(REVIEWS, NEGATIVE, "Brand", feature="charging")
    features = compute_aggregates(index, "What are the most common complaints about Volta?")
    assert read_counts(features[0]) == count_plainly(REVIEWS, NEGATIVE, "Feature", brand="Volta")
    products = compute_aggregates(index, "Which product of Volta has most complaints?")
    assert read_counts(products[0]) == count_plainly(REVIEWS, NEGATIVE, "Product", brand="Volta")
    many = compute_aggregates(index, "How many reviews of Volta complain about the battery?")
    assert read_counts(many[0]) == {"": 1}


def test_most_values_first(tmp_path):
    """At most twenty values are listed, and the others are counted."""
    index = CountedIndex(tmp_path, REVIEWS)
    index.graph.close()
    features = [f"feature{number}" for number in range(25)]
    relations = [
        Relation(source="Volta", label=NEGATIVE, target=name, chunks=tuple(f"d{n}#1" for n in range(number + 1)))
        for number, name in enumerate(features)
    ]
    entities = [Entity(name="Volta", type="Brand"), *(Entity(name=name, type="Feature") for name in features)]
    index.graph = write_graph(tmp_path, entities, relations)
    text = compute_aggregates(index, "What are the most common complaints?")[0]
    assert len(read_counts(text.replace(", and 5 more", ""))) == MAX_VALUES
    assert "(25 values): feature24: 25, feature23: 24" in text
    assert ", and 5 more; 25 in all" in text


@settings(max_examples=8, phases=WITHOUT_SHRINKING)
@given(WORLDS, st.data())
def test_counts_equal_plain_counts(world, data):
    """For any world, the counts by brand, product and feature with any filter equal those of plain Python."""
    reviews = [Review(f"d{n}", product, tuple(opinions)) for n, (product, opinions) in enumerate(world)]
    with tempfile.TemporaryDirectory() as folder:
        index = CountedIndex(Path(folder), reviews)
        try:
            for label, noun in ((NEGATIVE, "complaints"), (POSITIVE, "praise")):
                brand, product = data.draw(st.sampled_from(BRANDS)), data.draw(st.sampled_from([*PRODUCTS]))
                feature = data.draw(st.sampled_from(FEATURES))
                where = data.draw(st.none() | st.sampled_from(BRANDS).map(lambda name: {"brand": name}))
                counted_reviews = [each for each in reviews if where is None or each.brand == where["brand"]]
                questions = {
                    f"Which brand has the most {feature} {noun}?": count_plainly(
                        counted_reviews, label, "Brand", feature=feature
                    ),
                    f"Which product has the most {noun}?": count_plainly(counted_reviews, label, "Product"),
                    f"Which product of {brand} gets most {noun}?": count_plainly(
                        counted_reviews, label, "Product", brand=brand
                    ),
                    f"What is the most common {noun} about {brand}?": count_plainly(
                        counted_reviews, label, "Feature", brand=brand
                    ),
                    f"What is the most common {noun}?": count_plainly(counted_reviews, label, "Feature"),
                    f"How many {noun} about the {feature} of the {product} are there?": {
                        "": count_plainly(counted_reviews, label, "Feature", product=product, feature=feature).get(
                            feature, 0
                        )
                    },
                }
                for question, expected in questions.items():
                    texts = compute_aggregates(index, question, where)
                    assert (read_counts(texts[0]) if texts else {}) == expected, question
        finally:
            index.graph.close()


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("What do people say about Volta's battery?", {"brand": ("Volta",)}),
        ("Compare Volta and Ohmly.", {"brand": ("Volta", "Ohmly")}),
        ("Is the Volta One good?", {"product": ("Volta One",)}),
        ("Is the Volta One of Volta good?", {"product": ("Volta One",), "brand": ("Volta",)}),
        ("Compare the Volta One with Ohmly.", {}),
        ("What about batteries?", {}),
    ],
)
def test_filter_of_a_question(index, question, where):
    """A filter has the tags whose values the question names; one that would leave nothing is not used."""
    assert derive_filter(index, question) == where


def test_filter_accepts_other_names(tmp_path):
    """A filter accepts every name that was resolved to the entity."""
    index = CountedIndex(tmp_path, [Review("d1", "Volta One")], aliases={"Volta": ("VOLTA", "Volta Inc.")})
    assert derive_filter(index, "Is Volta good?") == {"brand": ("Volta", "VOLTA", "Volta Inc.")}


def test_without_schema(tmp_path):
    """An index without a schema counts nothing, and implies no filter."""
    index = StoredIndex(tmp_path, None, {"d1#1": "Nothing."}, [("web", "depends on", "billing", ["d1#1"])])
    assert compute_aggregates(index, "How many services depend on billing?") == ()
    assert derive_filter(index, "What does billing do?") == {}
