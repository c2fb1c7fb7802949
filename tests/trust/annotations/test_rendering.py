"""Tests of the rendering of judged items for people."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from greval import CategoricalMetric
from greval.records.case import Case
from greval.trust.annotations.rendering import escape_text, format_fields

texts = st.text(st.characters(codec="utf-8"), max_size=60)


@given(texts)
def test_a_page_shows_a_text_as_it_is(text):
    """Nothing of a text is markup, its lines stay, and reading the page gives the text again."""
    shown = escape_text(text)
    assert "<" not in shown.replace("<br>", "")
    read = html.unescape(shown.replace("<br>", "\n")).replace("\xa0", " ").replace("\u2003", "\t")
    plain = re.sub(r"\s", "", text.replace("\0", "\ufffd"))
    assert re.sub(r"\s", "", read) == (plain or "(empty)")


def test_the_shown_fields_are_the_needs_of_the_metric():
    """Context lists chunks, triples and computed texts; a walk is a step a line; what is empty says so."""
    metric = CategoricalMetric(
        name="m",
        description="d",
        needs=("context", "traversal", "answer"),
        steps=["s"],
        categories={"Yes": "", "No": ""},
    )
    case = Case(
        question="?",
        answer="",
        chunks=["one", "two"],
        triples=[("a", "b", "c")],
        aggregates=("3 films",),
        traversal={"start_nodes": ["a"], "traversed_edges": [["a", "knows", "b"]], "final_nodes": ["b"]},
    )
    shown = format_fields(metric, case, None)
    assert shown["context"].split("<br>") == [
        *("Chunks", "", "[1] one", "", "[2] two", "", "Triples", "", "[1] a \u2014 b \u2014 c", ""),
        *("Computed", "", "[1] 3 films"),
    ]
    assert shown["traversal"].split("<br>") == ["start: a", "1. a \u2014 knows \u2014 b", "end: b"]
    assert shown["answer"] == "(empty)"
