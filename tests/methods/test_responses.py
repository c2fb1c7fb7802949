"""Results of methods in every supported form, and the message for any other."""

from __future__ import annotations

import pytest

from greval import Case, Response
from greval.errors import MethodError
from greval.methods.responses import as_response


def test_a_case_counts_as_its_response():
    """A method may hand on a recorded case: its response is taken, its question is not."""
    response = as_response(Case(id="q9", question="Other?", method="old", answer="Yes.", chunks=["a"]))
    assert type(response) is Response
    assert (response.answer, response.chunks[0].id) == ("Yes.", "c1")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "gave nothing"),
        (7, "gave int"),
        (["text"], "gave list"),
        ({}, "holds none of answer, chunks"),
        (Response(usage={"llm_calls": 1}), "holds none of"),
        ({"anser": "x"}, "anser: is not known; did you mean answer?"),
        ({"answer": "x", "chunks": [{"id": "c1"}]}, "chunks.0.text: field required"),
        ({"answer": "x", "usage": {"latency": float("nan")}}, "usage.latency"),
        ({"answer": 3}, "answer: input should be a valid string"),
    ],
)
def test_what_is_no_response_is_told(given, told):
    """What a method gives that is no response is an error that names the field, never an empty answer."""
    with pytest.raises(MethodError, match=told):
        as_response(given)


def test_an_error_of_its_own_is_a_response():
    """A method may tell its failure itself."""
    assert as_response({"error": "index is empty"}).error == "index is empty"
