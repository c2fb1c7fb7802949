"""Cells and tables of reports: numbers, intervals, names, and text that is printed as it is."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_page import print_objects
from rich.cells import cell_len
from rich.console import Console

from greval.report.tables import (
    NO_INTERVAL,
    build_table,
    fit_table,
    format_by_question,
    format_cost,
    format_interval,
    format_measured,
    format_name,
    format_number,
    format_place,
    print_line,
    print_report,
    shorten_name,
    split_table,
)
from greval.stats.interval import Interval, MeasuredValue, Undefined

INTERVAL = Interval(low=-0.001, high=0.5, method="t")
FIGURE = MeasuredValue(value=0.25, n=8, interval=INTERVAL)
finite = st.floats(-1e9, 1e9)


@given(finite, st.integers(0, 4))
def test_a_number_is_within_half_a_unit_of_its_last_digit(value, digits):
    """Rounding is the only loss, and there is no negative zero."""
    text = format_number(value, digits=digits)
    decimals = len(text.partition(".")[2])
    assert decimals <= digits
    assert abs(float(text.replace(",", "")) - value) <= 0.5 * 10**-decimals * (1 + 1e-9)
    assert not re.fullmatch(r"-0\.?0*", text)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(9.9999, 3, "10.000"), (12.3456, 3, "12.35"), (123.456, 3, "123.5"), (1234.56, 3, "1,235"), (12.3456, 2, "12.35")],
)
def test_large_numbers_have_fewer_decimals(value, digits, text):
    """The decimals fall from 10, 100 and 1,000 on; those of small numbers are the caller's choice."""
    assert format_number(value, digits=digits) == text


def test_the_size_and_the_sign_can_be_given():
    """A small difference of large means has the decimals of the means, and a sign if it is wanted."""
    assert format_number(0.04, digits=3, size=250.0, sign=True) == "+0.0"
    assert format_number(-0.0001, digits=3, sign=True) == "+0.000"
    assert format_number(None) == "-"


def test_a_figure_has_its_interval_or_a_dash():
    """A value, a value without an interval, an undefined value and no value differ in a cell."""
    assert format_measured(FIGURE) == "0.25 [0.00, 0.50]"
    alone = FIGURE.model_copy(update={"interval": None})
    assert (format_measured(alone), format_measured(alone, without=NO_INTERVAL)) == ("0.25", "0.25 [no interval]")
    assert (format_measured(Undefined(n=0, reason="no label")), format_measured(None)) == ("-", "")
    assert format_measured(FIGURE, "{:.1f}".format) == "0.2 [-0.0, 0.5]"


def test_the_interval_by_question_is_the_clustered_one():
    """The cell is empty if questions have one item each, and a dash if the value is undefined."""
    clustered = FIGURE.model_copy(update={"clustered": Interval(low=0.1, high=0.4, method="t")})
    assert [format_by_question(one) for one in (clustered, FIGURE, Undefined(n=1, reason="one item"))] == [
        "[0.10, 0.40]",
        "",
        "-",
    ]
    assert format_interval(None) == ""


@given(st.text(max_size=200), st.integers(8, 80))
def test_a_shortened_name_keeps_its_ends(text, most):
    """A name is never longer than allowed, is unchanged if it fits, and otherwise keeps both ends."""
    short = shorten_name(text, most)
    assert len(short) <= most or short == text
    if len(text) > most:
        head, tail = short.split("...", 1) if text.count("...") == 0 else (short[:2], short[-2:])
        assert text.startswith(head)
        assert text.endswith(tail)
    else:
        assert short == text


def test_names_costs_and_places():
    """Coefficients have their printed names; an unknown price is not a price of zero."""
    assert [format_name(name) for name in ("ac1", "weighted f1", "bias")] == ["Gwet's AC1", "weighted F1", "bias"]
    assert [format_cost(cost) for cost in (None, 0.0, 1.23456)] == ["unknown", "$0.0000", "$1.2346"]
    assert [format_place("tone", group) for group in ("", "hard")] == ["tone", "tone (hard)"]


@given(st.text(st.characters(categories=["L", "N", "P", "Sc", "Sm", "So"]), min_size=1, max_size=20).filter(cell_len))
def test_text_of_the_data_is_printed_as_it_is(text):
    """Brackets and backslashes of a cell, a heading or a title are no markup, also if the cell has a style.

    A text of letters without a width, such as a part of a Hangul syllable by itself, has no cell.
    """
    page = print_objects(build_table(["name", text], [(text, (text, "bold"))], title=text), width=400)
    assert page.count(text) >= 4


def test_control_characters_of_the_data_do_not_reach_the_terminal():
    """An escape sequence in a name is shown, plain or styled, and not obeyed."""
    page = print_objects(build_table(["\x1b[2Jhead", "n"], [("\x1b[31mq1", ("\x07x", "red"))], title="\x1b]0;t"))
    assert "\x1b" not in page
    assert "\x07" not in page
    assert "␛[31mq1" in page


def test_long_cells_are_folded_and_not_cut():
    """Every letter of a cell is printed however narrow the page is."""
    out = io.StringIO()
    Console(file=out, width=20).print(build_table(["ID", "N"], [("abcdefghij" * 4, "12")]))
    assert sum(map(out.getvalue().count, "abcdefghij")) == 40


def test_a_report_has_one_order():
    """Important warnings come first, then title, findings, tables, legend, and the others; no table leaves no gap."""
    out = io.StringIO()
    tables = [None, build_table(["name"], [("row",)])]
    head, warnings = ["Title", "What was found."], ["few labels", "MIXED judges"]
    print_report(Console(file=out, width=80), head, tables, ["legend"], warnings=warnings, loud="MIXED")
    assert [line.strip() for line in out.getvalue().splitlines()] == [
        "MIXED judges",
        "Title",
        "What was found.",
        "",
        "name",
        "row",
        "",
        "legend",
        "few labels",
    ]


def test_the_first_table_that_fits_is_taken():
    """A table fits if no word is broken; if none fits, the last one is taken."""
    wide, narrow = (build_table(["name", *numbers], [["metric", *numbers]]) for numbers in (["12345678"] * 3, ["1"]))
    for width, taken in ((36, wide), (35, narrow), (5, narrow)):
        assert fit_table(Console(width=width), wide, narrow) is taken


@pytest.mark.parametrize(
    ("terminal", "lines"), [(True, ["several", "[words] here"]), (False, ["several [words] here"])]
)
def test_lines_are_folded_between_words_for_a_terminal_only(terminal, lines):
    """A file gets each line in one piece, so that it can be searched."""
    out = io.StringIO()
    print_line(Console(width=12, file=out, force_terminal=terminal, color_system=None), "several [words] here")
    assert [line.strip() for line in out.getvalue().splitlines()] == lines


def test_a_table_that_is_too_wide_comes_in_parts():
    """Each part repeats the first column, no cell is broken, and a part leaves out rows that have nothing in it."""
    columns = ["judge", "n", "accuracy", "kappa"]
    rows = [["ana", "9", "0.81 [0.70, 0.90]", "0.62 [0.40, 0.80]"], ["bob", "9", "0.71 [0.60, 0.80]", ""]]
    for width, heads in ((60, [columns]), (40, [["judge", "n", "accuracy"], ["judge", "kappa"]])):
        out = io.StringIO()
        console = Console(file=out, width=width)
        tables = [*split_table(console, columns, rows)]
        assert [[column.header for column in table.columns] for table in tables] == heads
        console.print(*tables)
        assert all(cell in out.getvalue() for row in rows for cell in row)
    assert tables[1].row_count == 1
