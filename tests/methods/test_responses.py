"""Results of methods in every supported form, and the message for any other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Case, Response
from greval.errors import MethodError
from greval.methods.responses import as_response


def test_a_case_counts_as_its_response():
    """A method may hand on a recorded case: its response is taken, its question is not."""
    response = as_response(Case(id="q9", question="Other?", method="old", answer="Yes.", chunks=["a"]))
    assert type(response) is Response
    assert (response.answer, response.chunks[0].id) == ("Yes.", "c1")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, "returned nothing"),
        (7, "returned int"),
        ([3], "returned list"),
        ({}, "has none of answer, chunks"),
        (Response(usage={"llm_calls": 1}), "has none of"),
        ({"anser": "x"}, "anser: is not known; did you mean answer?"),
        ({"answer": "x", "chunks": [{"score": 1}]}, "chunks.0.text: field required"),
        ({"answer": "x", "chunks": [{"text": "a", "scor": 1}]}, r"scor: is not known; did you mean score?"),
        ({"answer": "x", "usage": {"latency": float("inf")}}, "usage.latency"),
        ({"answer": [3]}, "answer: input should be a valid string"),
    ],
)
def test_what_is_no_response_is_reported(result, told):
    """What a method gives that is no response is an error that names the field, never an empty answer."""
    with pytest.raises(MethodError, match=told):
        as_response(result)


def test_an_error_of_its_own_is_a_response():
    """A method may tell its failure itself."""
    assert as_response({"error": "index is empty"}).error == "index is empty"


@given(st.text(min_size=1), st.integers(2, 12))
def test_the_first_few_faults_are_listed(text, count):
    """Unknown fields are listed by name, at most five, and the others are counted."""
    wrong = {f"field_{n:02}": text for n in range(count)}
    with pytest.raises(MethodError) as error:
        as_response({"answer": "x", **wrong})
    message = str(error.value)
    assert message.count("is not known") == min(count, 5)
    assert message.endswith(f"; and {count - 5} more") == (count > 5)


@pytest.mark.parametrize("name", ["answer", "chunks", "triples", "aggregates"])
def test_an_empty_field_is_a_response(name):
    """An empty answer or list was recorded; a response without any of the fields is refused."""
    assert getattr(as_response({name: "" if name == "answer" else []}), name) in ("", ())
    with pytest.raises(MethodError, match="give at least one of them"):
        as_response({name: None})
