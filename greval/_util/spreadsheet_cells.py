"""Cells of tables that people open in a spreadsheet."""

from __future__ import annotations

import re

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_FORMULA = re.compile("'*[\\s\u200b-\u200f\u2060\ufeff]*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20\u2212-]")
"""The characters by which spreadsheets recognise a formula, also in full width and after blanks that they may remove,
and texts that were escaped before."""


def escape_formula(cell: object) -> object:
    """Return a cell that no spreadsheet reads as a formula; negative numbers stay numbers.

    Example:
        >>> escape_formula("=1+1"), escape_formula("-1.5"), escape_formula("- a")
        ("'=1+1", '-1.5', "'- a")
    """
    if not isinstance(cell, str) or not _FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def unescape_formula(cell: object) -> object:
    """Return the cell from which `escape_formula` made this one.

    Example:
        >>> unescape_formula("'=1+1"), unescape_formula("-1.5"), unescape_formula("'tis")
        ('=1+1', '-1.5', "'tis")
    """
    return cell[1:] if isinstance(cell, str) and cell[:1] == "'" and _FORMULA.match(cell[1:]) else cell
