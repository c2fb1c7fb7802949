"""Comparisons of a figure with a number, such as `>= 0.7`: in conditions of a gate, and for a case that passes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

TOLERANCE = 1e-9
"""The tolerance for equal figures: in floating point 0.7 - 0.02 is not exactly 0.68."""
SIGN = r"<=|>=|<|>"
NUMBER = r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?"
LIMIT_PATTERN = re.compile(rf"\s*(?P<sign>{SIGN})\s*(?P<number>{NUMBER})\s*")
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda left, right: left < right - TOLERANCE,
    "<=": lambda left, right: left <= right + TOLERANCE,
    ">": lambda left, right: left > right + TOLERANCE,
    ">=": lambda left, right: left >= right - TOLERANCE,
}


class NumberLimit(NamedTuple):
    """A sign and a number, such as `>= 0.7`."""

    sign: str
    number: float

    def is_met(self, figure: float) -> bool:
        """Return whether a figure meets the limit."""
        return SIGNS[self.sign](figure, self.number)


@lru_cache(maxsize=64)  # a report parses that of a metric for each case
def parse_limit(text: str) -> NumberLimit:
    """Parse a sign and a number.

    Raises:
        ValueError: If the text is anything else.

    Example:
        >>> parse_limit(">= 0.7").is_met(0.7)
        True
    """
    found = LIMIT_PATTERN.fullmatch(text)
    if not found:
        raise ValueError("write < <= > or >= and a number, such as '>= 0.7'")
    return NumberLimit(found["sign"], float(found["number"]))
