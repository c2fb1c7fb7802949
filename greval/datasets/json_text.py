"""A JSON parser for untrusted input: values that Python's parser lets through or fails on are reported by field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isinf

MAX_DIGITS = 19
"""The number of digits of a 64-bit integer; longer ones fit neither a table nor a float."""


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class InvalidJsonError(ValueError):
    """A text is not valid JSON; `line` and `column` give the place, or are 0 if it is unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True)
class RawRow:
    """A row as read from a file.

    Args:
        number: Its line, or its position in a file without lines.
        values: The values by name; empty if the row could not be read at all.
        faults: The faults by name or by the path of the value; the key is "" if the whole row is faulty.
        unit: The separator between the file's name and the number.
    """

    number: int
    values: Mapping[str, object] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    unit: str = ":"

    @property
    def valid_values(self) -> Mapping[str, object]:
        """The values, with None in place of faulty ones."""
        return {name: None if name in self.faults else value for name, value in self.values.items()}


@dataclass(frozen=True)
class RefusedLiteral:
    """A placeholder for a literal that no case can hold, until the name of its field is known."""

    why: str


def parse_json(text: str) -> tuple[object, bool]:
    """Parse JSON; literals that no case can hold become placeholders.

    Returns:
        The content, and whether `find_faults` may find something in it. Checking every value of every row would take
        longer than everything else.

    Raises:
        NoJsonError: If the text is not valid JSON or is nested too deeply.
    """
    marks: list[RefusedLiteral] = []

    def refuse(why: str) -> RefusedLiteral:
        marks.append(RefusedLiteral(why))
        return marks[-1]

    try:
        content = _build_decoder(refuse).decode(text)
    except json.JSONDecodeError as error:
        message = f"is no JSON: {error.msg}"
        raise InvalidJsonError(message, error.lineno, error.colno) from error
    except RecursionError:
        message = "is nested too deeply"
        raise InvalidJsonError(message) from None
    return content, bool(marks) or "\\ud" in text or "\\uD" in text


def build_row(content: object, number: int, unit: str = ":", *, doubtful: bool) -> RawRow:
    """Build a row from a JSON value, which must be an object, with its faults."""
    if not isinstance(content, dict):
        hint = "; a file that is one JSON list is named .json" if isinstance(content, list) and unit == ":" else ""
        return RawRow(
            number, faults={"": f"must be an object with a question, got {describe_type(content)}{hint}"}, unit=unit
        )
    return RawRow(number, content, find_faults(content) if doubtful else {}, unit)


def find_faults(values: Mapping[str, object]) -> dict[str, str]:
    """Return why values are rejected, by path: NaN, infinity, huge integers and lone surrogates."""
    return dict(found for name, value in values.items() for found in _iterate_faults(name, value))


def describe_type(value: object) -> str:
    """Return the type of a value in JSON's terms.

    Example:
        >>> describe_type([1])
        'a list'
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = ((str, "a text"), (int | float, "a number"), (Mapping, "an object"), (list | tuple, "a list"))
    return next((words for types, words in kinds if isinstance(value, types)), type(value).__name__)


def _iterate_faults(name: str, whole: object) -> Iterator[tuple[str, str]]:
    """Yield the rejected values with their paths.

    The search uses its own stack, because values may be nested up to Python's recursion limit.
    """
    stack: list[tuple[str, object]] = [(name, name), (name, whole)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            if not value.isascii() and _LONE_SURROGATE.search(value):
                yield path, "holds half of a character (a lone surrogate), which is no text"
        elif isinstance(value, list | tuple):
            stack.extend((f"{path}[{n}]", item) for n, item in enumerate(value))
        elif isinstance(value, dict):
            stack.extend((f"{path}.{key}", part) for key, inner in value.items() for part in (key, inner))
        elif isinstance(value, RefusedLiteral):
            yield path, value.why


def _build_decoder(refuse: Callable[[str], RefusedLiteral]) -> json.JSONDecoder:
    """Build a decoder that rejects literals that Python accepts but JSON, or a case, does not."""

    def refuse_constant(literal: str) -> object:
        return refuse(f"{literal} is no JSON value; write null for what is not recorded")

    def parse_integer(literal: str) -> object:
        digits = len(literal.lstrip("-"))
        return int(literal) if digits <= MAX_DIGITS else refuse(f"an integer of {digits} digits is too large")

    def parse_number(literal: str) -> object:
        read = float(literal)
        return refuse(f"{literal[:20]} is too large a number") if isinf(read) else read

    return json.JSONDecoder(parse_constant=refuse_constant, parse_int=parse_integer, parse_float=parse_number)
