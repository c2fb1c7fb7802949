"""JSON that Python accepts and no case can hold is reported by its path; all other JSON reads as Python reads it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.json_files import (
    InvalidJsonError,
    build_row,
    describe_type,
    find_faults,
    find_list,
    parse_json,
)
from greval.datasets.row_sources import read_rows
from greval.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
)


@given(content=JSON)
def test_valid_json_is_read_as_python_reads_it(content):
    """Content without doubtful literals has no fault."""
    read, doubtful = parse_json(json.dumps(content))
    assert read == content
    assert not find_faults({"x": read}) or doubtful


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ('{"a": -Infinity}', "a", "-Infinity is no JSON value"),
        ('{"a": [1, -Infinity]}', "a[1]", "-Infinity is no JSON value"),
        ('{"a": {"b": 1e999}}', "a.b", "1e999 is too large a number"),
        ('{"a": 12345678901234567890}', "a", "an integer of 20 digits is too large"),
        ('{"a": "\\ud800"}', "a", "holds half of a character"),
    ],
)
def test_values_that_no_case_holds(text, path, why):
    """Each is found by its path, and the row has None in the place of a faulty field."""
    content, doubtful = parse_json(text)
    row = build_row(content, 1, doubtful=doubtful)
    assert [*row.faults] == [path]
    assert row.faults[path].startswith(why)


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "[1,]", "", "nul"])
def test_broken_json_has_a_place(text):
    """A syntax error is raised with line and column."""
    with pytest.raises(InvalidJsonError, match="is no JSON") as caught:
        parse_json(text)
    assert caught.value.line == 1


def test_deep_nesting_is_refused():
    """Nesting that Python's parser cannot follow is an error of the text."""
    with pytest.raises(InvalidJsonError, match="nested too deeply"):
        parse_json("[" * 1_000_000)


def test_a_broken_line_stops_no_other(tmp_path):
    """Blank lines are passed over, a broken line and one that is not UTF-8 are faults with their numbers."""
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"question": "a"}\n\n{broken\n{"question": "\xff"}\n[1]\n{"question": "b"}')
    rows = [*read_rows(path)]
    assert [row.number for row in rows] == [1, 3, 4, 5, 6]
    assert [row.values.get("question") for row in rows] == ["a", None, None, None, "b"]
    assert "is no JSON" in rows[1].faults[""]
    assert "is not UTF-8 (0xff at byte" in rows[2].faults[""]
    assert "must be an object with a question, got a list; a file that is one JSON list" in rows[3].faults[""]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{]", "cases.json:1:3: is no JSON"),
        ("7", "must be a list of cases, got a number"),
        ('{"cass": []}', "or 'items' or 'rows'; is it 'cass'"),
    ],
)
def test_whole_files_that_hold_no_list(tmp_path, content, message):
    """A file that is broken or holds no list is an error with its place and the names of lists."""
    path = tmp_path / "cases.json"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        [*read_rows(path)]
    assert message in str(caught.value)


def test_the_list_of_a_file():
    """A list, or the list under one of the known keys."""
    assert find_list([1], "x") == find_list({"data": [1], "n": 2}, "x") == [1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        ("a", "a text"),
        (1.5, "a number"),
        ({}, "an object"),
        ((), "a list"),
        (b"", "bytes"),
    ],
)
def test_types_in_words_of_json(value, words):
    """Types are named as in JSON."""
    assert describe_type(value) == words
