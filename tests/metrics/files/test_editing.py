"""Tests of edits of metric files: what is not changed stays as it is written, and lines of messages."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greval.errors import DefinitionError
from greval.metrics.files.editing import add_line, read_content, replace_fields
from greval.metrics.files.yaml_text import read_source
from greval.metrics.library import find_predefined_folder

TEXT = """\
# ours
name: tone   # short

# what it is
description: >-
  Whether the answer is polite
  and kind.
needs: [answer]
scale:
  range: [1, 3]   # ends
  levels: {1: Rude., 3: Kind.}
# how
steps: [Read the answer.]   # one
"""
WORDS = st.text(st.characters(codec="utf-8"), max_size=30)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def normal(content):
    """Give content as a reader of the text gives it: keys are text."""
    return json.loads(json.dumps(content))


@given(field=st.sampled_from(["name", "description", "scale", "steps", "notes", "judge"]), value=CONTENT)
@example(field="name", value={"\x85": None})
@example(field="notes", value={"a\u2028b": {"\u2029": "x"}})
def test_a_field_gets_its_value_and_all_others_stay(field, value):
    """Whatever the value, it is read back, and the other fields with their order are as before."""
    content_before = read_content(read_source(TEXT))
    content_after = read_content(read_source(replace_fields(TEXT, {field: value})))
    if value is None:
        assert field not in content_after
    else:
        assert normal(content_after[field]) == normal(value)
    assert {key: part for key, part in content_after.items() if key != field} == {
        key: part for key, part in content_before.items() if key != field
    }


@given(text=st.sampled_from([file.read_text("utf-8") for file in find_predefined_folder().glob("*.yaml")]))
def test_an_edit_without_a_change_changes_nothing(text):
    """Fields that have the value already keep their text."""
    assert replace_fields(text, read_content(read_source(text))) == text


def test_comments_and_styles_stay():
    """Only the lines of the field are written anew."""
    edited = replace_fields(
        TEXT, {"scale": {"range": [1, 2], "levels": {"1": "Rude.", "2": "Kind."}}, "over": "chunks"}
    )
    assert edited == TEXT.replace(
        "  range: [1, 3]   # ends\n  levels: {1: Rude., 3: Kind.}\n",
        "  range: [1, 2]\n  levels:\n    1: Rude.\n    2: Kind.\n",
    ).replace("needs:", "over: chunks\nneeds:")


def test_the_order_of_categories_is_written():
    """Two mappings with the same parts in another order are different."""
    text = "scale:\n  categories: {A: x, B: y}\n"
    edited = replace_fields(text, {"scale": {"categories": {"B": "y", "A": "x"}}})
    assert [*read_content(read_source(edited))["scale"]["categories"]] == ["B", "A"]


@pytest.mark.parametrize(
    "text", ["{name: tone, steps: [a]}", '"name": tone\n"steps": [a]', "? name\n: tone\n", "", "#"]
)
def test_any_style_can_be_edited(text):
    """A text on one line, with quoted keys, or without content gets the field too."""
    edited = read_content(read_source(replace_fields(text, {"name": "x: y", "notes": {"more": "What is missing."}})))
    assert edited["name"] == "x: y"
    assert edited["notes"] == {"more": "What is missing."}


@pytest.mark.parametrize("text", ["a: [", "[a]", "text", "a: &x 1\nb: *x"])
def test_what_cannot_be_read_is_refused(text):
    """Nothing is guessed: the fault has its line."""
    with pytest.raises(DefinitionError, match=r"^\d+: "):
        replace_fields(text, {"name": "x"})


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("name: is odd", 2),
        ("steps.1: is odd", 13),
        ("steps.2: is odd", 13),
        ("scale.levels.3: is odd", 11),
        ("scale: is odd", 9),
        ("uses.chunks.as: is odd", 1),
        ("something is odd", 1),
        ("names: is odd", 1),
    ],
)
def test_a_message_gets_the_line_of_its_place(message, line):
    """The longest part of the place that is in the text counts."""
    assert add_line(message, read_source(TEXT), "tone.yaml") == f"tone.yaml:{line}: {message}"


def test_names_with_dots_and_colons_are_found():
    """The name of a category may look like a place."""
    source = read_source("scale:\n  categories:\n    A.B: x\n    'A: c': y\n    A: z\n")
    lines = [add_line(f"scale.categories.{name}: odd", source, "f").split(":")[1] for name in ("A.B", "A: c", "A")]
    assert lines == ["3", "4", "5"]
