"""Markdown for pull requests: tables that hold together, and texts that stay texts."""

import pytest
from ci_formats import HOSTILE, gated_comparison, gated_report, list_of
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from greval.report.check_list import format_code, format_markdown, list_comparison_checks, list_report_checks

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read_cells(text):
    """Return the rows of all tables as the texts of their cells."""
    rows, tokens = [], READER.parse(text)
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in {"td_open", "th_open"}:
            rows[-1].append(read_text(tokens[place + 1]))
    return rows


def read_text(token):
    """Return the text of an inline token; the only HTML in it is `<code>`, and the only markup is code and bold."""
    kinds = {"text", "text_special", "code_inline", "html_inline", "strong_open", "strong_close"}
    assert {child.type for child in token.children} <= kinds, token.content
    assert {child.content for child in token.children if child.type == "html_inline"} <= {"<code>", "</code>"}
    return "".join(child.content for child in token.children if child.type != "html_inline")


def test_a_report_is_two_tables(tmp_path):
    """The result is the heading; the conditions come before the figures, and the warnings last."""
    text = format_markdown(list_report_checks(gated_report(tmp_path / "run")))
    assert text.startswith("### greval: 1 of 3 conditions failed, 1 of 3 conditions undecided\n")
    rows = read_cells(text)
    assert rows[0] == ["result", "fails if", "figures"]
    assert rows[2] == ["FAILED", "right@x < 0.7", "0.6667 < 0.7 (n = 3)"]
    assert [row[0] for row in rows[5:]] == ["right", "latency", "depth"]
    assert "- `right: failures: timeout 1" in text


def test_a_comparison_says_first_what_was_found(tmp_path):
    """The sentence stands before the tables, and without a gate the heading counts nothing."""
    found = gated_comparison(tmp_path / "run").model_copy(update={"gate": ()})
    heading, _, title, _, sentence, *_ = format_markdown(list_comparison_checks(found)).splitlines()
    assert (heading, title) == ("### greval", f"`{tmp_path / 'run'}`")
    assert sentence.startswith("`walk against local: worse in right (-0.67)")


@pytest.mark.parametrize(
    "text", [HOSTILE, "`", "``a``", "|", "\\|", "\\", "&lt;", "&#124;", "- a", "# a", "1. a", "@team"]
)
def test_hostile_texts_stay_texts(text):
    """No text formats anything, ends its cell, links or mentions: all of them are code."""
    check_texts(text)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_every_text_is_kept(text):
    """Each cell holds its text, on one line."""
    check_texts(text)


def check_texts(text):
    """Check that a text comes back from each cell, and that it stands in code."""
    found = format_markdown(list_of(text))
    rows = read_cells(found)
    clean = " ".join(text.replace("\x00", "\ufffd").split())
    assert [len(row) for row in rows] == [3, 3, 3, 2, 2]
    assert rows[1][1] == rows[1][2] == rows[4][0] == clean
    code = format_code(text)
    assert not code or (code[0], code[-1]) == ("`", "`") or (code[:6], code[-7:]) == ("<code>", "</code>")
