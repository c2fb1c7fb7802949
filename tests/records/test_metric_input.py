"""What a metric sees of a case: what is lacking, what is judged each by itself, and how uses narrow it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.records.case import Case, Chunk, Triple
from greval.records.metric import CategoricalMetric, ManyCategoricalMetric
from greval.records.metric_input import (
    explain_missing_needs,
    keep_items,
    list_items,
    list_judged_items,
    narrow_case,
    select_metric_input,
)

BASE = {"name": "m", "description": "d", "steps": ["s"], "categories": {"Yes": "y", "No": "n"}}
CASE = Case(
    id="q1",
    question="Who?",
    answer="Ada.",
    chunks=["Ada wrote it.", "Rain fell."],
    triples=[["Ada", "wrote", "it"]],
    method="walk",
    tags={"kind": "person"},
)


def needing(*needs, **more):
    return (ManyCategoricalMetric if "over" in more else CategoricalMetric)(needs=needs, **BASE, **more)


@pytest.mark.parametrize(
    ("needs", "case", "told"),
    [
        (["question", "answer"], CASE, None),
        (["expected_answer"], CASE, "expected_answer is not recorded"),
        (["expected_answer", "traversal"], CASE, "expected_answer is not recorded; traversal is not recorded"),
        (["answer"], Case(question="q", answer=""), None),
        (["question"], Case(question=" "), "question is empty"),
        (["chunks"], Case(question="q", chunks=[]), "chunks is empty"),
        (["context"], Case(question="q"), "context is not recorded"),
        (["context"], Case(question="q", chunks=[], triples=[]), "context is empty"),
        (["context"], Case(question="q", chunks=[], triples=[["a", "b", "c"]]), None),
        (["tags.kind"], CASE, None),
        (["tags.year"], CASE, "tags.year is not recorded"),
    ],
)
def test_lacking(needs, case, told):
    """What a metric needs and a case lacks is told by name; an empty answer is an answer."""
    assert explain_missing_needs(needing(*needs), case) == told


def test_narrowed_to_nothing_is_a_finding():
    """An answer is judged even where nothing relevant was retrieved, but without items there is nothing to judge."""
    bare = Case(question="q", answer="a", chunks=[])
    uses = {"chunks": {"judged_by": "other", "as": ["Yes"]}}
    assert explain_missing_needs(needing("answer", "chunks", uses=uses), bare) is None
    assert explain_missing_needs(needing("answer", "context", uses=uses), bare) is None
    assert explain_missing_needs(needing("question", "chunks", over="chunks", uses=uses), bare) == "chunks is empty"


IDS = st.sampled_from(["a", "b", "c"])


@given(st.lists(IDS, max_size=6))
def test_items_once_each(ids):
    """Each id is judged once, at its first place."""
    case = Case(question="q", chunks=[Chunk(id=id_, text=f"of {id_}", score=n) for n, id_ in enumerate(ids)])
    items = list_judged_items(needing("question", "chunks", over="chunks"), case)
    assert [item.id for item in items] == [*dict.fromkeys(ids)]


@pytest.mark.parametrize(
    ("over", "twice"),
    [
        ("chunks", [Chunk(id="x", text="one"), Chunk(id="x", text="two")]),
        (
            "triples",
            [
                Triple(id="x", subject="a", predicate="b", object="c"),
                Triple(id="x", subject="a", predicate="b", object="d"),
            ],
        ),
    ],
)
def test_one_id_for_two_texts(over, twice):
    """An id that names two different texts is an error of the data, told with the id."""
    with pytest.raises(DataError, match="'x' names two different texts"):
        list_judged_items(needing("question", over, over=over), Case(question="q", **{over: twice}))


def test_listed():
    """What is not recorded or no list gives nothing."""
    assert [item.id for item in list_items("triples", CASE)] == ["t1"]
    assert (list_items(None, CASE), list_items("chunks", Case(question="q"))) == ((), ())


def test_keep():
    """Only the named items are kept, in their order, and the case itself does not change."""
    narrowed = keep_items(CASE, "chunks", frozenset({"c2", "c9"}))
    assert [chunk.id for chunk in narrowed.chunks] == ["c2"]
    assert [chunk.id for chunk in CASE.chunks] == ["c1", "c2"]
    assert keep_items(Case(question="q"), "chunks", frozenset()).chunks is None


def test_narrowed():
    """A metric that builds on another sees only the items with the named values; values are compared as text."""
    metric = needing(
        "answer",
        "context",
        uses={"chunks": {"judged_by": "rel", "as": ["Yes"]}, "triples": {"judged_by": "grade", "as": ["1"]}},
    )
    case = narrow_case(metric, CASE, {"rel": {"c1": "No", "c2": "Yes"}, "grade": {"t1": 1}})
    assert ([chunk.id for chunk in case.chunks], [triple.id for triple in case.triples]) == (["c2"], ["t1"])
    assert narrow_case(metric, CASE, {}).chunks == ()


def test_seen():
    """Only what the metric shows to the judge is seen: other fields and tags are left out."""
    assert select_metric_input(needing("answer"), CASE) == {"answer": "Ada."}
    assert select_metric_input(needing("answer", "tags.kind"), CASE) == {"answer": "Ada.", "tags.kind": "person"}
    assert {*select_metric_input(needing("context"), CASE)} == {"chunks", "triples"}
