"""The console for reports: texts unchanged, control characters visible, tables as wide as their numbers."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_page import print_objects
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from greval._util.wording import escape_control_characters
from greval.report.tables import ReportConsole

KEPT = "\t\n"


@given(st.text(max_size=60))
def test_no_control_character_is_left(text: str):
    """Only tab and newline remain of the control characters, and no mark that changes the direction."""
    escaped = escape_control_characters(text)
    assert not [letter for letter in escaped if unicodedata.category(letter) == "Cc" and letter not in KEPT]
    assert not {*escaped} & {*"\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"]) | st.sampled_from(KEPT)))
def test_other_text_is_unchanged(text: str):
    """Text of any script stays as it is."""
    assert escape_control_characters(text) == text


@pytest.mark.parametrize(
    ("character", "shown"), [("\x00", "␀"), ("\x1b", "␛"), ("\x7f", "␡"), ("\x9b", r"\u009b"), ("\u202e", r"\u202e")]
)
def test_substitutes(character: str, shown: str):
    """ASCII controls have a picture of their own, the others their code."""
    assert escape_control_characters(f"a{character}b") == f"a{shown}b"


def build_table(*cells: str, no_wrap: bool = False) -> Table:
    """Build a table of one row."""
    table = Table(box=None, pad_edge=False)
    for _ in cells:
        table.add_column("", no_wrap=no_wrap)
    table.add_row(*cells)
    return table


def test_a_title_is_as_wide_as_the_console():
    """The title of a narrow table is not folded to the width of the table, also in a group; its texts stay text."""
    title = "runs/a-rather-long-name-of-a-folder, judge [m]"
    for wrap in (lambda one: one, Group):
        table = build_table("1", "2")
        table.title = escape(title)
        assert print_objects(wrap(table), width=60).splitlines()[0] == title
        assert table.title == escape(title)


@given(st.integers(1, 60), st.lists(st.integers(10**6, 10**12), min_size=1, max_size=6))
def test_no_number_is_cut_at_any_width(width: int, numbers: list[int]):
    """Each number is on the page in full, however narrow the page is."""
    for content in (build_table(*map(str, numbers)), Group(build_table(*map(str, numbers)))):
        words = print_objects(content, width=width).split()
        assert words == [*map(str, numbers)]


def test_a_cell_that_must_stay_on_one_line_widens_the_table():
    """A column without wrapping keeps its text on one line, and the width of the console stays as it was."""
    out = io.StringIO()
    console = ReportConsole(file=out, width=10)
    console.print(build_table("one two three four", no_wrap=True))
    assert out.getvalue().strip() == "one two three four"
    assert console.width == 10
