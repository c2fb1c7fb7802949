"""Conversion of rows to cases: fields are converted and validated, and all faults of a row are reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

from pydantic import ValidationError

from greval.datasets.field_names import DOTTED, FIELD_OF, MAX_SHOWN, PARTS, Settled, is_log, names_of, nearest, shown
from greval.datasets.json_text import Refused, kind
from greval.datasets.langchain_documents import read_chunk, read_message
from greval.records.case import Case, holds_grades

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pydantic_core import ErrorDetails

    from greval.datasets.json_text import Raw

MAX_FAULTS = 50
MAX_PATH = 200
LARGEST_EXACT = 2**53
_NAMED = ("id", "doc_id", "repo", "version")


def case_of(row: Raw, settled: Settled, made_id: str, method: str | None) -> Case | str:
    """Return the case that a row holds, or a message with all its faults.

    Args:
        row: The row as read from the file.
        settled: Its fields.
        made_id: The id to use if the row has none.
        method: The method to use if the row names none.
    """
    if "" in row.faults:
        return row.faults[""]
    values = {own: _SHAPES.get(own, _as_it_is)(value) for own, value in settled.values.items()}
    values["id"] = id_of(settled, made_id)
    values.setdefault("method", method or "")
    if "question" not in values and is_log(row.values):
        values["question"] = values["id"]
    told = [f"{shown(name, MAX_PATH)}: {why}" for name, why in row.faults.items()]
    refused = {FIELD_OF.get(name) for name in row.faults}
    try:
        case = Case.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        told += [_told(detail, settled) for detail in details if not _is_told(detail, refused)]
    else:
        if not told:
            return case
    return _joined(told)


def id_of(settled: Settled, made_id: str) -> object:
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


def _as_it_is(value: object) -> object:
    return value


def _reference(value: object) -> object:
    """Join several acceptable answers, one per line, which is the format that the metrics expect."""
    if not isinstance(value, list | tuple):
        return read_message(value)
    answers = [as_text(item) for item in value]
    if not all(isinstance(answer, str) for answer in answers):
        return value
    return "\n".join(" ".join(str(answer).splitlines()) for answer in answers)


def _chunks(value: object) -> object:
    """Convert chunks to mappings, so that a fault is reported with the chunk's index; a text is one chunk."""
    items = [value] if isinstance(value, str) else value
    return [_chunk(item) for item in items] if isinstance(items, list | tuple) else items


def _chunk(item: object) -> object:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, dict):  # by far the most common
        return _chunk_fields(item)
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], Mapping):  # noqa: PLR2004 - with its score
        return {**_chunk_fields(item[0]), "score": item[1]}
    return _chunk_fields(item) if isinstance(item, Mapping) else item


def _chunk_fields(item: Mapping[str, object]) -> dict[str, object]:
    return {key: as_text(part) if key in _NAMED else part for key, part in _recorded(read_chunk(item)).items()}


def _triples(value: object) -> object:
    return [_triple(item) for item in value] if isinstance(value, list | tuple) else value


def _triple(item: object) -> object:
    if isinstance(item, dict | Mapping):
        return {key: as_text(part) for key, part in _recorded(item).items()}
    return _texts(item)


def _graph(value: object) -> object:
    """Convert gold or a traversal, in which all values but the grades of documents are names."""
    if not isinstance(value, Mapping) or holds_grades(value):
        return value
    return {key: _nodes(part) if key == "nodes" else _texts(part) for key, part in _recorded(value).items()}


def _nodes(value: object) -> object:
    """Convert the origins of nodes, in which all values are names."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: {key: as_text(part) for key, part in _recorded(node).items()} if isinstance(node, Mapping) else node
        for name, node in value.items()
    }


def _plain(value: object) -> object:
    return _recorded(value) if isinstance(value, Mapping) else value


def _texts(value: object, depth: int = 2) -> object:
    """Convert the numbers in a list, or in a list of edges, to text."""
    if depth and isinstance(value, list | tuple):
        return [_texts(item, depth - 1) for item in value]
    return as_text(value)


def _recorded(mapping: Mapping[str, object]) -> dict[str, object]:
    """Drop None values, because tables give every record the fields of all others."""
    return {key: value for key, value in mapping.items() if value is not None}


_SHAPES: Mapping[str, Callable[[object], object]] = {
    "question": read_message,
    "answer": read_message,
    "method": as_text,
    "expected_answer": _reference,
    "chunks": _chunks,
    "triples": _triples,
    "tags": _plain,
    "traversal": _graph,
    "gold": _graph,
    "usage": _plain,
}


def _joined(told: Sequence[str]) -> str:
    more = [f"and {len(told) - MAX_FAULTS} more"] if len(told) > MAX_FAULTS else []
    return "; ".join([*told[:MAX_FAULTS], *more])


def _is_told(detail: ErrorDetails, refused: Collection[str | None]) -> bool:
    """Return whether a fault only follows from a value that the reader of the file already rejected."""
    return isinstance(detail["input"], Refused) or (detail["type"] == "missing" and detail["loc"][0] in refused)


def _told(detail: ErrorDetails, settled: Settled) -> str:
    """Describe in one clause which field is wrong, and how."""
    own, *rest = detail["loc"]
    name = settled.names.get(str(own), str(own))
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{shown(part)}" for part in rest if part != "[key]")
    field = f"{name}{path}" if name == own else f"{name}{path} ({own})"
    return f"{field}: {_why(detail, settled)}"


def _why(detail: ErrorDetails, settled: Settled) -> str:
    match detail["type"]:
        case "missing":
            return _missing(detail, settled)
        case "extra_forbidden":
            known = PARTS[str(detail["loc"][0])]
            near = nearest(str(detail["loc"][-1]), known)
            return f"is unknown{f', nearest: {near}' if near else ''}; known are {', '.join(known)}"
        case "model_type" | "dict_type":
            item = "an object or a list of three" if detail["loc"][0] == "triples" else "an object"
            return f"must be {item}, got {_got(detail['input'])}"
        case "tuple_type":
            return f"must be a list, got {_got(detail['input'])}"
        case _:
            must = detail["msg"].replace("Input should be", "must be", 1).replace("a valid string", "a text", 1)
            return f"{must[:1].lower()}{must[1:]}, got {_got(detail['input'])}"


def _missing(detail: ErrorDetails, settled: Settled) -> str:
    """Return the message that a field is missing, with the unknown name that may have been meant."""
    if detail["loc"] == ("question",):
        names = names_of("question")
        near = next((name for name, why in settled.ignored.items() if not why and nearest(name, names)), None)
        return f"is missing, nearest: {shown(near)}" if near else f"is missing; it may be called {', '.join(names)}"
    given, name = detail["input"], str(detail["loc"][-1])
    near = next((key for key in given if nearest(str(key), [name])), None) if isinstance(given, Mapping) else None
    return f"is missing, nearest: {shown(str(near))}" if near else "is missing"


def _got(value: object) -> str:
    """Format a value if it is short; others may be nested too deeply to be printed."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return kind(value)
    return shown(repr(value[:MAX_SHOWN] if isinstance(value, str) else value))


def hint(name: str) -> str | None:
    """Return the known name that is nearest to an unknown one, or None."""
    return nearest(name, (*FIELD_OF, *DOTTED))
