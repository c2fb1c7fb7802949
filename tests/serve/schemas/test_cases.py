"""Tests of the cases in requests: limits, strict fields, and the schema of the document."""

from __future__ import annotations

import copy

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greval import Case
from greval.metrics.library import predefined
from greval.records.metric import ValueMetric
from greval.records.metric_input import explain_missing_needs
from greval.serve.case_limits import find_excess
from greval.serve.problems import ServeError
from greval.serve.schemas.cases import build_case_schema, build_input_schema, check_limits, parse_cases
from greval.serve.settings import ServerLimits


@pytest.mark.parametrize(
    ("case", "field"),
    [
        ({"question": "a" * 11}, "0.question"),
        ({"chunks": ["a"] * 3}, "0.chunks"),
        ({"retrieved_contexts": ["a"] * 3}, "0.retrieved_contexts"),
        ({"Retrieved Contexts": ["a"] * 3}, "0.Retrieved Contexts"),
        ({"inputs": {"context": ["a"] * 3}}, "0.context"),
        ({"chunks": [{"text": "a" * 11}]}, "0.chunks.0.text"),
        ("a" * 11, "0."),
        ({"question": "a" * 10, "chunks": ["a", "b"]}, None),
    ],
)
def test_excess_is_named_with_its_place(case, field):
    """Texts at any depth and lists of items count, also under names of other tools; the limits are allowed."""
    limits = ServerLimits(batch=3, items=2, text=10)
    if field is None:
        check_limits([case] * 3, limits, "cases")
        return
    with pytest.raises(ServeError) as caught:
        check_limits([case], limits, "cases")
    assert [fault.place for fault in caught.value.faults] == [f"body.cases.{field}"]


EDGES = [["Ada", "wrote", "it"], ["it", "a program"]]
FULL = {
    "id": "q1",
    "method": "walk",
    "question": "Who wrote it?",
    "answer": "Ada.",
    "expected_answer": "Ada Lovelace",
    "chunks": [{"id": "c1", "text": "Ada wrote it.", "doc_id": "d1", "score": 0.5}, "Bread rises."],
    "triples": [["Ada", "wrote", "it"], {"subject": "it", "predicate": "is", "object": "a program"}],
    "aggregates": ["2 programs"],
    "traversal": {"start_nodes": ["Ada"], "traversed_edges": EDGES, "nodes": {"Ada": {"doc_id": "d1"}}},
    "gold": {"essential_docs": ["d1"], "expected_edges": EDGES, "grades": {"d1": 2}, "aliases": {"Ada": ["A."]}},
    "usage": {"latency": 1.5, "llm_calls": 2, "cost": 0.01},
    "tags": {"kind": "person", "year": 1843},
    "other_response": {"method": "local", "answer": "Bob.", "chunks": ["Bob rests."]},
}
METRICS = {
    **predefined(),
    "tagged": ValueMetric(
        name="tagged",
        description="d",
        needs=["tags.kind", "answer"],
        steps=["s"],
        range=(0, 1),
        levels={0: "No.", 1: "Yes."},
    ),
}
VALIDATORS = {name: jsonschema.Draft202012Validator(build_input_schema(metric)) for name, metric in METRICS.items()}
TEXTS = (None, "", " ", "x", 0, 1, 2.0, 2.5, -1, 1001, True)
LISTS = ([], ["a"], ["a", "b"], ["a", "b", "c"], [""], [None], [7])
OBJECTS = ({}, {"text": "x"}, {"id": "c"}, {"d1": 3}, {"d1": 2.5}, {"d1": "3"}, {"essential_docs": 3}, {"kind": ""})
VALUES = st.sampled_from([*TEXTS, *LISTS, *OBJECTS, {"a": {}}])


def is_judged(case, metric):
    """Return whether a case is read, and has all that a metric needs."""
    try:
        (read,) = parse_cases([case], "input")
    except ServeError:
        return False
    return explain_missing_needs(metric, read) is None


def list_places(value):
    """List every part of a case with its key, and the keys that could be added."""
    if isinstance(value, dict):
        within = (inner for part in value.values() for inner in list_places(part))
        return [*((value, key) for key in [*value, "other"]), *within]
    if isinstance(value, list):
        return [*((value, n) for n in range(len(value))), *(inner for part in value for inner in list_places(part))]
    return []


@st.composite
def changed_cases(draw):
    """Draw a case of which up to three parts are replaced, removed or added."""
    case = copy.deepcopy(FULL)
    for _ in range(draw(st.integers(0, 3))):
        part, key = draw(st.sampled_from(list_places(case)))
        if key != "other" and draw(st.booleans()):
            del part[key]
        else:
            part[key] = copy.deepcopy(draw(VALUES))
    return case


@given(case=changed_cases())
@example(case={**FULL, "chunks": ["text"], "triples": []})
@example(case={**FULL, "chunks": [], "triples": [], "aggregates": []})
@example(case={**FULL, "chunks": None, "triples": None, "aggregates": []})
@example(case={**FULL, "answer": ""})
@example(case={**FULL, "expected_answer": " "})
@example(case={**FULL, "gold": {"d1": 3, "d2": 0}})
@example(case={**FULL, "other_response": {"answer": " "}})
@example(case={**FULL, "other_response": None})
@example(case={**FULL, "tags": {"kind": ""}})
@example(case={**FULL, "tags": {"kind": 7}})
def test_the_schema_of_a_metric_accepts_exactly_the_judged_cases(case):
    """A case is valid by the schema of a metric exactly if it is read and lacks nothing that the metric needs."""
    for name, metric in METRICS.items():
        assert VALIDATORS[name].is_valid(case) == is_judged(case, metric), name


@given(case=changed_cases())
def test_the_schema_of_any_case_is_that_of_the_parser(case):
    """Without a metric, the schema accepts exactly what is read as a case."""
    try:
        parse_cases([case], "input")
        read = True
    except ServeError:
        read = False
    assert jsonschema.Draft202012Validator(build_case_schema()).is_valid(case) == read


def test_limits_hold_for_the_other_response_in_a_file():
    """Items and texts of the second response of a pair are limited."""
    pair = {"question": "?", "other_response": {"answer": "long", "chunks": ["a", "b", "c"]}}
    excess = dict(find_excess(Case.model_validate(pair), ServerLimits(items=2, text=3)))
    assert excess.keys() == {"chunks", "other_response.answer"}
