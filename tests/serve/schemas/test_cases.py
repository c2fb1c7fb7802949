"""Tests of the cases in requests: limits, strict fields, and the schema of the document."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.serve.problems import ServeError
from greval.serve.schemas.cases import build_case_schema, check_limits, parse_cases, read_rows
from greval.serve.schemas.metrics import MAX_FAULTS
from greval.serve.settings import ServerLimits

LIMITS = ServerLimits(batch=3, items=2, text=10)


def fault_of(function, *arguments):
    """Return the error of a call."""
    with pytest.raises(ServeError) as caught:
        function(*arguments)
    assert caught.value.status == 422
    return caught.value


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
    assert fault_of(check_limits, [case], LIMITS, "cases").faults == (fault,)


def test_a_single_input_has_no_number():
    """The place of a single case is its field."""
    error = fault_of(check_limits, [{"answer": "a" * 11}], LIMITS, "input")
    assert error.faults[0].startswith("input.answer: ")


def test_faults_are_limited():
    """The first hundred faults are listed, the rest counted."""
    error = fault_of(check_limits, [{f"f{n}": "a" * 11 for n in range(MAX_FAULTS + 5)}], LIMITS, "cases")
    assert len(error.faults) == MAX_FAULTS + 1
    assert error.faults[-1] == "and 5 more"


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
    assert any(place in fault for fault in fault_of(parse_cases, [case], "inputs").faults)


def test_every_fault_of_every_case_is_listed():
    """Faults of several cases come together, each with the number of its case."""
    error = fault_of(parse_cases, [{"question": 1}, {"question": "?"}, {"question": "?", "nothing": 1}], "inputs")
    assert any(fault.startswith("inputs.0") for fault in error.faults)
    assert any(fault.startswith("inputs.2.nothing") for fault in error.faults)
    assert not any(fault.startswith("inputs.1") for fault in error.faults)


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
