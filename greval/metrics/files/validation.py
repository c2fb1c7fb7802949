"""Validation of the content of a metric file: the metric that it defines, or all its faults, each with its line."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from greval._util.wording import did_you_mean
from greval.metrics.files.json_schema import LEVEL
from greval.metrics.files.yaml_text import MetricFileFault, YamlSource, find_line
from greval.records.case import PROMPT_FIELDS
from greval.records.formula_metric import FORMULA_FIELDS, FileMetric, build_file_metric
from greval.records.metric import JudgedMetric, list_definition_keys

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from greval.records.definition_faults import KnownKeys, Path

_SCALE_KEYS = ("categories", "ordered", "range", "levels", "better")
_PLACEHOLDERS: dict[str, Any] = {
    "name": "x",
    "description": "x",
    "needs": [*PROMPT_FIELDS],
    "scale": {"range": [0, 1], "levels": {"0": "x", "1": "x"}},
    "steps": ["x"],
}
"""Placeholders for faulty fields while the others are checked against each other."""
_FORMULA_PLACEHOLDERS: dict[str, Any] = {"name": "x", "description": "x", "formula": "y"}


def convert_errors(
    errors: Iterable[ErrorDetails], data: object, lines: Mapping[Path, int], known_keys: KnownKeys | None = None
) -> list[MetricFileFault]:
    """Convert the errors of pydantic to faults of the file, by default of one of a metric."""
    from greval.records import definition_faults

    faults = definition_faults.convert_errors(errors, data, known_keys or list_known_keys)
    return [MetricFileFault(find_line(path, lines), text, path, unknown) for path, text, unknown in faults]


def list_known_keys(path: Path, data: Mapping[str, object]) -> tuple[str, ...]:
    """Return the known keys at the level of the last part of a path."""
    return list_definition_keys(path, data, FORMULA_FIELDS if "formula" in data else _list_judged_keys())


def _list_judged_keys() -> tuple[str, ...]:
    return (*(field.alias or name for name, field in JudgedMetric.model_fields.items()), "formula")


def validate_source(source: YamlSource) -> FileMetric | list[MetricFileFault]:
    """Return the metric that a file defines, or its faults.

    Pydantic checks how fields fit together only if each field is valid. Therefore faulty fields are replaced
    by placeholders and the rest is checked again, until there is no new fault.
    """
    if source.data is None and source.faults:
        return source.faults
    faults = [*source.faults, *_find_form_faults(source)]
    while isinstance(source.data, Mapping):
        content = _replace_faulty_fields(source.data, faults)
        try:
            metric = build_file_metric(content)
        except ValidationError as error:
            converted = convert_errors(error.errors(), content, source.lines)
            # A fault within or around an earlier one may come from its placeholder.
            new = [fault for fault in converted if not any(_is_nested(fault.path, earlier.path) for earlier in faults)]
            faults += new
            if not new:
                break
        else:
            return faults or metric
    return faults


def _find_form_faults(source: YamlSource) -> Iterator[MetricFileFault]:
    """Find forms that are allowed in Python but not in a file, and faults that pydantic reports less clearly."""
    data, lines = source.data, source.lines
    if data is None:
        yield MetricFileFault(1, "is empty; write name, description, needs, scale and steps")
    elif not isinstance(data, Mapping):
        from greval.records.definition_faults import format_value

        yield MetricFileFault(
            1, f"must be a mapping with name, description, needs, scale and steps, got {format_value(data)}"
        )
    else:
        for key in _SCALE_KEYS:
            if key in data:
                yield MetricFileFault(lines[key,], "belongs under scale; move it there", (key,), unknown=True)
        if "formula" in data:
            yield from _find_judge_keys(data, lines)
            return
        yield from _find_scale_faults(data.get("scale"), lines)
        yield from _find_use_faults(data.get("uses"), lines)


def _find_judge_keys(data: Mapping[str, object], lines: Mapping[Path, int]) -> Iterator[MetricFileFault]:
    """Find the keys that only a judge needs, in a file with a formula."""
    judged = {*_list_judged_keys()} - {*FORMULA_FIELDS}
    for key in data:
        if key in judged:
            message = "is read by judges only, and a formula needs none; take it out, or the formula"
            yield MetricFileFault(lines[key,], message, (key,), unknown=True)


def _find_scale_faults(scale: object, lines: Mapping[Path, int]) -> Iterator[MetricFileFault]:
    if not isinstance(scale, Mapping):
        return
    if not {"categories", "range", "levels"} & scale.keys():
        yield MetricFileFault(lines["scale",], "give categories, or range and levels", ("scale",))
    levels = scale.get("levels")
    for level in levels if isinstance(levels, Mapping) else ():
        if not re.fullmatch(LEVEL, level):
            path = "scale", "levels", level
            yield MetricFileFault(lines[path], "a level must be a number written in one way, such as 1 or 0.5", path)
    if isinstance(scale.get("categories"), list):
        yield MetricFileFault(
            lines["scale", "categories"],
            "must be a mapping from each name to what it means, got a list",
            ("scale", "categories"),
        )


def _find_use_faults(uses: object, lines: Mapping[Path, int]) -> Iterator[MetricFileFault]:
    """Reject `as_`, the spelling of `as` that only Python code needs."""
    for field, use in uses.items() if isinstance(uses, Mapping) else ():
        if isinstance(use, Mapping) and "as_" in use:
            path = ("uses", field, "as_")
            yield MetricFileFault(find_line(path, lines), f"unknown{did_you_mean('as_', ['as'])}", path)


def _replace_faulty_fields(data: Mapping[str, object], faults: list[MetricFileFault]) -> dict[str, Any]:
    """Return the content without unknown keys and with placeholders for faulty fields."""
    # The source is read again in the next round, and must stay whole.
    content: dict[str, Any] = copy.deepcopy({**data})
    for fault in faults:
        if fault.unknown:
            _drop_key(content, fault.path)
        elif fault.path:
            top = str(fault.path[0])
            content.pop(top, None)
            placeholders = _FORMULA_PLACEHOLDERS if "formula" in data else _PLACEHOLDERS
            content.update({top: placeholders[top]} if top in placeholders else {})
            # The names in `metrics` would not be in the placeholder.
            if top == "formula":
                content.pop("metrics", None)
            # Examples would not fit the placeholder.
            content.pop("examples", None)
    return content


def _drop_key(content: object, path: Path) -> None:
    for part in path[:-1]:
        content = content.get(str(part)) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content.pop(path[-1], None)


def _is_nested(first: Path, second: Path) -> bool:
    shorter, longer = sorted((first, second), key=len)
    return longer[: len(shorter)] == shorter and (bool(shorter) or not longer)
