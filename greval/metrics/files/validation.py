"""Validation of the content of a metric file: the metric that it defines, or all its faults, each with its line."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from greval._util.wording import did_you_mean, shorten_text
from greval.metrics.files.json_schema import LEVEL
from greval.metrics.files.yaml_text import MetricFileFault, Path, YamlSource, find_line, split_place
from greval.records.case import CLAIM_FIELDS, PROMPT_FIELDS, TAG, Case
from greval.records.formula_metric import FORMULA_FIELDS, FileMetric, build_file_metric
from greval.records.judge_choice import JudgeChoice
from greval.records.metric import Example, JudgedMetric
from greval.records.note import ListNote, ShareNote, TextNote
from greval.records.scale import CategoricalScale, MeasureScale, ValueScale, has_field

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_SHOWN = 60

_MESSAGES = {
    "missing": "is missing; add it",
    "string_too_short": "must not be empty",
    "string_too_long": "is too long: at most {max_length} characters",
    "too_short": "holds too little: at least {min_length}, got {actual_length}",
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
_KNOWN_KEYS: dict[tuple[str, int], tuple[str, ...]] = {
    ("scale", 4): ("means", "score"),
    ("notes", 3): tuple({**ListNote.model_fields, **ShareNote.model_fields, **TextNote.model_fields}),
    ("uses", 3): ("judged_by", "as"),
    ("judge", 2): tuple(JudgeChoice.model_fields),
    ("examples", 3): tuple(Example.model_fields),
    ("examples", 4): tuple(Case.model_fields),
}
"""The known keys by the field of the metric and the depth of the key."""
_SCALE_KEYS = ("categories", "ordered", "range", "levels", "better")
_KNOWN_NEEDS = (*PROMPT_FIELDS, *CLAIM_FIELDS, f"{TAG}NAME")
_PLACEHOLDERS: dict[str, Any] = {
    "name": "x",
    "description": "x",
    "needs": [*PROMPT_FIELDS],
    "scale": {"range": [0, 1], "levels": {"0": "x", "1": "x"}},
    "steps": ["x"],
}
"""Placeholders for faulty fields while the others are checked against each other."""
_FORMULA_PLACEHOLDERS: dict[str, Any] = {"name": "x", "description": "x", "formula": "y"}


def convert_errors(errors: Sequence[ErrorDetails], data: object, lines: Mapping[Path, int]) -> list[MetricFileFault]:
    """Convert the errors of pydantic to faults of the file."""
    faults: list[MetricFileFault] = []
    for error in errors:
        path = _convert_path(error["loc"], data, missing=error["type"] == "missing")
        for fault_path, text in _format_error(error, path, data):
            faults.append(
                MetricFileFault(
                    find_line(fault_path, lines), text, fault_path, unknown=error["type"] == "extra_forbidden"
                )
            )
    # pydantic also counts an invalid item as missing from its list.
    return [
        fault
        for fault in faults
        if not (fault.text.startswith("holds too little") and any(_is_inside(candidate, fault) for candidate in faults))
    ]


def list_known_keys(path: Path, data: Mapping[str, object]) -> tuple[str, ...]:
    """Return the known keys at the level of the last part of a path."""
    if len(path) == 1:
        return FORMULA_FIELDS if "formula" in data else _list_judged_keys()
    if path[0] == "scale" and len(path) == 2:  # noqa: PLR2004 - a key of the scale itself
        categorical = has_field(data.get("scale"), "categories")
        if "formula" in data:
            return tuple(MeasureScale.model_fields)
        return tuple((CategoricalScale if categorical else ValueScale).model_fields)
    return _KNOWN_KEYS.get((str(path[0]), len(path)), ())


def _list_judged_keys() -> tuple[str, ...]:
    return (*(field.alias or name for name, field in JudgedMetric.model_fields.items()), "formula")


def _convert_path(loc: Path, data: object, *, missing: bool) -> Path:
    """Convert a path of pydantic to a path in the file.

    Tags of unions are dropped, and the indices of categories are replaced by their names.
    """
    path: Path = ()
    for part in loc:
        step = _find_step(part, data)
        if step is not None:
            path = (*path, step)
            data = data[step]  # type: ignore[index]  # _step found it there
    return (*path, loc[-1]) if missing else path


def _find_step(part: str | int, data: object) -> str | int | None:
    """Return the key or index for a part of pydantic's path, None if it is not in the data."""
    if isinstance(data, Mapping):
        names = [*data]
        # Categories are a mapping in the file and a list in the model, so an index stands for a name.
        return part if part in data else names[part] if isinstance(part, int) and part < len(names) else None
    return part if isinstance(data, list) and isinstance(part, int) and part < len(data) else None


def _format_error(error: ErrorDetails, path: Path, data: object) -> Iterator[tuple[Path, str]]:
    """Format an error in the terms of the file, one message for each of its lines."""
    kind, value = error["type"], error["input"]
    context = error.get("ctx", {})
    if kind == "extra_forbidden" and isinstance(data, Mapping):
        yield path, f"unknown{did_you_mean(str(path[-1]), list_known_keys(path, data))}"
    elif kind == "value_error" and path[:1] == ("needs",) and len(path) > 1:
        yield (path, f"{format_value(value)} is no field of a case{did_you_mean(str(value), _KNOWN_NEEDS)}")
    elif kind == "value_error":
        for line in error["msg"].removeprefix("Value error, ").splitlines():
            inner_path, text = split_place(line, _get_part(data, path), start=0)
            yield (*path, *inner_path), text
    elif kind == "literal_error":
        allowed = [word for word in context["expected"].split("'") if word.strip(", ") not in {"", "or"}]
        yield path, f"{format_value(value)} is not allowed here{did_you_mean(str(value), allowed)}"
    elif kind in _EXPECTED_TYPES:
        yield path, f"must be {_EXPECTED_TYPES[kind]}, got {format_value(value)}{_format_hint(kind, value)}"
    else:
        yield (
            path,
            _MESSAGES[kind].format(**context) if kind in _MESSAGES else error["msg"].replace("Input should", "must"),
        )


def _format_hint(kind: str, value: object) -> str:
    """Format a hint for an empty key, or for a number or flag in the place of text."""
    if value is None:
        return "; write its content or leave the key out"
    return "; put it in quotes" if kind == "string_type" and isinstance(value, bool | int | float) else ""


def format_value(value: object) -> str:
    """Format a value for a message as the file has it, shortened."""
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


def _get_part(data: object, path: Path) -> object:
    for part in path:
        data = data[part]  # type: ignore[index]  # the path was found in the data
    return data


def _is_inside(inner: MetricFileFault, fault: MetricFileFault) -> bool:
    return len(inner.path) > len(fault.path) and inner.path[: len(fault.path)] == fault.path


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
    """Return whether one path contains the other."""
    shorter, longer = sorted((first, second), key=len)
    return longer[: len(shorter)] == shorter and (bool(shorter) or not longer)
