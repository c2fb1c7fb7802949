"""`greval audit`: what each method was given, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import case, write

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def responses():
    """Write the responses of two methods, of which one was given twice as many documents."""
    chunks = [{"id": name, "text": "Some text.", "doc_id": name} for name in ("d1", "d2")]
    rows = [case(number, method="walk", chunks=chunks) for number in (1, 2)]
    return write("responses.jsonl", rows + [case(number, method="local", chunks=chunks[:1]) for number in (1, 2)])


def test_both_forms_hold_the_same_methods(greval_says, responses):
    """The table names each method of the JSON."""
    code, table, _ = greval_says("audit", responses)
    assert code == 0
    audit = json.loads(greval_says("audit", responses, "--format", "json")[1])
    assert [method["method"] for method in audit["methods"]] == ["local", "walk"]
    assert [method["cases"] for method in audit["methods"]] == [2, 2]
    assert all(name in table for name in ("walk", "local"))


def test_rows_that_are_no_cases_end_with_3(greval_says, responses):
    """A faulty row is named on stderr, and the report of the others is printed before."""
    with Path(responses).open("a", encoding="utf-8") as stream:
        stream.write("{}\n")
    code, out, err = greval_says("audit", responses)
    assert code == 3
    assert "walk" in out
    assert err.startswith("not a case: responses.jsonl:5: ")
