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
from greval.serve.problems import MAX_FAULTS, ServeError, build_problem
from greval.serve.schemas.cases import build_case_schema, build_input_schema, check_limits, parse_cases, read_rows
from greval.serve.settings import ServerLimits

LIMITS = ServerLimits(batch=3, items=2, text=10)


def fault_of(function, *arguments):
    """Return the error of a call."""
    with pytest.raises(ServeError) as caught:
        function(*arguments)
    assert caught.value.status == 422
    return caught.value


def told(error):
    """Return the faults of an error as lines."""
    return [f"{fault.place}: {fault.message}" for fault in error.faults]


def test_what_fits_is_not_refused():
    """The limits themselves are allowed."""
    check_limits([{"question": "a" * 10, "chunks": ["a", "b"]}] * 3, LIMITS, "cases")


def test_too_many_cases_name_the_limit():
    """The message names the number, the limit and what to do."""
    error = fault_of(check_limits, [{}] * 4, LIMITS, "inputs")
    assert str(error) == "inputs: holds 4 cases, at most 3 are allowed (batch); send them in parts"


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        ({"question": "a" * 11}, "cases.0.question: holds 11 characters, at most 10 are allowed (text)"),
        ({"chunks": ["a"] * 3}, "cases.0.chunks: holds 3, at most 2 are allowed (items)"),
        ({"retrieved_contexts": ["a"] * 3}, "cases.0.retrieved_contexts: holds 3, at most 2 are allowed (items)"),
        ({"Retrieved Contexts": ["a"] * 3}, "cases.0.Retrieved Contexts: holds 3, at most 2 are allowed (items)"),
        ({"inputs": {"context": ["a"] * 3}}, "cases.0.context: holds 3, at most 2 are allowed (items)"),
        ({"chunks": [{"text": "a" * 11}]}, "cases.0.chunks.0.text: holds 11 characters, at most 10 are allowed (text)"),
        ("a" * 11, "cases.0.: holds 11 characters, at most 10 are allowed (text)"),
    ],
)
def test_what_is_too_large_is_named_with_its_place(case, fault):
    """Texts at any depth and lists of items count, also under names of other tools."""
    assert told(fault_of(check_limits, [case], LIMITS, "cases")) == [f"body.{fault}"]


def test_a_single_input_has_no_number():
    """The place of a single case is its field."""
    error = fault_of(check_limits, [{"answer": "a" * 11}], LIMITS, "input")
    assert error.faults[0].place == "body.input.answer"


def test_faults_are_limited():
    """The first hundred faults are listed, all are counted."""
    error = fault_of(check_limits, [{f"f{n}": "a" * 11 for n in range(MAX_FAULTS + 5)}], LIMITS, "cases")
    problem = build_problem(error)
    assert (len(problem.faults), problem.fault_count) == (MAX_FAULTS, MAX_FAULTS + 5)


@pytest.mark.parametrize(
    ("case", "place"),
    [
        ({"question": "?", "usage": {"latency": "1.5"}}, "usage.latency: must be a number"),
        ({"question": "?", "usage": {"llm_calls": True}}, "usage.llm_calls: must be a number"),
        ({"question": "?", "chunks": [{"text": "a", "score": "0.5"}]}, "chunks.0.score: must be a number"),
    ],
)
def test_numbers_are_not_read_from_texts(case, place):
    """JSON has numbers, so a number in quotes is a fault of the client."""
    assert f"body.inputs.0.{place}" in told(fault_of(parse_cases, [case], "inputs"))


def test_every_fault_of_every_case_is_listed():
    """Faults of several cases come together, each with the number of its case."""
    error = fault_of(parse_cases, [{"question": 1}, {"question": "?"}, {"question": "?", "nothing": 1}], "inputs")
    assert {fault.place for fault in error.faults} == {"body.inputs.0.question", "body.inputs.2.nothing"}
    assert {fault.code for fault in error.faults} == {"wrong_type", "unknown"}


def test_names_of_other_tools_are_read():
    """Ragas' names are mapped as they are in files."""
    (case,) = parse_cases([{"user_input": "Who?", "response": "Ada."}], "inputs")
    assert (case.question, case.answer) == ("Who?", "Ada.")


def test_rows_that_are_no_cases_are_reported():
    """The positions count from 1, and the other rows are read."""
    cases, unread, _ = read_rows([{"question": "a"}, 7, {"question": "b"}, {}])
    assert [case.question for case in cases] == ["a", "b"]
    assert [one.case for one in unread] == [2, 4]


def test_only_unreadable_rows_are_an_error():
    """A request with no case at all is refused, with each row."""
    assert len(fault_of(read_rows, [1, None]).faults) == 2


@given(
    st.fixed_dictionaries(
        {"question": st.text(min_size=1).filter(str.strip)},
        optional={
            "answer": st.text(),
            "chunks": st.lists(st.text(min_size=1).filter(str.strip), max_size=2),
            "tags": st.dictionaries(st.text("abc", min_size=1), st.booleans() | st.integers(0, 9), max_size=2),
        },
    )
)
def test_the_schema_agrees_with_the_parser(case):
    """What the document's schema accepts, the parser accepts as well."""
    jsonschema.validate(case, build_case_schema())
    assert parse_cases([case], "inputs")[0].question == case["question"]


def test_the_schema_refuses_what_the_parser_refuses():
    """A case without a question fits neither."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"answer": "a"}, build_case_schema())
    fault_of(parse_cases, [{"answer": "a"}], "inputs")


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
        within = (one for part in value.values() for one in list_places(part))
        return [*((value, key) for key in [*value, "other"]), *within]
    if isinstance(value, list):
        return [*((value, n) for n in range(len(value))), *(one for part in value for one in list_places(part))]
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
def test_the_schema_of_a_metric_accepts_what_is_judged_and_nothing_else(case):
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


def test_cases_without_an_id_are_numbered():
    """The cases of a batch can be told apart by their results; a single one stays as it is."""
    cases = [{"question": "a"}, {"question": "b", "id": "q"}, {"question": "c", "id": ""}]
    assert [case.id for case in parse_cases(cases, "inputs")] == ["row-1", "q", "row-3"]
    assert parse_cases(cases[:1], "input")[0].id == ""


@pytest.mark.parametrize("make", [dict, Case.model_validate], ids=["sent", "read"])
def test_limits_hold_for_the_other_response(make):
    """Items and texts of the second response of a pair are limited, in a request and in a file."""
    pair = {"question": "?", "other_response": {"answer": "long", "chunks": ["a", "b", "c"]}}
    found = dict(find_excess(make(pair), ServerLimits(items=2, text=3)))
    assert found["chunks"] == "holds 3, at most 2 are allowed (items)"
    assert found["other_response.answer"] == "holds 4 characters, at most 3 are allowed (text)"


def test_numbers_of_the_other_response_are_no_texts():
    """A number that was sent as text is a fault in the second response too, as its schema says."""
    case = {"question": "?", "other_response": {"usage": {"latency": "1.5"}, "chunks": [{"text": "a", "score": "2"}]}}
    places = {fault.place for fault in fault_of(parse_cases, [case], "input").faults}
    assert places == {"body.input.other_response.usage.latency", "body.input.other_response.chunks.0.score"}
