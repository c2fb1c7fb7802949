"""Faults of a metric file, each with its place: from what pydantic found to what an author can mend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from greval.records.case import Case
from greval.records.example import Example
from greval.records.metric import JudgedMetric
from greval.records.needs import PROMPT_FIELDS, TAG
from greval.records.note import ListNote, ShareNote, TextNote
from greval.records.scale import CategoricalScale, ValueScale, has

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]

NEAR = 60
"""How alike, of 100, two names must be for one to be offered for the other."""

MAX_SHOWN = 60
MAX_KNOWN = 20

_SAID = {
    "missing": "is missing; add it",
    "string_too_short": "must not be empty",
    "string_too_long": "is too long: at most {max_length} characters",
    "too_short": "holds too little: at least {min_length}, got {actual_length}",
    "too_long": "holds too much: at most {max_length}, got {actual_length}",
}
_WANTED = {
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
_KEYS: dict[tuple[str, int], tuple[str, ...]] = {
    ("scale", 4): ("means", "score"),
    ("notes", 3): tuple({**ListNote.model_fields, **ShareNote.model_fields, **TextNote.model_fields}),
    ("uses", 3): ("judged_by", "as"),
    ("examples", 3): tuple(Example.model_fields),
    ("examples", 4): tuple(Case.model_fields),
}
"""The keys that are known, by the field of the metric and how deep they stand."""


class Fault(NamedTuple):
    """What is wrong, and where; `unknown` marks a key that no metric has."""

    line: int
    text: str
    path: Path = ()
    unknown: bool = False

    def __str__(self) -> str:
        place = ".".join(str(part + 1) if isinstance(part, int) else part for part in self.path)
        told = f"{place}: {self.text}" if place else self.text
        return f"{self.line}: {' '.join(told.splitlines())}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Give the end of a sentence on an unknown word: the nearest known one, else those that are known.

    Example:
        >>> did_you_mean("stpes", ["steps", "needs"])
        '; did you mean steps?'
        >>> did_you_mean("x", ["steps", "needs"])
        '; known: steps, needs'
    """
    from rapidfuzz import fuzz, process

    words = [*known]
    near = process.extractOne(word, words, scorer=fuzz.ratio, processor=str.casefold, score_cutoff=NEAR)
    if near:
        return f"; did you mean {near[0]}?"
    more = ", ..." if len(words) > MAX_KNOWN else ""
    return f"; known: {', '.join(words[:MAX_KNOWN])}{more}" if words else ""


def from_errors(errors: Sequence[ErrorDetails], data: object, lines: Mapping[Path, int]) -> list[Fault]:
    """Give the faults that pydantic's errors tell.

    Args:
        errors: What pydantic found wrong with the data.
        data: The content of the file.
        lines: The line of each path in the file.
    """
    found: list[Fault] = []
    for error in errors:
        path = _located(error["loc"], data, missing=error["type"] == "missing")
        for place, text in _told(error, path, data):
            found.append(Fault(line_of(place, lines), text, place, unknown=error["type"] == "extra_forbidden"))
    return [fault for fault in found if not (_counts(fault) and any(_inside(other, fault) for other in found))]


def line_of(path: Path, lines: Mapping[Path, int]) -> int:
    """Give the line of a path, or of the nearest part around it that is in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def known_keys(path: Path, data: Mapping[str, object]) -> tuple[str, ...]:
    """Give the keys that are known where the last part of the path stands."""
    if len(path) == 1:
        return tuple(JudgedMetric.model_fields)
    if path[0] == "scale" and len(path) == 2:  # noqa: PLR2004 - a key of the scale itself
        categorical = has(data.get("scale"), "categories")
        return tuple((CategoricalScale if categorical else ValueScale).model_fields)
    return _KEYS.get((str(path[0]), len(path)), ())


def _located(loc: Path, data: object, *, missing: bool) -> Path:
    """Give the path in the file: without the tags of unions, with names where categories were counted."""
    path: Path = ()
    for part in loc:
        step = _step(part, data)
        if step is not None:
            path = (*path, step)
            data = data[step]  # type: ignore[index]  # _step found it there
    return (*path, loc[-1]) if missing else path


def _step(part: str | int, data: object) -> str | int | None:
    """Give the key or index that a part of pydantic's path stands for, None where it is not in the data."""
    if isinstance(data, Mapping):
        names = [*data]
        return part if part in data else names[part] if isinstance(part, int) and part < len(names) else None
    return part if isinstance(data, list) and isinstance(part, int) and part < len(data) else None


def _told(error: ErrorDetails, path: Path, data: object) -> Iterator[tuple[Path, str]]:
    """Tell an error in words of the file, once for each of its lines."""
    kind, given = error["type"], error["input"]
    context = error.get("ctx", {})
    if kind == "extra_forbidden" and isinstance(data, Mapping):
        yield path, f"unknown{did_you_mean(str(path[-1]), known_keys(path, data))}"
    elif kind == "value_error" and path[:1] == ("needs",) and len(path) > 1:
        yield path, f"{shown(given)} is no field of a case{did_you_mean(str(given), (*PROMPT_FIELDS, f'{TAG}NAME'))}"
    elif kind == "value_error":
        for line in error["msg"].removeprefix("Value error, ").splitlines():
            yield _placed(line, path, data)
    elif kind == "literal_error":
        allowed = [word for word in context["expected"].split("'") if word.strip(", ") not in {"", "or"}]
        yield path, f"{shown(given)} is not allowed here{did_you_mean(str(given), allowed)}"
    elif kind in _WANTED:
        yield path, f"must be {_WANTED[kind]}, got {shown(given)}{_hint(kind, given)}"
    else:
        yield path, _SAID[kind].format(**context) if kind in _SAID else error["msg"].replace("Input should", "must")


def _hint(kind: str, given: object) -> str:
    """Say how a number or a flag becomes text, and how a key that holds nothing is mended."""
    if given is None:
        return "; write its content or leave the key out"
    return "; put it in quotes" if kind == "string_type" and isinstance(given, bool | int | float) else ""


def shown(given: object) -> str:
    """Show what was given as the file has it, shortened."""
    match given:
        case None:
            return "nothing"
        case bool():
            return str(given).lower()
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            text = repr(given)
            return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _placed(text: str, path: Path, data: object) -> tuple[Path, str]:
    """Split `place: fault` where the place is in the data; names may themselves hold dots and colons."""
    for part in path:
        data = data[part]  # type: ignore[index]  # the path was found in the data
    rest, ended = text, False
    while not ended and (steps := [step for step in _steps(data) if rest.startswith((f"{step}: ", f"{step}."))]):
        step = max(steps, key=lambda step: len(str(step)))
        after = rest[len(str(step)) :]
        path, data = (*path, step), data[step]  # type: ignore[index]  # one of its own steps
        rest, ended = after.removeprefix(": ").removeprefix("."), after.startswith(": ")
    return path, rest


def _steps(data: object) -> Iterable[str | int]:
    """Give the keys or the indexes by which to go further into the data."""
    return data if isinstance(data, Mapping) else range(len(data)) if isinstance(data, list) else ()


def _counts(fault: Fault) -> bool:
    """Tell whether the fault is a count, which is too low wherever an item of the list is wrong."""
    return fault.text.startswith("holds too little")


def _inside(other: Fault, fault: Fault) -> bool:
    return len(other.path) > len(fault.path) and other.path[: len(fault.path)] == fault.path
