"""Templates of requests: fields of the sample and environment variables are inserted as data, never as a template."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

from pydantic import JsonValue

from greval._util.wording import did_you_mean
from greval.errors import MethodError
from greval.records.case import Gold, Sample

PLACEHOLDER = re.compile(r"\{\{(?P<kept>[A-Za-z_][\w.]*)\}\}|\$\{(?P<variable>\w+)\}|\{(?P<field>[A-Za-z_][\w.]*)\}")
"""`{field}` of the sample, `${NAME}` of the environment, and `{{word}}` for `{word}` itself."""


def check_fields(text: str) -> Iterator[str]:
    """Check the placeholders of a text; yield a sentence for each unknown field."""
    for match in PLACEHOLDER.finditer(text):
        field, _, part = (match["field"] or "").partition(".")
        known_fields: Mapping[str, object] = Sample.model_fields
        if field == "gold" and part:
            field, known_fields = part, Gold.model_fields
        if field and field not in known_fields:
            yield f"no field {field!r} in a sample{did_you_mean(field, known_fields)}"


def find_variables(content: JsonValue) -> set[str]:
    """Return the names of the environment variables in JSON content, written as `${NAME}`."""
    return {
        match["variable"]
        for text in iterate_texts(content)
        for match in PLACEHOLDER.finditer(text)
        if match["variable"]
    }


def read_variables(names: set[str], label: str) -> dict[str, str]:
    """Read environment variables by name."""
    values: dict[str, str] = {}
    for name in sorted(names):
        value = os.environ.get(name, "").strip()
        if not value:
            raise MethodError(f"{label}: ${{{name}}} is not set in the environment; export {name}=...")
        if not (value.isascii() and value.isprintable()):
            raise MethodError(f"{label}: ${{{name}}} holds line breaks or letters beyond ASCII; set it anew")
        values[name] = value
    return values


def fill_content(content: JsonValue, sample: Sample, variables: Mapping[str, str]) -> JsonValue:
    """Replace the placeholders in the texts of JSON content.

    A text that consists of one placeholder becomes the value of the field itself, which may be a list. Inserted values
    are not expanded again: braces in a question are kept.

    Example:
        >>> fill_content({"q": "{question}", "top": 3}, Sample(question='Is "{id}" a brace?'), {})
        {'q': 'Is "{id}" a brace?', 'top': 3}
    """
    if isinstance(content, dict):
        return {name: fill_content(value, sample, variables) for name, value in content.items()}
    if isinstance(content, list):
        return [fill_content(value, sample, variables) for value in content]
    if not isinstance(content, str):
        return content
    placeholder = PLACEHOLDER.fullmatch(content)
    if placeholder and placeholder["field"]:
        return _read_field(placeholder["field"], sample)
    return _fill_text(content, sample, variables, str)


def fill_url(url: str, sample: Sample) -> str:
    """Replace the placeholders of a URL; values are quoted, so that they cannot change its structure."""
    return _fill_text(url, sample, {}, lambda text: quote(text, safe=""))


def _fill_text(text: str, sample: Sample, variables: Mapping[str, str], encode: Callable[[str], str]) -> str:
    def substitute(match: re.Match[str]) -> str:
        if match["kept"]:
            return f"{{{match['kept']}}}"
        if match["variable"]:
            return variables[match["variable"]]
        value = _read_field(match["field"], sample)
        if value is None:
            raise MethodError(f"the sample has no {match['field']}, which is used in {text[:60]!r}")
        return encode(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    return PLACEHOLDER.sub(substitute, text)


def _read_field(field: str, sample: Sample) -> JsonValue:
    """Return a field of the sample as JSON, or None if it has none; `tags.NAME` is a tag."""
    value: JsonValue = sample.model_dump(mode="json")
    name, _, part = field.partition(".")
    for step in (name, part) if part else (name,):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def iterate_texts(content: JsonValue) -> Iterator[str]:
    """Iterate over the texts in JSON content, at any depth, without the names of objects."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from iterate_texts(value)
