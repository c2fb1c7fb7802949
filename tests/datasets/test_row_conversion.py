"""Rows become cases: short forms are read, numbers are names, and every fault is reported by its field."""

from __future__ import annotations

import pytest

from greval.datasets.field_names import map_fields, suggest_name
from greval.datasets.json_files import RawRow
from greval.datasets.row_conversion import build_case, split_methods
from greval.records.case import Case


def convert(default_method=None, **values):
    row = RawRow(1, values)
    return build_case(row, map_fields(values), "row-1", default_method)


def test_a_row_becomes_a_case():
    """Numbers as ids, a list of answers, a text as the only chunk and tags of any kind are read."""
    case = convert(id=7, question="?", expected_answer=["a", 2], contexts="One.", **{"tags.year": 1999})
    assert isinstance(case, Case)
    assert (case.id, case.expected_answer, case.tags) == ("7", "a\n2", {"year": "1999"})
    assert [chunk.text for chunk in case.chunks] == ["One."]
    assert convert("walk", question="?").method == "walk"
    assert convert("walk", question="?", method="own").method == "own"


def test_a_decimal_comma_is_written_with_a_point():
    """A number as spreadsheets of many countries write it is refused with the number to write."""
    assert (
        convert(question="q", usage={"latency": "1,5"}) == "usage.latency: must be a valid number, got '1,5'; write 1.5"
    )


def test_a_row_of_several_methods():
    """Each method has a row; plain columns become tags, and the reason of a failure becomes the error."""
    failed = {"failures": {"response": {"message": "timeout"}}}
    row = RawRow(5, {"question": "?", "movie": "m", "methods": {"a": {"response": "x"}, "b": failed}})
    answered, two = split_methods(row, 9)
    assert answered.values == {"question": "?", "tags.movie": "m", "id": "row-9", "method": "a", "answer": "x"}
    assert (two.values["method"], two.values["error"], two.number) == ("b", "timeout", 5)
    plain = RawRow(1, {"methods": ["a"]})
    assert [*split_methods(plain, 1)] == [plain]


@pytest.mark.parametrize(("name", "nearest"), [("anwser", "answer"), ("gold.anwsers", "gold.answers"), ("zzzz", None)])
def test_the_nearest_name(name, nearest):
    """A misspelt name is suggested only if one is near."""
    assert suggest_name(name) == nearest
