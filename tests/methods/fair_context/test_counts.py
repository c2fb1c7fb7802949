"""Counts over facts of the retrieved documents, and over no others."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.methods.fair_context.counts import create_fact_counter
from greval.records.case import Chunk, Sample

SAMPLE = Sample(question="What fails?")


def chunks(*documents):
    return [Chunk(id=f"c{n}", text="", doc_id=document) for n, document in enumerate(documents)]


@pytest.mark.parametrize(
    "facts",
    [
        {"d1": {"feature": ["battery", "price"]}, "d2": {"feature": "battery"}},
        {"d1": [{"feature": "battery"}, {"feature": "price"}], "d2": [{"feature": "battery"}]},
        {"d1": [("x", "feature", "battery"), ("x", "feature", "price")], "d2": [("y", "feature", "battery")]},
    ],
    ids=["object", "objects", "triples"],
)
def test_every_form_counts_alike(facts):
    """Objects of fields, lists of them and triples give the same counts, the most frequent first."""
    counted = create_fact_counter(facts)(SAMPLE, chunks("d1", "d2", "d1", "d3"))
    assert counted == ("feature, told by 2 of 3 documents: battery: 2, price: 1",)


def test_the_most_frequent_comes_first():
    """Values are in the order of their counts, and of their names where counts are equal."""
    (text,) = create_fact_counter({"d1": {"f": ["c", "a", "z"]}, "d2": {"f": "z"}})(SAMPLE, chunks("d1", "d2"))
    assert text.endswith(": z: 2, a: 1, c: 1")


def test_two_fields_of_one_fact_are_counted_together():
    """What is said of a feature is not mixed with what is said of another."""
    facts = {"d1": [{"feature": "battery", "mood": "bad"}, {"feature": "price", "mood": "good"}]}
    assert create_fact_counter(facts)(SAMPLE, chunks("d1"))[2] == (
        "feature / mood, told by 1 of 1 documents: battery / bad: 1, price / good: 1"
    )
    assert create_fact_counter(facts, by=[("mood", "feature")])(SAMPLE, chunks("d1")) == (
        "mood / feature, told by 1 of 1 documents: bad / battery: 1, good / price: 1",
    )


def test_the_chunk_stands_for_its_document_where_none_is_named():
    """A chunk without doc_id is looked up by its own id."""
    assert create_fact_counter({"c7": {"mood": "bad"}})(SAMPLE, [Chunk(id="c7", text="")]) == (
        "mood, told by 1 of 1 documents: bad: 1",
    )


def test_nothing_known_gives_nothing():
    """Documents without facts, and no documents, give no aggregate."""
    assert create_fact_counter({"d1": {"mood": None}})(SAMPLE, chunks("d1", "d2")) == ()
    assert create_fact_counter({})(SAMPLE, []) == ()


def test_the_rest_is_counted():
    """Many values are cut, and it is told how many."""
    facts = {f"d{n}": {"part": f"p{n:02}"} for n in range(30)}
    (text,) = create_fact_counter(facts, most=3)(SAMPLE, chunks(*facts))
    assert text == "part, told by 30 of 30 documents: p00: 1, p01: 1, p02: 1, and 27 more values"


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("xyz")), max_size=6),
    st.sets(st.text("abcdefg")),
)
def test_counts_are_those_of_the_retrieved_documents(facts, retrieved):
    """Each value is counted once for each retrieved document that has it, whatever the order."""
    counted = create_fact_counter({document: {"f": values} for document, values in facts.items()})
    expected = Counter(value for document in retrieved for value in set(facts.get(document, ())))
    texts = counted(SAMPLE, chunks(*retrieved))
    counts = {
        v: int(n) for text in texts for v, n in (entry.split(": ") for entry in text.partition(": ")[2].split(", "))
    }
    assert counts == expected
    assert counted(SAMPLE, chunks(*sorted(retrieved, reverse=True))) == texts


def test_files(tmp_path):
    """JSON lines add up by document, whether a line holds fields or facts."""
    rows = [{"doc_id": "d1", "feature": "battery"}, {"doc_id": 2, "facts": [["x", "feature", "price"]]}]
    rows.append({"doc_id": "d1", "feature": "screen"})
    lines = tmp_path / "facts.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    (told,) = create_fact_counter(lines)(SAMPLE, chunks("d1", "2"))
    assert told == "feature, told by 2 of 2 documents: battery: 1, price: 1, screen: 1"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("f.jsonl", '{"doc_id": "d1"}\n{"feature": 1}', r"f\.jsonl:2: must be an object with doc_id"),
        ("f.jsonl", '{"doc_id": "d1"\n', r"f\.jsonl:1: is no JSON"),
        ("f.jsonl", '{"doc_id": "d1", "facts": "x"}', r"f\.jsonl:1: document 'd1': must be an object of fields"),
        ("f.jsonl", '{"doc_id": "d1", "f": {"x": 1}}', r"document 'd1': f: must be a text"),
        (None, "", "cannot be read"),
    ],
)
def test_faults_are_reported_with_their_place(tmp_path, name, text, told):
    """A file that holds no facts is told with the line and the document."""
    path = tmp_path / (name or "missing.jsonl")
    if name:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told):
        create_fact_counter(path)


def test_a_field_that_no_fact_has_is_reported():
    """A slip in `by` is an error with the nearest field, not a count of nothing."""
    with pytest.raises(DataError, match="did you mean feature"):
        create_fact_counter({"d1": {"feature": "battery"}}, by=["featur"])
