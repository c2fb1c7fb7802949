"""Parses the cases that clients send: strictly, within the server's limits, with the place of every fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from greval.datasets.case_records import read_records
from greval.datasets.field_names import OWN_FIELDS, find_known_name
from greval.datasets.row_faults import RowFault, build_unreadable_error
from greval.datasets.row_fields import read_fields
from greval.records.case import CLAIM_FIELDS, OTHER_RESPONSE, RESPONSE_FIELDS, TAG, Case, Gold
from greval.records.metric import Metric, is_preference
from greval.records.metric_input import may_be_empty
from greval.records.record import Record
from greval.serve.case_limits import find_excess
from greval.serve.problems import Fault, ServeError, build_fault, convert_faults
from greval.serve.settings import ServerLimits

Schema = dict[str, Any]
SINGLE_INPUT = "input"
"""The field of a request with a single case."""
UNKNOWN_FIELD = "Extra inputs are not permitted"


class UnreadCase(Record):
    """A case that could not be read: its position, from 1, and the reason."""

    case: int
    message: str


def check_limits(sent: Sequence[object], limits: ServerLimits, field: str) -> None:
    """Raise `ServeError` (422) if the cases that were sent exceed a limit, with its name.

    `field` names the part of the request that holds them.
    """
    if len(sent) > limits.batch:
        raise ServeError(
            "too_many_cases",
            f"{field}: holds {len(sent):,} cases, at most {limits.batch:,} are allowed (batch); send them in parts",
        )
    faults = [
        build_fault(f"{_build_place(field, n)}.{where}", message, "out_of_range")
        for n, case in enumerate(sent)
        for where, message in find_excess(case, limits)
    ]
    if faults:
        raise ServeError(
            "case_too_large", f"{field}: more than the server takes; shorten what is too long", faults=faults
        )


def parse_cases(sent: Sequence[object], field: str) -> list[Case]:
    """Parse mappings of case fields, under greval's names or those of other tools.

    A number is not read from text here, and an unknown name is a fault, because the response has no room for a notice.
    If a case is invalid, raise `ServeError` (422) with every fault of each case, by its position in `field`.
    A case of several that has no id gets one of its position, as a row of a file does.

    Example:
        >>> parse_cases([{"question": "Who?", "usage": {"llm_calls": 2.0}}], "inputs")[0].usage.llm_calls
        2
    """
    cases: list[Case] = []
    faults: list[Fault] = []
    for number, content in enumerate(sent):
        where = _build_place(field, number)
        faults.extend(
            build_fault(f"{where}.{at}", "must be a number", "wrong_type") for at in _find_text_numbers(content)
        )
        values = content
        if isinstance(content, dict) and not content.keys() <= OWN_FIELDS:
            settled = read_fields(content)
            empty = (name for name, value in content.items() if value is None and find_known_name(name) is None)
            unknown = {**settled.ignored, **dict.fromkeys((*settled.tagged, *empty), "")}
            faults.extend(
                build_fault(f"{where}.{name[:60]}", why or UNKNOWN_FIELD, "unknown") for name, why in unknown.items()
            )
            faults.extend(build_fault(f"{where}.{name[:60]}", why) for name, why in settled.faults.items())
            values = settled.values
        try:
            case = Case.model_validate(values)
            made_id = "" if field == SINGLE_INPUT else f"row-{number + 1}"
            cases.append(case if case.id or not made_id else case.model_copy(update={"id": made_id}))
        except ValidationError as error:
            faults.extend(convert_faults(error.errors(include_url=False, include_input=False), where))
    if faults:
        raise ServeError("invalid_case", f"{field}: not a valid case", faults=faults)
    return cases


def _build_place(field: str, position: int) -> str:
    """Return the place of a case in the body, by the field that holds it."""
    return f"body.{field}" if field == SINGLE_INPUT else f"body.{field}.{position}"


def _find_text_numbers(case: object) -> Iterator[str]:
    """Find the places of numbers that were sent as text or as booleans."""
    content = case if isinstance(case, dict) else {}
    usage, chunks = content.get("usage"), content.get("chunks")
    parts = [("usage", usage)] if isinstance(usage, dict) else []
    parts += [(f"chunks.{n}", chunk) for n, chunk in enumerate(chunks if isinstance(chunks, list) else ())]
    parts += [("gold.grades", grades) for grades in _list_grades(content.get("gold"))]
    for location, part in parts:
        for name in ("score",) if location.startswith("chunks") else part:
            if isinstance(part, dict) and isinstance(part.get(name), str | bool):
                yield f"{location}.{str(name)[:60]}"
    if isinstance(other_response := content.get(OTHER_RESPONSE), dict):
        yield from (f"{OTHER_RESPONSE}.{location}" for location in _find_text_numbers(other_response))


def _list_grades(gold: object) -> list[dict[str, object]]:
    """Return the grades of documents in gold data, in a field of their own or as the whole."""
    if not isinstance(gold, dict):
        return []
    grades = gold.get("grades") if gold.keys() & Gold.model_fields.keys() else gold
    return [grades] if isinstance(grades, dict) else []


def read_rows(
    sent: Sequence[object], columns: Mapping[str, str] | None = None
) -> tuple[list[Case], list[UnreadCase], str | None]:
    """Read cases like the rows of a file: an unreadable one is reported, the others are returned.

    `columns` names the fields that are called otherwise. The third part of the result is a notice of the names that
    were mapped. If no case can be read, raise `ServeError` (422), and if a named field is in no case, `DataError`.
    """
    reading = read_records([*sent], columns=columns)
    cases: list[Case] = []
    unread: list[UnreadCase] = []
    for row in reading:
        if isinstance(row, RowFault):
            unread.append(UnreadCase(case=int(row.place.rpartition(" ")[2]), message=row.message))
        else:
            cases.append(row)
    if not cases:
        lines = [f"cases, row {row.case}: {row.message}" for row in unread]
        faults = [build_fault(_build_place("cases", row.case - 1), row.message) for row in unread]
        raise ServeError("invalid_case", str(build_unreadable_error(lines, len(lines))), faults=faults)
    return cases, unread, reading.notice()


def build_case_schema() -> Schema:
    """Return the JSON schema of a case as it may be sent, with its short forms, without references."""
    schema = Case.model_json_schema()
    parts: dict[str, Schema] = schema.pop("$defs")
    for part in parts.values():
        # Generated clients name classes by titles, and a part stands in several fields.
        del part["title"]
    for name in ("Chunk", "Triple", "Claim"):
        parts[name]["required"].remove("id")
    # A chunk needs a text or an id: many systems keep only the ids of what they retrieved.
    parts["Chunk"]["anyOf"] = [
        {"required": [name], "properties": {name: {"type": "string"}}} for name in ("text", "doc_id", "id")
    ]
    texts: Schema = {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
    fields = schema["properties"]
    for properties in (fields, parts["Response"]["properties"]):
        properties["chunks"] = _build_array_schema({"type": "string"}, parts["Chunk"])
        properties["triples"] = _build_array_schema(texts, parts["Triple"])
        for claims in properties.keys() & {*CLAIM_FIELDS}:
            properties[claims] = _build_array_schema({"type": "string"}, parts["Claim"])
    fields["gold"]["anyOf"].insert(1, _build_grades_schema(parts["Gold"]))
    fields["tags"]["additionalProperties"] = {"type": ["string", "number", "boolean"]}
    inlined: Schema = _inline_references(schema, parts)
    return inlined


def build_input_schema(metric: Metric) -> Schema:
    """Return the JSON schema of the cases that a metric judges: with all that it needs, which is therefore required."""
    schema = build_case_schema()
    fields = schema["properties"]
    schema["title"] = f"Case for {metric.name}"
    schema["description"] = (
        f"A case that {metric.name} can judge. A case without a required field is skipped, with the reason. The names "
        "of other tools for these fields are accepted too."
    )
    for need in metric.needs:
        _require_need(schema, metric, need)
    if is_preference(metric):
        schema["required"].append(OTHER_RESPONSE)
        fields[OTHER_RESPONSE] = _build_needed_schema(fields[OTHER_RESPONSE], empty=True)
        for need in metric.needs:
            if need in RESPONSE_FIELDS:
                _require_need(fields[OTHER_RESPONSE], metric, need)
    schema["required"] = [*dict.fromkeys(schema["required"])]
    return schema


def _require_need(schema: Schema, metric: Metric, need: str) -> None:
    """Require a need in the schema of a case, or of the other response of a pair."""
    fields, required = schema["properties"], schema.setdefault("required", [])
    if need == "context":
        schema["anyOf"] = [_build_context_schema(metric, name) for name in ("chunks", "triples", "aggregates")]
    elif need.startswith(TAG):
        required.append("tags")
        name = need.removeprefix(TAG)
        fields["tags"].setdefault("required", []).append(name)
        fields["tags"].setdefault("properties", {})[name] = {"type": ["string", "number", "boolean"], "minLength": 1}
    else:
        required.append(need)
        fields[need] = _build_needed_schema(fields[need], empty=may_be_empty(metric, need))


def _build_context_schema(metric: Metric, name: str) -> Schema:
    """Return the schema of a case with a context in this field; aggregates count only if there are any."""
    least = 0 if may_be_empty(metric, "context") and name != "aggregates" else 1
    return {"required": [name], "properties": {name: {"type": "array", "minItems": least}}}


def _build_needed_schema(schema: Schema, *, empty: bool) -> Schema:
    """Return the schema of a field that must be recorded, and hold something unless it may be `empty`."""
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    titled = {key: part for key, part in schema.items() if key == "title"}
    if not empty:
        least = {"string": {"pattern": r"\S"}, "array": {"minItems": 1}}
        kinds = [kind | least.get(kind["type"], {}) for kind in kinds]
    return {**titled, **kinds[0]} if len(kinds) == 1 else {**titled, "anyOf": kinds}


def _build_array_schema(short: Schema, long: Schema) -> Schema:
    return {"anyOf": [{"type": "array", "items": {"anyOf": [short, long]}}, {"type": "null"}]}


def _build_grades_schema(gold: Schema) -> Schema:
    """Return the schema of gold data that is a plain mapping of documents to grades."""
    grade = next(kind for kind in gold["properties"]["grades"]["anyOf"] if kind["type"] == "object")
    return {**grade, "minProperties": 1, "propertyNames": {"not": {"enum": [*gold["properties"]]}}}


def _inline_references(schema: Any, parts: dict[str, Schema]) -> Any:  # noqa: ANN401 - any part of a schema
    if isinstance(schema, list):
        return [_inline_references(part, parts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline_references(parts[schema["$ref"].rsplit("/", 1)[-1]], parts)
    return {key: _inline_references(part, parts) for key, part in schema.items()}
