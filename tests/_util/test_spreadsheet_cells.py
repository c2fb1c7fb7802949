"""Cells of tables are safe from formulas, and come back as they were."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greval._util.spreadsheet_cells import escape_formula, unescape_formula

STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20\u2212"
BLANKS = " \u00a0\u200b\ufeff"


@given(st.text(st.sampled_from(f"{STARTS}{BLANKS}'1.e a")))
@example("'=1")
@example("''-1.5")
def test_a_cell_comes_back(text):
    """What was escaped is what it was before, also a text with apostrophes of its own, and no formula is left."""
    escaped = escape_formula(text)
    assert unescape_formula(escaped) == text
    assert escaped == text or escaped[0] == "'"


@pytest.mark.parametrize("start", STARTS)
def test_formulas_are_escaped_and_numbers_are_not(start):
    """Each character by which a spreadsheet knows a formula is behind an apostrophe; a negative number is a number."""
    for blanks in ("", *BLANKS, BLANKS):
        assert escape_formula(f"{blanks}{start}A1") == f"'{blanks}{start}A1"
    assert escape_formula("-1.5") == "-1.5"
    assert escape_formula(-1.5) == -1.5
    assert unescape_formula(None) is None
