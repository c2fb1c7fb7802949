"""Edits of the text of a metric file: its content as plain data, and new values of fields in the author's own text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from greval.errors import DefinitionError
from greval.metrics.files.yaml_text import (
    FIELD_ORDER,
    MetricFileFault,
    YamlSource,
    find_line,
    read_source,
    write_fields,
)
from greval.records.definition_faults import split_place

_DETACHED = re.compile(r"[ \t]*(?:\r?\n)?|#.*(?:\r?\n)?")
"""An empty line, or a comment that belongs to no field."""


def replace_fields(text: str, fields: Mapping[str, object], max_values: int | None = None) -> str:
    r"""Return the text of a metric file with new values of fields; None removes a field.

    The text of all other fields stays as it is, with its comments. If that is impossible, such as in a text on one
    line, the whole text is written anew. Nothing is validated but that the text can be read.

    Example:
        >>> replace_fields("# mine\nname: tone  # short\nsteps: [Read.]\n", {"name": None, "steps": ["Judge it."]})
        '# mine\nsteps:\n  - Judge it.\n'
    """
    source = read_source(text, max_values)
    content = read_content(source)
    if content is None:
        faults = source.faults or [
            MetricFileFault(1, "must be a mapping with name, description, needs, scale and steps")
        ]
        raise DefinitionError(*map(str, faults))
    changes = {key: value for key, value in fields.items() if not _is_equal(content.get(key), value)}
    new_content = {
        key: value for key, value in {**content, **changes}.items() if value is not None or key not in changes
    }
    edited = _splice_fields(text, source, changes)
    reread = read_source(edited, max_values)
    # Lines cannot be replaced in every style, such as a mapping on one line: what counts is how the result reads.
    if _is_equal(reread.data or {}, new_content) and len(reread.faults) <= len(source.faults):
        return edited
    return write_fields({key: new_content[key] for key in sorted(new_content, key=_rank_field)})


def read_content(source: YamlSource) -> dict[str, object] | None:
    """Return the content of a text as plain data, {} for an empty text; None if it cannot be read or is no mapping."""
    if source.data is None:
        return None if source.faults else {}
    return {**source.data} if isinstance(source.data, Mapping) else None


def add_line(message: str, source: YamlSource, name: str) -> str:
    """Return a message such as `steps.1: is vague` with the line of its place and `name` for the text before it.

    Items of lists are counted from 1. A message without a place gets the first line.
    """
    return f"{name}:{find_line(split_place(message, source.data, start=1)[0], source.lines)}: {message}"


def _is_equal(first: object, second: object) -> bool:
    """Return whether two contents are equal; below the top, the order of keys counts, as that of categories does."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(json.dumps(first[key]) == json.dumps(second[key]) for key in first)
    # As JSON, because Python's 1, 1.0 and True are equal.
    return json.dumps(first) == json.dumps(second)


def _rank_field(key: str) -> int:
    return FIELD_ORDER.index(key) if key in FIELD_ORDER else len(FIELD_ORDER)


def _splice_fields(text: str, source: YamlSource, changes: Mapping[str, object]) -> str:
    """Return the text with the lines of changed fields replaced; the result must be checked by reading it."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    begins = {str(path[0]): line - 1 for path, line in source.lines.items() if len(path) == 1}
    # From the last field to the first, so that the lines above keep their numbers.
    for key, value in sorted(changes.items(), key=lambda item: begins.get(item[0], -1), reverse=True):
        new = write_fields({key: value}).splitlines(keepends=True) if value is not None else []
        if key in begins:
            lines[begins[key] : _find_end(begins[key], begins, lines)] = new
    for key in sorted(changes.keys() - begins.keys(), key=_rank_field):
        if changes[key] is not None:
            _insert_field(key, write_fields({key: changes[key]}), lines)
    return "".join(lines)


def _find_end(begin: int, begins: Mapping[str, int], lines: Sequence[str]) -> int:
    """Return the line at which a field ends; empty lines and comments before the next field belong to that."""
    end = min((line for line in begins.values() if line > begin), default=len(lines))
    while end > begin + 1 and _DETACHED.fullmatch(lines[end - 1]):
        end -= 1
    return end


def _insert_field(key: str, new: str, lines: list[str]) -> None:
    """Insert a new field before the first that comes after it in the order of fields."""
    begins = {str(path[0]): line - 1 for path, line in read_source("".join(lines)).lines.items() if len(path) == 1}
    later = [line for field, line in begins.items() if _rank_field(field) > _rank_field(key)]
    at = min(later, default=len(lines))
    lines[at:at] = new.splitlines(keepends=True)
