"""Cases read their short forms, tell what is recorded from what is empty, and give metrics the fields they need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from greval.records.case import ESSENTIAL, HELPFUL, Case, Gold, Need, ResponseUsage, Traversal, read_need

DOCUMENTS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)
GRADES = st.dictionaries(st.sampled_from("abcdef"), st.integers(-2, 5), max_size=4)


def test_chunks_and_triples_get_ids_by_their_position():
    """A text, three items and a mapping without an id are numbered by their place, not by how many lack an id."""
    case = Case(
        question="?",
        chunks=["A.", {"id": "own", "text": "B."}, {"text": "C."}],
        triples=[("a", "b", "c"), {"subject": "d", "predicate": "e", "object": "f"}],
    )
    assert [(chunk.id, chunk.text) for chunk in case.chunks] == [("c1", "A."), ("own", "B."), ("c3", "C.")]
    assert [triple.id for triple in case.triples] == ["t1", "t2"]


@pytest.mark.parametrize("chunks", ["A text", [3], [{"score": 0.5}], [{"text": "A.", "scor": 1}]])
def test_chunks_of_other_forms_are_rejected(chunks):
    """One text instead of a list, a number, and missing or unknown fields are faults, not guesses."""
    with pytest.raises(ValidationError):
        Case(question="?", chunks=chunks)


def test_tags_are_texts():
    """A year and a flag become text; a list is rejected."""
    assert Case(question="?", tags={"year": 1989, "new": True, "rate": 0.5}).tags == {
        "year": "1989",
        "new": "true",
        "rate": "0.5",
    }
    with pytest.raises(ValidationError, match=r"tags\.kinds"):
        Case(question="?", tags={"kinds": ["a"]})


def test_an_edge_of_two_has_no_label():
    """(source, target) is an edge without a label, and each visited node is listed once in order."""
    walk = Traversal(start_nodes=["s"], traversed_edges=[("s", "a"), ("a", "calls", "b")], final_nodes=["b", "s"])
    assert walk.traversed_edges == (("s", "", "a"), ("a", "calls", "b"))
    assert walk.visited == ("s", "a", "b")


@given(essential=st.none() | DOCUMENTS, helpful=st.none() | DOCUMENTS, grades=st.none() | GRADES)
def test_gains_follow_grades_then_lists(essential, helpful, grades):
    """A grade decides over the lists, an essential document over a helpful one, and a gain is above 0."""
    gold = Gold(essential_docs=essential, helpful_docs=helpful, grades=grades)
    if essential is None and helpful is None and grades is None:
        assert gold.gains is None
        return
    expected = dict.fromkeys(helpful or (), HELPFUL)
    expected |= dict.fromkeys(essential or (), ESSENTIAL)
    expected |= grades or {}
    assert gold.gains == {document: gain for document, gain in expected.items() if gain > 0}


@given(grades=GRADES.filter(bool))
def test_a_mapping_to_numbers_is_grades(grades):
    """Gold that is a plain mapping of documents to numbers is read as grades; those of 2 or more are essential."""
    gold = Gold.model_validate(grades)
    assert gold.grades == grades
    assert gold.essential == tuple(document for document, grade in grades.items() if grade >= ESSENTIAL)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_effort_is_finite_and_not_negative(value):
    """A latency below 0 or without an end is a fault."""
    with pytest.raises(ValidationError):
        ResponseUsage(latency=value)


@pytest.mark.parametrize(
    ("need", "found"),
    [
        ("question", "Who?"),
        ("answer", ""),
        ("expected_answer", None),
        ("triples", None),
        ("tags.kind", "person"),
        ("tags.other", None),
        ("context", ["text", "sum"]),
    ],
)
def test_read_need(need, found):
    """A need is read stripped, None if it is not recorded; the context is chunks, triples and aggregates."""
    case = Case(question=" Who? ", answer="  ", chunks=["text"], aggregates=["sum"], tags={"kind": "person"})
    read = read_need(case, need)
    assert ([getattr(item, "text", item) for item in read] if isinstance(read, list) else read) == found


def test_context_without_any_part_is_not_recorded():
    """No chunks, triples and aggregates give no context; recorded but empty chunks give an empty one."""
    assert read_need(Case(question="?"), "context") is None
    assert read_need(Case(question="?", chunks=[]), "context") == []


@pytest.mark.parametrize("need", ["answr", "tags.", "tag.kind", "id"])
def test_unknown_needs_are_listed(need):
    """An unknown need is reported with the known ones."""
    with pytest.raises(ValidationError, match="is no field of a case; known: question"):
        TypeAdapter(Need).validate_python(need)


@pytest.mark.parametrize("name", ["context", "contexts", "anser"])
def test_an_unknown_field_names_those_that_there_are(name):
    """A field that a case does not have is refused with the list of its fields; other faults stay."""
    with pytest.raises(ValidationError) as refused:
        Case(question="Who?", answer=3, **{name: "Ada"})
    wrong, unknown = refused.value.errors()
    assert (wrong["loc"], wrong["type"], wrong["msg"]) == (("answer",), "string_type", "Input should be a valid string")
    assert (unknown["loc"], unknown["type"]) == ((name,), "extra_forbidden")
    assert {*unknown["msg"].rpartition("are ")[2].split(", ")} == {*Case.model_fields}
    assert "pydantic.dev" not in str(refused.value)
