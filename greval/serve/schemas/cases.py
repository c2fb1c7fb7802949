"""Parses the cases that clients send: strictly, within the server's limits, with the place of every fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from greval.datasets import RowFault
from greval.datasets.case_records import read_records
from greval.datasets.field_names import FIELD_BY_NAME, OWN_FIELDS, find_known_name, map_fields
from greval.datasets.row_faults import build_unreadable_error
from greval.records.case import Case
from greval.serve.problems import ServeError
from greval.serve.schemas.metrics import UnreadCase, limit_faults
from greval.serve.settings import ServerLimits

Schema = dict[str, Any]
SINGLE_INPUT = "input"
"""The field of a request with a single case."""
UNKNOWN_FIELD = "Extra inputs are not permitted"
ITEM_FIELDS = ("chunks", "triples")
"""The fields whose items may be judged separately."""


def check_limits(given: Sequence[object], limits: ServerLimits, place: str) -> None:
    """Raise `ServeError` (422) if the cases that were sent exceed a limit, with its name.

    `place` is the field of the request that holds them.
    """
    if len(given) > limits.batch:
        raise ServeError(
            422,
            f"{place}: holds {len(given):,} cases, at most {limits.batch:,} are allowed (batch); send them in parts",
        )
    faults = [
        f"{place if place == SINGLE_INPUT else f'{place}.{n}'}.{fault}"
        for n, case in enumerate(given)
        for fault in _find_excess(case, limits)
    ]
    if faults:
        raise ServeError(
            422, f"{place}: more than the server takes; shorten what is too long", faults=limit_faults(faults)
        )


def parse_cases(given: Sequence[object], place: str) -> list[Case]:
    """Parse mappings of case fields, under greval's names or those of other tools.

    A number is not read from text here, and an unknown name is a fault, because the response has no room for a notice.
    If a case is invalid, raise `ServeError` (422) with every fault of each case, by its position in the field `place`.

    Example:
        >>> parse_cases([{"question": "Who?", "usage": {"llm_calls": 2.0}}], "inputs")[0].usage.llm_calls
        2
    """
    cases: list[Case] = []
    faults: list[str] = []
    for number, one in enumerate(given):
        where = place if place == SINGLE_INPUT else f"{place}.{number}"
        faults.extend(f"{where}.{fault}" for fault in _find_text_numbers(one))
        named = one
        if isinstance(one, dict) and not one.keys() <= OWN_FIELDS:
            settled = map_fields(one)
            unknown = {**settled.ignored, **dict.fromkeys(settled.tagged, "")}
            faults.extend(f"{where}.{name[:60]}: {why or UNKNOWN_FIELD}" for name, why in unknown.items())
            named = settled.values
        try:
            cases.append(Case.model_validate(named))
        except ValidationError as error:
            faults.extend(_format_faults(where, error))
    if faults:
        raise ServeError(422, f"{place}: not a valid case", faults=limit_faults(faults))
    return cases


def _find_text_numbers(case: object) -> Iterator[str]:
    """Find the numbers that were sent as text or as booleans."""
    content = case if isinstance(case, dict) else {}
    usage, chunks = content.get("usage"), content.get("chunks")
    parts = [("usage", usage)] if isinstance(usage, dict) else []
    parts += [(f"chunks.{n}", chunk) for n, chunk in enumerate(chunks if isinstance(chunks, list) else ())]
    for place, part in parts:
        for name in part if place == "usage" else ("score",):
            if isinstance(part, dict) and isinstance(part.get(name), str | bool):
                yield f"{place}.{str(name)[:60]}: must be a number"


def read_rows(
    given: Sequence[object], columns: Mapping[str, str] | None = None
) -> tuple[list[Case], list[UnreadCase], str | None]:
    """Read cases like the rows of a file: an unreadable one is reported, the others are returned.

    `columns` names the fields that are called otherwise. The third part of the result is a notice of the names that
    were mapped. If no case can be read, raise `ServeError` (422), and if a named field is in no case, `DataError`.

    Example:
        >>> cases, unread, notice = read_rows([{"input": "Who?"}, 7])
        >>> cases[0].question, unread[0].message
        ('Who?', 'must be an object with a question, got a number')
    """
    reading = read_records([*given], columns=columns)
    cases: list[Case] = []
    unread: list[UnreadCase] = []
    for one in reading:
        if isinstance(one, RowFault):
            unread.append(UnreadCase(case=int(one.place.rpartition(" ")[2]), message=one.message))
        else:
            cases.append(one)
    if not cases:
        lines = [f"cases, row {one.case}: {one.message}" for one in unread]
        raise ServeError(422, str(build_unreadable_error(lines, len(lines))), faults=limit_faults(lines))
    return cases, unread, reading.notice()


def build_case_schema() -> Schema:
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
    fields["chunks"] = _build_array_schema({"type": "string"}, parts["Chunk"])
    fields["triples"] = _build_array_schema(texts, parts["Triple"])
    fields["tags"]["additionalProperties"] = {"type": ["string", "number", "boolean"]}
    whole: Schema = _inline_references(schema, parts)
    return whole


def _build_array_schema(short: Schema, long: Schema) -> Schema:
    return {"anyOf": [{"type": "array", "items": {"anyOf": [short, long]}}, {"type": "null"}]}


def _inline_references(schema: Any, parts: dict[str, Schema]) -> Any:  # noqa: ANN401 - any part of a schema
    if isinstance(schema, list):
        return [_inline_references(part, parts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline_references(parts[schema["$ref"].rsplit("/", 1)[-1]], parts)
    return {key: _inline_references(part, parts) for key, part in schema.items()}


def _format_faults(place: str, error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join(map(str, (place, *fault["loc"])))
        yield f"{path}: {fault['msg']}"


def _iterate_values(case: object) -> Iterator[tuple[str, object]]:
    """Yield the values of a case by name, and those inside objects such as `inputs`."""
    for name, value in case.items() if isinstance(case, dict) else ():
        yield name, value
        yield from value.items() if isinstance(value, dict) else ()


def _find_excess(case: object, limits: ServerLimits) -> Iterator[str]:
    """Find the texts and lists of a case that exceed the limits."""
    for name, items in _iterate_values(case):
        if (
            FIELD_BY_NAME.get(find_known_name(name) or "") in ITEM_FIELDS
            and isinstance(items, list)
            and len(items) > limits.items
        ):
            yield f"{name}: holds {len(items):,}, at most {limits.items:,} are allowed (items)"
    stack: list[tuple[str, object]] = [("", case)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str) and len(value) > limits.text:
            yield f"{path[1:]}: holds {len(value):,} characters, at most {limits.text:,} are allowed (text)"
        elif isinstance(value, dict):
            stack.extend((f"{path}.{str(key)[:60]}", part) for key, part in value.items())
        elif isinstance(value, list):
            stack.extend((f"{path}.{n}", part) for n, part in enumerate(value))
