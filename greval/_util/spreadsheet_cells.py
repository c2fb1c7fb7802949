"""Cells of tables that people open in a spreadsheet."""

from __future__ import annotations

import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The characters by which spreadsheets recognise a formula, also in their full-width forms."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def escape_formula(cell: object) -> object:
    """Return a cell that no spreadsheet reads as a formula; negative numbers stay numbers.

    Example:
        >>> escape_formula("=1+1"), escape_formula("-1.5"), escape_formula("- a")
        ("'=1+1", '-1.5', "'- a")
    """
    if not isinstance(cell, str) or not cell.startswith(FORMULA_STARTS) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"
