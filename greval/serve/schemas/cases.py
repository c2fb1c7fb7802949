"""Parses the cases that clients send: strictly, within the server's limits, with the place of every fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from greval.datasets import RowFault
from greval.datasets.case_records import read_given
from greval.datasets.field_names import FIELD_OF, OWN, settle
from greval.datasets.row_faults import none_readable
from greval.records.case import Case
from greval.serve.problems import ServeError
from greval.serve.schemas.metrics import Unread, told
from greval.serve.settings import Limits

Schema = dict[str, Any]
ALONE = "input"
"""The field of a request with a single case."""
UNKNOWN = "Extra inputs are not permitted"
LISTS = ("chunks", "triples")
"""The fields whose items may be judged separately."""


def within(given: Sequence[object], limits: Limits, place: str) -> None:
    """Refuse more than one request may hold.

    Args:
        given: The cases as they were sent.
        limits: The server's limits.
        place: The field of the request that holds the cases.

    Raises:
        ServeError: If a limit is exceeded (422), with its name.
    """
    if len(given) > limits.batch:
        raise ServeError(
            422, f"{place}: holds {len(given):,} cases, the most is {limits.batch:,} (batch); send them in parts"
        )
    faults = [
        f"{place if place == ALONE else f'{place}.{n}'}.{fault}"
        for n, case in enumerate(given)
        for fault in _beyond(case, limits)
    ]
    if faults:
        raise ServeError(422, f"{place}: more than the server takes; shorten what is too long", faults=told(faults))


def strict_cases(given: Sequence[object], place: str) -> list[Case]:
    """Parse mappings of case fields, under greval's names or those of other tools.

    A number is not read from text here, and an unknown name is a fault, because the response has no room for a notice.

    Args:
        given: The cases as they were sent.
        place: The field of the request that holds them; faults in `inputs` are reported with their positions.

    Raises:
        ServeError: If a case is invalid (422), with every fault of each.

    Example:
        >>> parse_cases([{"question": "Who?", "usage": {"llm_calls": 2.0}}], "inputs")[0].usage.llm_calls
        2
    """
    cases: list[Case] = []
    faults: list[str] = []
    for number, one in enumerate(given):
        where = place if place == ALONE else f"{place}.{number}"
        faults.extend(f"{where}.{fault}" for fault in _no_numbers(one))
        named = one
        if isinstance(one, dict) and not one.keys() <= OWN:
            settled = settle(one)
            faults.extend(f"{where}.{name[:60]}: {why or UNKNOWN}" for name, why in settled.ignored.items())
            named = settled.values
        try:
            cases.append(Case.model_validate(named))
        except ValidationError as error:
            faults.extend(_told(where, error))
    if faults:
        raise ServeError(422, f"{place}: is no case", faults=told(faults))
    return cases


def _no_numbers(case: object) -> Iterator[str]:
    """Find the numbers that were sent as text or as booleans."""
    content = case if isinstance(case, dict) else {}
    usage, chunks = content.get("usage"), content.get("chunks")
    parts = [("usage", usage)] if isinstance(usage, dict) else []
    parts += [(f"chunks.{n}", chunk) for n, chunk in enumerate(chunks if isinstance(chunks, list) else ())]
    for place, part in parts:
        for name in part if place == "usage" else ("score",):
            if isinstance(part, dict) and isinstance(part.get(name), str | bool):
                yield f"{place}.{str(name)[:60]}: must be a number"


def rows(given: Sequence[object]) -> tuple[list[Case], list[Unread], str | None]:
    """Read cases like the rows of a file: an unreadable one is reported, the others are returned.

    Returns:
        The cases, those that could not be read, and a notice of the names that were mapped.

    Raises:
        ServeError: If none can be read (422).

    Example:
        >>> cases, unread, notice = read_rows([{"input": "Who?"}, 7])
        >>> cases[0].question, unread[0].message
        ('Who?', 'must be an object with a question, got a number')
    """
    reading = read_given([*given])
    cases: list[Case] = []
    unread: list[Unread] = []
    for one in reading:
        if isinstance(one, RowFault):
            unread.append(Unread(case=int(one.place.rpartition(" ")[2]), message=one.message))
        else:
            cases.append(one)
    if not cases:
        lines = [f"cases, row {one.case}: {one.message}" for one in unread]
        raise ServeError(422, str(none_readable(lines, len(lines))), faults=told(lines))
    return cases, unread, reading.notice()


def case_schema() -> Schema:
    """Return the JSON schema of a case as it may be sent, with its short forms, without references.

    Example:
        >>> build_case_schema()["required"]
        ['question']
    """
    schema = Case.model_json_schema()
    parts: dict[str, Schema] = schema.pop("$defs")
    for name in ("Chunk", "Triple"):
        parts[name]["required"].remove("id")
    texts: Schema = {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
    fields = schema["properties"]
    fields["chunks"] = _many({"type": "string"}, parts["Chunk"])
    fields["triples"] = _many(texts, parts["Triple"])
    fields["tags"]["additionalProperties"] = {"type": ["string", "number", "boolean"]}
    whole: Schema = _inlined(schema, parts)
    return whole


def _many(short: Schema, long: Schema) -> Schema:
    return {"anyOf": [{"type": "array", "items": {"anyOf": [short, long]}}, {"type": "null"}]}


def _inlined(schema: Any, parts: dict[str, Schema]) -> Any:  # noqa: ANN401 - any part of a schema
    if isinstance(schema, list):
        return [_inlined(part, parts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rsplit("/", 1)[-1]], parts)
    return {key: _inlined(part, parts) for key, part in schema.items()}


def _told(place: str, error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join(map(str, (place, *fault["loc"])))
        yield f"{path}: {fault['msg']}"


def _beyond(case: object, limits: Limits) -> Iterator[str]:
    """Find the texts and lists of a case that exceed the limits."""
    for name, items in case.items() if isinstance(case, dict) else ():
        if FIELD_OF.get(name) in LISTS and isinstance(items, list) and len(items) > limits.items:
            yield f"{name}: holds {len(items):,}, the most is {limits.items:,} (items)"
    stack: list[tuple[str, object]] = [("", case)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str) and len(value) > limits.text:
            yield f"{path[1:]}: holds {len(value):,} letters, the most is {limits.text:,} (text)"
        elif isinstance(value, dict):
            stack.extend((f"{path}.{str(key)[:60]}", part) for key, part in value.items())
        elif isinstance(value, list):
            stack.extend((f"{path}.{n}", part) for n, part in enumerate(value))
