"""Which fields of a case hold content."""

from __future__ import annotations

import pytest

from greval.records.case import Case
from greval.records.recorded_fields import list_recorded_fields

CASES = [
    ({}, ()),
    ({"answer": "", "expected_answer": " "}, ("answer",)),
    ({"chunks": [], "triples": [], "gold": {}, "traversal": {}, "usage": {}}, ()),
    ({"usage": {"latency": 0.0, "llm_calls": 0}}, ("usage.latency", "usage.llm_calls")),
    ({"chunks": ["a", "b"]}, ("chunks",)),
    ({"chunks": [{"id": "c2", "text": "a"}]}, ("chunks", "chunks.doc_id")),
    ({"chunks": ["a", {"text": "b", "repo": "core"}]}, ("chunks", "chunks.repo")),
    ({"chunks": [{"id": "d1", "text": "", "score": 0.0}]}, ("chunks.doc_id", "chunks.score")),
    ({"gold": {"d1": 3}, "tags": {"topic": "x", "level": ""}}, ("gold.grades", "tags.topic", "tags.level")),
    ({"traversal": {"final_nodes": ["a"]}, "error": "timeout"}, ("traversal.final_nodes", "error")),
]


@pytest.mark.parametrize(("fields", "listed"), CASES, ids=[" ".join(fields) for fields, _ in CASES])
def test_list_recorded_fields(fields, listed):
    """What is empty is not listed, but an empty answer and a zero are; a chunk's own id names its document."""
    assert list_recorded_fields(Case(question="Who?", **fields)) == ("question", *listed)


def test_all_fields_have_a_place():
    """No field of a case is left out of the list."""
    fields = {"id": "q", "method": "m", "question": "Who?", "expected_answer": "a", "answer": "a", "chunks": ["a"]}
    fields |= {"triples": [["a", "b", "c"]], "aggregates": ["a"], "error": "e", "usage": {"cost": 1}}
    fields |= {"traversal": {"start_nodes": ["a"]}, "gold": {"answers": ["a"]}, "tags": {"t": "a"}}
    fields |= {"claims": ["a"], "expected_claims": ["a"], "history": [{"role": "user", "text": "a"}]}
    fields["other_response"] = {"answer": "b"}
    assert {name.partition(".")[0] for name in list_recorded_fields(Case(**fields))} == {*Case.model_fields}
