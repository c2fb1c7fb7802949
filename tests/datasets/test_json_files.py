"""JSON that Python accepts and no case can hold is reported by its path; all other JSON reads as Python reads it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.json_files import InvalidJsonError, find_faults, find_list, parse_json

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


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "[1,]", "", "nul"])
def test_broken_json_has_a_place(text):
    """A syntax error is raised with line and column."""
    with pytest.raises(InvalidJsonError, match="is no JSON") as caught:
        parse_json(text)
    assert caught.value.line == 1


def test_the_list_of_a_file():
    """A list, or the list under one of the known keys."""
    assert find_list([1], "x") == find_list({"data": [1], "n": 2}, "x") == [1]
