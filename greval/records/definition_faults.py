"""Faults of definitions in the words of a metric file: what was expected, what was found, and what to do.

The same words stand in the errors of metric files, of other YAML files and of definitions in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from greval._util.wording import did_you_mean, shorten_text
from greval.records.case import CLAIM_FIELDS, PROMPT_FIELDS, TAG

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]
KnownKeys = Callable[[Path, Mapping[str, object]], Sequence[str]]
"""A function that lists the known keys at the level of the last part of a path."""
MAX_SHOWN = 60

_MESSAGES = {
    "string_too_short": "must not be empty",
    "string_too_long": "is too long: at most {max_length} characters",
    "too_short": "holds too little: at least {min_length}, got {actual_length}",
    "none_required": "must be left out",
    "too_long": "holds too much: at most {max_length}, got {actual_length}",
}
_EXPECTED_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_KNOWN_NEEDS = (*PROMPT_FIELDS, *CLAIM_FIELDS, f"{TAG}NAME")


class DefinitionFault(NamedTuple):
    """A fault with its path; `unknown` is true for a key that no definition has."""

    path: Path
    text: str
    unknown: bool = False


def convert_errors(errors: Iterable[ErrorDetails], data: object, known_keys: KnownKeys) -> list[DefinitionFault]:
    """Convert the errors of pydantic to faults of the data."""
    faults: list[DefinitionFault] = []
    for error in errors:
        faults += (
            DefinitionFault(path, text, unknown=error["type"] == "extra_forbidden")
            for path, text in _format_error(error, data, known_keys)
        )
    # pydantic also counts an invalid item as missing from its list.
    return [
        fault
        for fault in faults
        if not (fault.text.startswith("holds too little") and any(_is_inside(inner, fault) for inner in faults))
    ]


def format_fault(path: Path, text: str) -> str:
    """Format a fault on one line after its path, in which items are counted from 1."""
    dotted_path = ".".join(str(part + 1) if isinstance(part, int) else part for part in path)
    return " ".join((f"{dotted_path}: {text}" if dotted_path else text).splitlines())


def split_place(text: str, data: object, *, start: int = 0) -> tuple[Path, str]:
    """Split `place: fault` into the path of the place in the data and the fault; items of lists count from `start`.

    Names may hold dots and colons, so that the longest one that fits counts.
    """
    path: Path = ()
    remaining, has_ended = text, False
    while not has_ended and (
        steps := [step for step in _list_steps(data, start) if remaining.startswith((f"{step[0]}: ", f"{step[0]}."))]
    ):
        word, key = max(steps, key=lambda step: len(step[0]))
        path, data = _take_step(path, data, key)
        has_ended = remaining[len(word)] == ":"
        remaining = remaining[len(word) + 1 :].removeprefix(" ")
    return path, remaining


def _list_steps(data: object, start: int) -> list[tuple[str, str | int]]:
    if isinstance(data, Mapping):
        return [(str(key), key) for key in data]
    return [(str(n), n - start) for n in range(start, start + len(data))] if isinstance(data, list | tuple) else []


def format_value(value: object) -> str:
    """Format a value for a message as a file has it, shortened."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return shorten_text(repr(value), MAX_SHOWN)


def _convert_path(loc: Path, data: object) -> tuple[Path, object]:
    """Convert a path of pydantic to one in the data without tags of unions, and return it with what is there."""
    path: Path = ()
    for part in loc:
        step = _find_step(part, data)
        if step is not None:
            path, data = _take_step(path, data, step)
    return path, data


def _take_step(path: Path, data: Any, step: str | int) -> tuple[Path, Any]:  # noqa: ANN401 - the content of a file
    """Return the path and the content after a step; a key that is a number is no index."""
    return (*path, str(step) if isinstance(data, Mapping) else step), data[step]


def _find_step(part: str | int, data: object) -> str | int | None:
    """Return the key or index for a part of pydantic's path, None if it is not in the data."""
    if isinstance(data, Mapping):
        names = [*data]
        # Categories are a mapping in the data and a list in the model, so an index stands for a name.
        return part if part in data else names[part] if isinstance(part, int) and part < len(names) else None
    return part if isinstance(data, list | tuple) and isinstance(part, int) and part < len(data) else None


def _format_error(error: ErrorDetails, data: object, known_keys: KnownKeys) -> Iterator[tuple[Path, str]]:
    """Format an error in the terms of the data, one message for each of its lines."""
    kind, value = error["type"], error["input"]
    context = error.get("ctx", {})
    path, content = _convert_path(error["loc"], data)
    if kind == "missing":
        yield (*path, error["loc"][-1]), "is missing; add it"
    elif kind == "extra_forbidden" and isinstance(data, Mapping):
        yield path, f"unknown{did_you_mean(str(path[-1]), known_keys(path, data))}"
    elif kind == "value_error" and path[:1] == ("needs",) and len(path) > 1:
        yield path, f"{format_value(value)} is no field of a case{did_you_mean(str(value), _KNOWN_NEEDS)}"
    elif kind == "value_error":
        for line in error["msg"].removeprefix("Value error, ").splitlines():
            inner_path, message = split_place(line, content)
            yield (*path, *inner_path), message
    elif kind == "literal_error":
        allowed = [word for word in context["expected"].split("'") if word.strip(", ") not in {"", "or"}]
        yield path, f"{format_value(value)} is not allowed here{did_you_mean(str(value), allowed)}"
    elif kind in _EXPECTED_TYPES:
        yield path, f"must be {_EXPECTED_TYPES[kind]}, got {format_value(value)}{_format_hint(kind, value)}"
    else:
        message = _MESSAGES[kind].format(**context) if kind in _MESSAGES else error["msg"]
        yield path, message.replace("Input should", "must")


def _format_hint(kind: str, value: object) -> str:
    """Format a hint for an empty key, or for a number or flag in the place of text."""
    if value is None:
        return "; write its content or leave the key out"
    return "; put it in quotes" if kind == "string_type" and isinstance(value, bool | int | float) else ""


def _is_inside(inner: DefinitionFault, fault: DefinitionFault) -> bool:
    return len(inner.path) > len(fault.path) and inner.path[: len(fault.path)] == fault.path
