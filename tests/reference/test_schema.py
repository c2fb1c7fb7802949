"""A schema is read with its spellings, and all its faults are reported at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from counted_reviews import SCHEMA
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.reference.schema import GraphSchema, read_schema

LABELS = st.text("abcdefgh", min_size=1, max_size=6)


def write(folder: Path, text: str) -> Path:
    path = folder / "schema.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read_faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(DataError) as caught:
        read_schema(write(folder, text))
    return [line.removeprefix(f"{folder / 'schema.yaml'}:") for line in str(caught.value).splitlines()]


def test_read(tmp_path):
    """Types, terms with their spellings, cues, opposites and words are read."""
    schema = read_schema(write(tmp_path, SCHEMA))
    assert schema.tags == {"brand": "Brand", "product": "Product"}
    assert schema.spellings["battery life"] == ("battery", "Feature")
    assert schema.spellings["screen"] == ("screen", "Feature")
    assert [*schema.stated_by_cues] == ["HAS_POSITIVE", "HAS_NEGATIVE"]
    assert [*schema.stated_by_documents] == ["MAKES"]
    assert schema.relations["HAS_NEGATIVE"].from_ == ("Brand", "Product")
    assert schema.relations["HAS_NEGATIVE"].opposite == "HAS_POSITIVE"


def test_json_and_yaml_have_one_digest(tmp_path):
    """The form of the file does not count for the digest, the content does."""
    schema = read_schema(write(tmp_path, SCHEMA))
    as_json = tmp_path / "schema.json"
    as_json.write_text(json.dumps(schema.model_dump(mode="json")), encoding="utf-8")
    assert read_schema(as_json) == schema
    assert read_schema(as_json).digest == schema.digest
    assert read_schema(write(tmp_path, SCHEMA.replace("cues: [poor]", "cues: [bad]"))).digest != schema.digest


def test_short_forms(tmp_path):
    """A list of terms has no other spellings, one text stands for a list, and a type may be empty."""
    text = "entities:\n  Feature: {terms: [Battery, price]}\n  Place:\nrelations:\n  NEAR: {from: Place, to: Place}\n"
    schema = read_schema(write(tmp_path, text))
    assert schema.spellings == {"battery": ("Battery", "Feature"), "price": ("price", "Feature")}
    assert schema.entities["Place"].terms == {}
    assert schema.relations["NEAR"].to == ("Place",)


def test_faults_of_the_form_are_reported_at_once(tmp_path):
    """Each has its line."""
    text = """\
entities:
  Product: {from_tag: brand, wrods: [item]}
relations:
  CRITICISES: {from: [], to: Product}
  BLAMES: {from: Product, to: Product, cues: [Good, 7]}
"""
    assert read_faults(tmp_path, text) == [
        "2: entities.Product.wrods: unknown; did you mean words?",
        "4: relations.CRITICISES.from: holds too little: at least 1, got 0",
        "5: relations.BLAMES.cues.2: must be text, got 7; put it in quotes",
    ]


def test_faults_of_references_are_reported_at_once(tmp_path):
    """Each has its line."""
    text = """\
entities:
  Brand: {from_tag: brand}
  Maker: {from_tag: brand}
  Feature:
    terms:
      battery: [batteries]
      charging: [Batteries]
relations:
  PRAISES: {from: [Brand, Makr], to: Feature, cues: [good]}
  LIKES: {from: Brand, to: Feature, cues: [fine], opposite: LIKES}
"""
    assert read_faults(tmp_path, text) == [
        "3: entities.Maker.from_tag: Brand has the tag brand already",
        "7: entities.Feature.terms.charging: 'batteries' is a spelling of battery (Feature) already",
        "9: relations.PRAISES.from: no entity type is named 'Makr'; did you mean Maker?",
        "10: relations.LIKES.opposite: a relation cannot be the opposite of itself",
    ]


def test_opposites_agree(tmp_path):
    """Two opposite relations name each other and share no cue."""
    text = """\
entities:
  A: {terms: [a]}
relations:
  ONE: {from: A, to: A, cues: [good, Fine], opposite: TWO}
  THREE: {from: A, to: A, cues: [poor], opposite: ONE}
  TWO: {from: A, to: A, cues: [fine], opposite: ONE}
  FOUR: {from: A, to: A, opposite: NONE_AT_ALL}
"""
    assert read_faults(tmp_path, text) == [
        "4: relations.ONE.cues: TWO has the same cues: fine",
        "5: relations.THREE.opposite: the opposite of ONE is TWO; two relations must name each other",
        "7: relations.FOUR.opposite: no relation is named 'NONE_AT_ALL'; known: ONE, THREE, TWO, FOUR",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "1: entities: is missing; add it"),
        ("- a", "1: must be a mapping, got a list"),
        ("entities: {}", "1: entities: holds too little: at least 1, got 0"),
        ("entities: [Brand]", "1: entities: must be a mapping, got a list"),
        ("entities: {A: }\nrelation: {}", "2: relation: unknown; did you mean relations?"),
        ("entities: {A: 7}", "1: entities.A: must be a mapping, got 7"),
        ("entities: {A: {from_tag: [a, b]}}", "1: entities.A.from_tag: must be text, got a list"),
        ("entities: {A: *a}", "1: *a: aliases are not read; write the content out"),
    ],
)
def test_faults_of_form(tmp_path, text, fault):
    """Each fault of the form has its line, the place and what was found."""
    assert fault in read_faults(tmp_path, text)


def test_missing_file(tmp_path):
    """A missing file is reported with what to name instead."""
    with pytest.raises(DataError, match="name a YAML or JSON file with entities and relations"):
        read_schema(tmp_path / "none.yaml")


@given(st.dictionaries(LABELS, st.lists(LABELS, max_size=3), min_size=1, max_size=5))
def test_every_spelling_leads_to_one_entity(terms):
    """A schema is valid if and only if no spelling leads to two entities; then each spelling leads to its own."""
    owners: dict[str, set[str]] = {}
    for name, spellings in terms.items():
        for spelling in (name, *spellings):
            owners.setdefault(spelling, set()).add(name)
    content = {"entities": {"Thing": {"terms": terms}}}
    if any(len(names) > 1 for names in owners.values()):
        with pytest.raises(ValueError, match="is a spelling of"):
            GraphSchema.model_validate(content)
    else:
        schema = GraphSchema.model_validate(content)
        assert schema.spellings == {spelling: (min(names), "Thing") for spelling, names in owners.items()}
