"""Validation of the content of a metric file: the metric that it defines, or all its faults."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from greval.metrics.files.faults import Fault, Path, did_you_mean, from_errors, line_of, shown
from greval.metrics.files.json_schema import LEVEL
from greval.records.metric import JudgedMetric, define
from greval.records.needs import PROMPT_FIELDS

if TYPE_CHECKING:
    from greval.metrics.files.yaml_reader import Source

_OF_A_SCALE = ("categories", "ordered", "range", "levels", "better")
_STAND_IN: dict[str, Any] = {
    "name": "x",
    "description": "x",
    "needs": [*PROMPT_FIELDS],
    "scale": {"range": [0, 1], "levels": {"0": "x", "1": "x"}},
    "steps": ["x"],
}
"""Placeholders for faulty fields while the others are checked against each other."""


def checked(source: Source) -> JudgedMetric | list[Fault]:
    """Return the metric that a file defines, or its faults.

    Pydantic checks how fields fit together only if each field is valid. Therefore faulty fields are replaced
    by placeholders and the rest is checked again, until there is no new fault.
    """
    if source.data is None and source.faults:
        return source.faults
    faults = [*source.faults, *_misshapen(source)]
    while isinstance(source.data, Mapping):
        content = _mended(source.data, faults)
        try:
            metric = define(content)
        except ValidationError as error:
            told = from_errors(error.errors(), content, source.lines)
            new = [fault for fault in told if not any(_related(fault.path, known.path) for known in faults)]
            faults += new
            if not new:
                break
        else:
            return faults or metric
    return faults


def _misshapen(source: Source) -> Iterator[Fault]:
    """Find forms that are allowed in Python but not in a file, and faults that pydantic reports less clearly."""
    data, lines = source.data, source.lines
    if data is None:
        yield Fault(1, "is empty; write name, description, needs, scale and steps")
    elif not isinstance(data, Mapping):
        yield Fault(1, f"must be a mapping with name, description, needs, scale and steps, got {shown(data)}")
    else:
        for key in _OF_A_SCALE:
            if key in data:
                yield Fault(lines[key,], "belongs under scale; move it there", (key,), unknown=True)
        yield from _misshapen_scale(data.get("scale"), lines)
        yield from _misnamed_uses(data.get("uses"), lines)


def _misshapen_scale(scale: object, lines: Mapping[Path, int]) -> Iterator[Fault]:
    if not isinstance(scale, Mapping):
        return
    if not {"categories", "range", "levels"} & scale.keys():
        yield Fault(lines["scale",], "give categories, or range and levels", ("scale",))
    levels = scale.get("levels")
    for level in levels if isinstance(levels, Mapping) else ():
        if not re.fullmatch(LEVEL, level):
            path = "scale", "levels", level
            yield Fault(lines[path], "a level must be a number written in one way, such as 1 or 0.5", path)
    if isinstance(scale.get("categories"), list):
        yield Fault(
            lines["scale", "categories"],
            "must be a mapping from each name to what it means, got a list",
            ("scale", "categories"),
        )


def _misnamed_uses(uses: object, lines: Mapping[Path, int]) -> Iterator[Fault]:
    """Reject `as_`, the spelling of `as` that only Python code needs."""
    for field, use in uses.items() if isinstance(uses, Mapping) else ():
        if isinstance(use, Mapping) and "as_" in use:
            path = ("uses", field, "as_")
            yield Fault(line_of(path, lines), f"unknown{did_you_mean('as_', ['as'])}", path)


def _mended(data: Mapping[str, object], faults: list[Fault]) -> dict[str, Any]:
    """Return the content without unknown keys and with placeholders for faulty fields."""
    content: dict[str, Any] = copy.deepcopy({**data})
    for fault in faults:
        if fault.unknown:
            _drop(content, fault.path)
        elif fault.path:
            top = str(fault.path[0])
            content.pop(top, None)
            content.update({top: _STAND_IN[top]} if top in _STAND_IN else {})
            content.pop("examples", None)  # they would not fit the placeholder
    return content


def _drop(content: object, path: Path) -> None:
    for part in path[:-1]:
        content = content.get(str(part)) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content.pop(path[-1], None)


def _related(one: Path, other: Path) -> bool:
    """Return whether one path contains the other, so that a fault of one may be a consequence of the other's."""
    shorter, longer = sorted((one, other), key=len)
    return longer[: len(shorter)] == shorter and (bool(shorter) or not longer)
