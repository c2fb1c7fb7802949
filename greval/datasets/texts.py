"""Reading JSON from strangers: what Python's reader lets through or stumbles over is told, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isinf

MAX_DIGITS = 19
"""The digits of a 64-bit integer: longer ones fit no table and no float."""


class NoJsonError(ValueError):
    """A text is no JSON; `line` and `column` say where, and are 0 where that is not known."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Raw:
    """A row as it stands in a file.

    Args:
        number: Its line, or its position in a file that has none.
        values: The values by name; empty where the row could not be read at all.
        faults: What is wrong by name; the name is "" where the whole row is.
        unit: What stands between the file's name and the number.
    """

    number: int
    values: Mapping[str, object] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    unit: str = ":"


@dataclass(frozen=True)
class _Refused:
    """Stands for a literal that no case can hold, until its field's name is known."""

    why: str


def loads(text: str) -> object:
    """Read JSON; literals that no case can hold come back as marks, which `faults_in` finds.

    Raises:
        NoJsonError: Where the text is no JSON or is nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NoJsonError(f"is no JSON: {error.msg}", error.lineno, error.colno) from error
    except RecursionError:
        message = "is nested too deeply"
        raise NoJsonError(message) from None


def row_of(content: object, number: int, unit: str = ":") -> Raw:
    """Give the row that a JSON value is: an object, with what is wrong in it."""
    if not isinstance(content, dict):
        hint = "; a file that is one JSON list is named .json" if isinstance(content, list) and unit == ":" else ""
        return Raw(number, faults={"": f"must be an object with a question, got {kind(content)}{hint}"}, unit=unit)
    return Raw(number, content, faults_in(content), unit)


def faults_in(values: Mapping[str, object]) -> dict[str, str]:
    """Give why values cannot be taken, by name: NaN, infinity and huge integers anywhere inside them."""
    return {name: why for name, value in values.items() if (why := _refusal(value))}


def kind(value: object) -> str:
    """Say what a value is, in JSON's words.

    Example:
        >>> kind([1])
        'a list'
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = ((str, "a text"), (int | float, "a number"), (Mapping, "an object"), (list | tuple, "a list"))
    return next((words for types, words in kinds if isinstance(value, types)), type(value).__name__)


def _refusal(value: object) -> str | None:
    """Find a mark in a value; by a stack of its own, as a value may be nested to Python's limit."""
    stack = [value]
    while stack:
        match stack.pop():
            case _Refused(why=why):
                return why
            case dict() as mapping:
                stack.extend(mapping.values())
            case list() as items:
                stack.extend(items)
    return None


def _constant(literal: str) -> object:
    return _Refused(f"{literal} is no JSON value; write null for what is not recorded")


def _integer(literal: str) -> object:
    digits = len(literal.lstrip("-"))
    return int(literal) if digits <= MAX_DIGITS else _Refused(f"an integer of {digits} digits is too large")


def _float(literal: str) -> object:
    number = float(literal)
    return _Refused(f"{literal[:20]} is too large a number") if isinf(number) else number


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_int=_integer, parse_float=_float)
