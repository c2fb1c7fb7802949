"""Conversion of rows to cases: fields are converted and validated, and all faults of a row are reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

from pydantic import ValidationError

from greval._util.wording import find_typo
from greval.datasets.field_names import (
    DOTTED_NAMES,
    FIELD_BY_NAME,
    MAX_SHOWN,
    SUBFIELDS,
    MappedRow,
    format_printable,
    is_traversal_log,
    list_names,
)
from greval.datasets.json_text import RefusedLiteral, describe_type
from greval.datasets.langchain_documents import read_chunk, read_message
from greval.records.case import Case, is_grade_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pydantic_core import ErrorDetails

    from greval.datasets.json_text import RawRow

MAX_FAULTS = 50
MAX_PATH = 200
LARGEST_EXACT = 2**53
_TEXT_FIELDS = ("id", "doc_id", "repo", "version")


def build_case(row: RawRow, settled: MappedRow, made_id: str, method: str | None) -> Case | str:
    """Return the case that a row holds, or a message with all its faults.

    Args:
        row: The row as read from the file.
        settled: Its fields.
        made_id: The id to use if the row has none.
        method: The method to use if the row names none.
    """
    if "" in row.faults:
        return row.faults[""]
    values = {own: _CONVERTERS.get(own, _keep_value)(value) for own, value in settled.values.items()}
    values["id"] = get_id(settled, made_id)
    values.setdefault("method", method or "")
    if "question" not in values and is_traversal_log(row.values):
        values["question"] = values["id"]
    told = [f"{format_printable(name, MAX_PATH)}: {why}" for name, why in row.faults.items()]
    refused = {FIELD_BY_NAME.get(name) for name in row.faults}
    try:
        case = Case.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        told += [_describe_fault(detail, settled) for detail in details if not _is_reported(detail, refused)]
    else:
        if not told:
            return case
    return _join_faults(told)


def get_id(settled: MappedRow, made_id: str) -> object:
    """Return the id of a row, a number as text, or `made_id` if it has none."""
    given = as_text(settled.values.get("id"))
    return made_id if given in (None, "") else given


def as_text(value: object) -> object:
    """Convert a number to text if a name is expected; equal numbers give equal text.

    Example:
        >>> as_text(17.0)
        '17'
    """
    if isinstance(value, str | bool) or not isinstance(value, int | float) or not isfinite(value):
        return value
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT
    return str(int(value) if whole else value)


def _keep_value(value: object) -> object:
    return value


def _join_answers(value: object) -> object:
    """Join several acceptable answers, one per line, which is the format that the metrics expect."""
    if not isinstance(value, list | tuple):
        return read_message(value)
    answers = [as_text(item) for item in value]
    if not all(isinstance(answer, str) for answer in answers):
        return value
    return "\n".join(" ".join(str(answer).splitlines()) for answer in answers)


def _convert_chunks(value: object) -> object:
    """Convert chunks to mappings, so that a fault is reported with the chunk's index; a text is one chunk."""
    items = [value] if isinstance(value, str) else value
    return [_convert_chunk(item) for item in items] if isinstance(items, list | tuple) else items


def _convert_chunk(item: object) -> object:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, dict):  # by far the most common
        return _convert_chunk_fields(item)
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], Mapping):  # noqa: PLR2004 - with its score
        return {**_convert_chunk_fields(item[0]), "score": item[1]}
    return _convert_chunk_fields(item) if isinstance(item, Mapping) else item


def _convert_chunk_fields(item: Mapping[str, object]) -> dict[str, object]:
    return {
        key: as_text(part) if key in _TEXT_FIELDS else part for key, part in _drop_missing(read_chunk(item)).items()
    }


def _convert_triples(value: object) -> object:
    return [_convert_triple(item) for item in value] if isinstance(value, list | tuple) else value


def _convert_triple(item: object) -> object:
    if isinstance(item, dict | Mapping):
        return {key: as_text(part) for key, part in _drop_missing(item).items()}
    return _convert_texts(item)


def _convert_graph(value: object) -> object:
    """Convert gold or a traversal, in which all values but the grades of documents are names."""
    if not isinstance(value, Mapping) or is_grade_mapping(value):
        return value
    return {
        key: _convert_nodes(part) if key == "nodes" else _convert_texts(part)
        for key, part in _drop_missing(value).items()
    }


def _convert_nodes(value: object) -> object:
    """Convert the origins of nodes, in which all values are names."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: {key: as_text(part) for key, part in _drop_missing(node).items()} if isinstance(node, Mapping) else node
        for name, node in value.items()
    }


def _convert_mapping(value: object) -> object:
    return _drop_missing(value) if isinstance(value, Mapping) else value


def _convert_texts(value: object, depth: int = 2) -> object:
    """Convert the numbers in a list, or in a list of edges, to text."""
    if depth and isinstance(value, list | tuple):
        return [_convert_texts(item, depth - 1) for item in value]
    return as_text(value)


def _drop_missing(mapping: Mapping[str, object]) -> dict[str, object]:
    """Drop None values, because tables give every record the fields of all others."""
    return {key: value for key, value in mapping.items() if value is not None}


_CONVERTERS: Mapping[str, Callable[[object], object]] = {
    "question": read_message,
    "answer": read_message,
    "method": as_text,
    "expected_answer": _join_answers,
    "chunks": _convert_chunks,
    "triples": _convert_triples,
    "tags": _convert_mapping,
    "traversal": _convert_graph,
    "gold": _convert_graph,
    "usage": _convert_mapping,
}


def _join_faults(told: Sequence[str]) -> str:
    more = [f"and {len(told) - MAX_FAULTS} more"] if len(told) > MAX_FAULTS else []
    return "; ".join([*told[:MAX_FAULTS], *more])


def _is_reported(detail: ErrorDetails, refused: Collection[str | None]) -> bool:
    """Return whether a fault only follows from a value that the reader of the file already rejected."""
    return isinstance(detail["input"], RefusedLiteral) or (detail["type"] == "missing" and detail["loc"][0] in refused)


def _describe_fault(detail: ErrorDetails, settled: MappedRow) -> str:
    """Describe in one clause which field is wrong, and how."""
    own, *rest = detail["loc"]
    name = settled.names.get(str(own), str(own))
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{format_printable(part)}" for part in rest if part != "[key]"
    )
    field = f"{name}{path}" if name == own else f"{name}{path} ({own})"
    return f"{field}: {_explain_fault(detail, settled)}"


def _explain_fault(detail: ErrorDetails, settled: MappedRow) -> str:
    match detail["type"]:
        case "missing":
            return _explain_missing(detail, settled)
        case "extra_forbidden":
            known = SUBFIELDS[str(detail["loc"][0])]
            near = find_typo(str(detail["loc"][-1]), known)
            return f"is unknown{f', nearest: {near}' if near else ''}; known are {', '.join(known)}"
        case "model_type" | "dict_type":
            item = "an object or a list of three" if detail["loc"][0] == "triples" else "an object"
            return f"must be {item}, got {_format_value(detail['input'])}"
        case "tuple_type":
            return f"must be a list, got {_format_value(detail['input'])}"
        case _:
            must = detail["msg"].replace("Input should be", "must be", 1).replace("a valid string", "a text", 1)
            return f"{must[:1].lower()}{must[1:]}, got {_format_value(detail['input'])}"


def _explain_missing(detail: ErrorDetails, settled: MappedRow) -> str:
    """Return the message that a field is missing, with the unknown name that may have been meant."""
    if detail["loc"] == ("question",):
        names = list_names("question")
        near = next((name for name, why in settled.ignored.items() if not why and find_typo(name, names)), None)
        return (
            f"is missing, nearest: {format_printable(near)}"
            if near
            else f"is missing; it may be called {', '.join(names)}"
        )
    given, name = detail["input"], str(detail["loc"][-1])
    near = next((key for key in given if find_typo(str(key), [name])), None) if isinstance(given, Mapping) else None
    return f"is missing, nearest: {format_printable(str(near))}" if near else "is missing"


def _format_value(value: object) -> str:
    """Format a value if it is short; others may be nested too deeply to be printed."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return describe_type(value)
    return format_printable(repr(value[:MAX_SHOWN] if isinstance(value, str) else value))


def suggest_name(name: str) -> str | None:
    """Return the known name that is nearest to an unknown one, or None."""
    return find_typo(name, (*FIELD_BY_NAME, *DOTTED_NAMES))
