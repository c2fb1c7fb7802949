"""A schema says which terms, tags and cues are entities and relations."""

from __future__ import annotations

import pytest

from greval.methods.index_records import IndexedChunk
from greval.reference.extraction.rules import extract_with_rules
from greval.reference.schema import GraphSchema

SCHEMA = GraphSchema.model_validate(
    {
        "entities": {
            "Brand": {"from_tag": "brand"},
            "Feature": {"terms": {"battery": ["batteries", "battery life"], "charging": ["charger"], "screen": []}},
            "Product": {"from_tag": "product"},
        },
        "relations": {
            "PRAISES": {"from": ["Brand"], "to": "Feature", "cues": ["love", "great"], "opposite": "BLAMES"},
            "BLAMES": {"from": ["Brand"], "to": "Feature", "cues": ["hate", "poor"], "opposite": "PRAISES"},
            "MENTIONS": {"from": ["Brand"], "to": "Feature", "cues": ["saw"]},
            "MAKES": {"from": ["Brand"], "to": "Product"},
        },
    }
)


def facts_of(text, **tags):
    """Return the statements of the schema that a review makes."""
    tags = tags or {"brand": "Volta"}
    extraction = extract_with_rules(IndexedChunk(id="r#1", doc_id="r", text=text, tags=tags), SCHEMA)
    return {(each.subject, each.predicate, each.object) for each in extraction.statements if each.predicate.isupper()}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I love the battery life.", {("PRAISES", "battery")}),
        ("We loved the batteries.", {("PRAISES", "battery")}),
        ("The charger is not great.", {("BLAMES", "charging")}),
        ("I don't really love the screen.", {("BLAMES", "screen")}),
        ("I no longer hate the screen.", {("PRAISES", "screen")}),
        ("Not that it matters to anybody here, I love the screen.", {("PRAISES", "screen")}),
        ("The battery is great but the charger is poor.", {("PRAISES", "battery"), ("BLAMES", "charging")}),
        ("Great battery and poor charger.", {("PRAISES", "battery"), ("BLAMES", "charging")}),
        ("The battery arrived, but it is poor.", {("BLAMES", "battery")}),
        ("I saw the screen.", {("MENTIONS", "screen")}),
        ("I never saw the screen.", set()),
        ("The battery is here. I love it all.", set()),
        ("I love gloves.", set()),
    ],
)
def test_cues_state_relations_of_a_sentence(text, facts):
    """A cue states its relation of the terms of its clause; a negation within three words states the opposite."""
    assert facts_of(text) == {("Volta", label, name) for label, name in facts}


def test_a_relation_without_cues_is_stated_by_the_document():
    """All entities of both types are related, whatever the text says."""
    assert facts_of("Nothing.", brand="Volta", product="V1") == {("Volta", "MAKES", "V1")}


def test_mentions_have_the_name_and_the_type_of_the_schema():
    """A term in any spelling is its entity; tags are entities; names that the schema does not know stay."""
    chunk = IndexedChunk(
        id="r#1", doc_id="r", title="Review", text="VOLTA sold me Batteries in Oslo.", tags={"brand": "Volta"}
    )
    extraction = extract_with_rules(chunk, SCHEMA)
    assert [(each.name, each.type) for each in extraction.mentions] == [
        ("Review", ""), ("Volta", "Brand"), ("battery", "Feature"), ("Oslo", ""),
    ]  # fmt: skip


def test_the_subject_that_a_sentence_names_is_meant():
    """A brand that the sentence names is the subject; the brand of the tag is it otherwise."""
    schema = GraphSchema.model_validate(
        {
            "entities": {"Brand": {"from_tag": "brand", "terms": {"Nova": []}}, "Feature": {"terms": {"battery": []}}},
            "relations": {"PRAISES": {"from": "Brand", "to": "Feature", "cues": ["great"]}},
        }
    )
    chunk = IndexedChunk(id="r#1", doc_id="r", text="Nova has a great battery.", tags={"brand": "Volta"})
    extraction = extract_with_rules(chunk, schema)
    assert ("Nova", "PRAISES") in {(each.subject, each.predicate) for each in extraction.statements}
    assert ("Volta", "PRAISES") not in {(each.subject, each.predicate) for each in extraction.statements}


def test_a_sentence_about_the_product_is_about_its_brand():
    """A sentence that names the product of the tags states the relation of the brand of the tags as well."""
    schema = GraphSchema.model_validate(
        {
            "entities": {
                "Brand": {"from_tag": "brand"},
                "Product": {"from_tag": "product"},
                "Feature": {"terms": {"battery": []}},
            },
            "relations": {"PRAISES": {"from": ["Brand", "Product"], "to": "Feature", "cues": ["great"]}},
        }
    )
    for text in ("The battery of the Volta Arc is great.", "Volta has a great battery.", "Great battery."):
        chunk = IndexedChunk(id="r#1", doc_id="r", text=text, tags={"brand": "Volta", "product": "Volta Arc"})
        stated = {each.subject for each in extract_with_rules(chunk, schema).statements if each.predicate == "PRAISES"}
        assert stated == {"Volta", "Volta Arc"}, text
