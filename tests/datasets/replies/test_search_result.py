"""Search results as GraphRAG and searches built on it return them, read as responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import MethodError
from greval.methods.responses import as_response
from greval.records.case import Response

FULL = {
    "response": "At nine.",
    "context_data": {"sources": [{"id": "u7", "text": "It opens at nine.", "doc_id": "ops/hours"}]},
    "context_text": "-----Sources-----\nu7|It opens at nine.",
    "completion_time": 1.25,
    "llm_calls": 4,
    "prompt_tokens": 900,
    "output_tokens": 60,
}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
CONTENT = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["sources", "paths", "triples", "id", "text", "source", "target", "edges", "entity"]), inner
        )
    ),
    max_leaves=12,
)


@dataclass
class GraphRagResult:
    """A search result with the fields of graphrag 3.x."""

    response: Any
    context_data: Any
    context_text: Any
    completion_time: float
    llm_calls: int
    prompt_tokens: int
    output_tokens: int
    llm_calls_categories: dict[str, int] = field(default_factory=dict)
    prompt_tokens_categories: dict[str, int] = field(default_factory=dict)
    output_tokens_categories: dict[str, int] = field(default_factory=dict)


def test_every_field_of_a_search_result_is_read():
    """The answer, the chunks with their documents, and the figures are those of the search result."""
    response = as_response(FULL)
    assert response.answer == "At nine."
    assert [chunk.model_dump(exclude_none=True) for chunk in response.chunks] == [
        {"id": "u7", "text": "It opens at nine.", "doc_id": "ops/hours"}
    ]
    assert response.usage.model_dump(exclude_none=True) == {
        "latency": 1.25,
        "llm_calls": 4,
        "prompt_tokens": 900,
        "output_tokens": 60,
    }
    assert (response.triples, response.traversal, response.error) == (None, None, None)


def test_an_object_is_read_as_its_fields():
    """An object with these attributes gives the same response as a mapping."""
    assert as_response(SimpleNamespace(**FULL)) == as_response(FULL)
    assert as_response(GraphRagResult(**FULL)) == as_response(FULL)


def test_a_result_of_graphrag_is_read():
    """The tables of a local search become chunks, triples and the traversal; rows outside the context do not."""
    tables = {
        "sources": pd.DataFrame({"id": ["3", "5"], "text": ["Ada wrote it.", "Bob read it."]}),
        "entities": pd.DataFrame({"id": ["0"], "entity": ["ADA"], "description": ["A writer."], "in_context": [True]}),
        "relationships": pd.DataFrame(
            {
                "id": ["1", "2"],
                "source": ["ADA", "BOB"],
                "target": ["NOTES", "NOTES"],
                "description": ["Ada wrote the notes.", "Bob read them."],
                "in_context": [True, False],
            }
        ),
        "reports": pd.DataFrame({"id": ["9"], "title": ["All"], "content": ["About the notes."]}),
    }
    response = as_response(GraphRagResult("Ada.", tables, "text", 1.0, 1, 10, 2))
    assert [(chunk.id, chunk.text) for chunk in response.chunks] == [
        ("3", "Ada wrote it."),
        ("5", "Bob read it."),
        ("report:9", "About the notes."),
    ]
    assert [(triple.id, triple.subject, triple.predicate, triple.object) for triple in response.triples] == [
        ("1", "ADA", "Ada wrote the notes.", "NOTES"),
        ("entities:0", "ADA", "description", "A writer."),
    ]
    assert response.traversal.start_nodes == ("ADA",)
    assert response.traversal.traversed_edges == (("ADA", "Ada wrote the notes.", "NOTES"),)


@pytest.mark.parametrize("name", ["sources", "chunks", "text_units"])
@pytest.mark.parametrize("convert", [list, pd.DataFrame])
def test_chunks_have_three_names(name, convert):
    """Chunks are read from any of the names, from rows or a DataFrame; a missing id is made."""
    rows = [{"id": 4, "text": "One."}, {"id": None, "text": "Two."}, {"id": 6, "text": float("nan")}]
    response = as_response({"response": "x", "context_data": {name: convert(rows)}})
    assert [(chunk.id.removesuffix(".0"), chunk.text) for chunk in response.chunks] == [("4", "One."), ("c2", "Two.")]


@pytest.mark.parametrize(
    "table",
    [
        {"triples": [["a", "r", "b"]]},
        {"triples": [{"subject": "a", "predicate": "r", "object": "b"}]},
        {"relationships": [{"source": "a", "label": "r", "target": "b"}]},
        {"relationships": pd.DataFrame([{"source": "a", "target": "b", "description": "r"}])},
    ],
)
def test_triples_have_several_forms(table):
    """Relations are read from lists of three, from mappings and from DataFrames."""
    (triple,) = as_response({"response": "x", "context_data": table}).triples
    assert (triple.id, triple.subject, triple.predicate, triple.object) == ("t1", "a", "r", "b")


@pytest.mark.parametrize(
    "paths",
    [
        [[["a", "r", "b"], ["b", "s", "c"]], [["a", "t", "d"]]],
        [["a", "r", "b", "s", "c"], ["a", "t", "d"]],
        [{"edges": [["a", "r", "b"], {"source": "b", "label": "s", "target": "c"}]}, ("a", "t", "d")],
    ],
)
def test_paths_are_the_traversal(paths):
    """Paths in each of the forms are a traversal and, if there are no other triples, its edges are the triples."""
    response = as_response({"response": "x", "context_data": {"paths": paths}})
    assert response.traversal.start_nodes == ("a",)
    assert response.traversal.traversed_edges == (("a", "r", "b"), ("b", "s", "c"), ("a", "t", "d"))
    assert response.traversal.final_nodes == ("c", "d")
    assert [triple.object for triple in response.triples] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("All of it.", [("context", "All of it.")]),
        (["One.", "Two."], [("context-1", "One."), ("context-2", "Two.")]),
        ({"reports": "One."}, [("reports", "One.")]),
        ("", []),
    ],
)
def test_the_text_of_the_context_is_the_last_resort(text, chunks):
    """Without usable tables the text of the context is the chunk; empty means recorded and empty."""
    for data in (None, "as text", {}, {"sources": [{"no": "text"}]}, {"entities": []}):
        read_chunks = as_response({"response": "x", "context_data": data, "context_text": text}).chunks
        assert [(chunk.id, chunk.text) for chunk in read_chunks] == chunks


def test_what_is_left_out_is_not_recorded():
    """A search result may be filled in part: what is missing is None, not empty."""
    assert as_response({"response": "x", "llm_calls": 2}) == Response(answer="x", usage={"llm_calls": 2})
    assert as_response({"response": "x", "context_text": None}) == Response(answer="x")
    assert as_response({"response": "x", "context_data": {"sources": []}}).chunks == ()


@pytest.mark.parametrize("answer", [["a", {"b": 1}], {"answer": "é"}])
def test_an_answer_that_is_no_text_is_json(answer):
    """A list or a mapping as the answer is kept as JSON text."""
    assert as_response({"response": answer, "llm_calls": 1}).answer in ('["a", {"b": 1}]', '{"answer": "é"}')


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"response": None}, "response: expected a text, a list or a mapping, got nothing"),
        ({"response": 7}, "response: expected a text, a list or a mapping, got int"),
        ({"response": [object()]}, "response: cannot be written as JSON"),
        ({"completion_time": "1 s"}, "completion_time: expected a number of seconds, 0 or more, got '1 s'"),
        ({"completion_time": float("inf")}, "completion_time: expected a number of seconds"),
        ({"llm_calls": 1.5}, "llm_calls: expected a whole number, 0 or more, got 1.5"),
        ({"llm_calls": True}, "llm_calls: expected a whole number"),
        ({"prompt_tokens": -1}, "prompt_tokens: expected a whole number, 0 or more, got -1"),
        ({"context_text": 7}, "context_text: expected a text, or a list or mapping of texts, got int"),
        ({"context_data": 7}, "context_data: expected tables by name"),
        ({"completion_tme": 2}, "completion_tme: is not known; did you mean completion_time?"),
    ],
)
def test_what_is_wrong_is_reported_by_field(change, told):
    """A field of a wrong type is an error that names it, what was expected and what was found."""
    with pytest.raises(MethodError, match=told):
        as_response({**FULL, **change})


@given(CONTENT, CONTENT)
def test_any_content_is_read_or_refused(data, text):
    """Whatever the context holds, the result is a valid response or a `MethodError`."""
    try:
        response = as_response({"response": "x", "context_data": data, "context_text": text})
    except MethodError:
        return
    assert Response.model_validate(response.model_dump()) == response
