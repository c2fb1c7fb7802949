"""Paths find what they name in JSON, and describe what they found instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval._util.json_path import JsonPath, JsonPathError

NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"'), min_size=1)


@given(st.lists(NAMES | st.integers(0, 3), max_size=4), st.integers())
def test_a_path_finds_what_it_names(steps, leaf):
    """Every place of a JSON document has a path that finds it."""
    content = leaf
    for step in reversed(steps):
        content = [*["other"] * step, content] if isinstance(step, int) else {step: content, f"{step}2": 0}
    text = "$" + "".join(f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in steps)
    assert JsonPath.parse(text).find(content) == leaf


@pytest.mark.parametrize("text", ["", " ", "?", "a..b", ".a", "a[", "a[x]", "a[*", "a]b", '["a]', "a.$"])
def test_what_is_no_path(text):
    """What cannot be read as a path is refused."""
    with pytest.raises(JsonPathError, match="is not a path"):
        JsonPath.parse(text)


def test_each_within_each():
    """Two stars give one flat list; an optional path that leads nowhere gives nothing."""
    content = {"a": [{"b": [{"c": 1}, {"c": 2}]}, {"b": []}, {"b": [{"c": 3}]}]}
    assert JsonPath.parse("a[*].b[*].c").find(content) == [1, 2, 3]
    assert JsonPath.parse("a[*].x.c?").find(content) is None
    assert JsonPath.parse("$").find(content) is content


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.integers(), min_size=1)))
def test_every_item_must_have_the_value(rows):
    """`[*]` gives one value for each item, in order; a single item without it is an error that names its place."""
    path, optional = JsonPath.parse("rows[*].a"), JsonPath.parse("rows[*].a?")
    if all("a" in row for row in rows):
        assert path.find({"rows": rows}) == optional.find({"rows": rows}) == [row["a"] for row in rows]
        return
    first = next(n for n, row in enumerate(rows) if "a" not in row)
    with pytest.raises(JsonPathError, match=rf"rows\[{first}\] is an object with b"):
        path.find({"rows": rows})
    assert optional.find({"rows": rows}) is None


@pytest.mark.parametrize(
    ("content", "held"),
    [
        ([], "a list of 0"),
        ({}, "an empty object"),
        ({"z": 1, "y": 2}, "an object with z, y"),
        ({str(n): n for n in range(13)}, r"an object with 0, 1, .*, 11, \.\.\.$"),
        (None, "null"),
        ("secret", "a text"),
        (True, "true or false"),
        (0.5, "a number"),
    ],
)
def test_a_missing_value_describes_the_type_it_found(content, held):
    """The message describes what is there without quoting its content."""
    with pytest.raises(JsonPathError, match=rf"nothing is at hits\[0\]: hits is {held}") as error:
        JsonPath.parse("hits[0]").find({"hits": content})
    assert "secret" not in str(error.value)
