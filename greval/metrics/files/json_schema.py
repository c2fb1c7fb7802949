"""The JSON schema of metric files, for completion and validation in editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from ruamel.yaml import YAML

from greval.records.case import CLAIM_FIELDS, PROMPT_FIELDS, TAG, Over
from greval.records.formula_metric import FORMULA_FIELDS, FormulaMetric
from greval.records.metric import JudgedMetric
from greval.records.note import RESERVED

Schema = dict[str, Any]
LEVEL = "0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\\.[0-9]*[1-9]"
"""The only spelling of a level's number, so that no level is described twice."""
DESCRIPTIONS_FILE = Path(__file__).with_name("descriptions.yaml")
_TEXT_SCHEMA: Schema = {"type": "string", "minLength": 1}


def build_file_schema() -> Schema:
    """Build the JSON schema of a metric file, in draft 7, which editors support.

    It checks the form of a file. Whether its fields fit together is only checked when it is read.
    """
    schema = _drop_prose(JudgedMetric.model_json_schema())
    computed = _drop_prose(FormulaMetric.model_json_schema())
    parts: dict[str, Schema] = schema.pop("$defs") | computed["$defs"]
    _adapt_parts(parts)
    _adapt_fields(schema["properties"])
    _add_formula(schema, computed["properties"])
    described = {**parts, "Metric": {"title": "greval metric", "description": "", **schema}}
    for part, texts in YAML(typ="safe", pure=True).load(DESCRIPTIONS_FILE).items():
        for name, text in texts.items():
            (described[part]["properties"][name] if name else described[part])["description"] = text
    return {"$schema": "http://json-schema.org/draft-07/schema#", **described["Metric"], "$defs": parts}


def write_file_schema() -> str:
    """Write the JSON schema of metric files as text, for the file that metric files name in their first line."""
    return json.dumps(build_file_schema(), indent=2, ensure_ascii=False) + "\n"


def _drop_prose(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """Drop titles, defaults and docstrings, which describe Python code."""
    if isinstance(schema, list):
        return [_drop_prose(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _drop_prose(part)
        for key, part in schema.items()
        if key != "default" and not (key in {"title", "description"} and isinstance(part, str))
    }


def _adapt_fields(fields: Schema) -> None:
    """Adapt the fields of a metric to their form in a file."""
    need_forms: list[Schema] = [
        {"enum": [*PROMPT_FIELDS, *CLAIM_FIELDS]},
        {"type": "string", "pattern": rf"^{TAG[:-1]}\..+"},
    ]
    fields["needs"]["items"] = {"anyOf": need_forms}
    fields["over"] = {"enum": [*get_args(Over), None]}
    fields["scale"] = {"anyOf": [_build_ref("CategoricalScale"), _build_ref("ValueScale")]}
    fields["judge"] = {"anyOf": [_TEXT_SCHEMA, _build_ref("JudgeChoice"), {"type": "null"}]}
    notes = [_TEXT_SCHEMA, _build_ref("TextNote"), _build_ref("ListNote"), _build_ref("ShareNote")]
    fields["notes"]["additionalProperties"] = {"anyOf": notes}
    fields["notes"]["propertyNames"]["not"] = {"enum": [*RESERVED]}


def _add_formula(schema: Schema, fields: Schema) -> None:
    """Add the fields of a metric that a formula computes, which has none of those that only a judge needs."""
    properties = schema["properties"]
    judged = [name for name in properties if name not in FORMULA_FIELDS]
    required = {"required": [name for name in schema["required"] if name not in {"name", "description"}]}
    scale = properties["scale"]
    # Its form depends on `formula`, so `then` and `else` state it.
    properties["scale"] = {}
    properties.update({name: fields[name] for name in ("formula", "metrics")})
    schema["required"] = ["name", "description"]
    schema["if"] = {"required": ["formula"]}
    schema["then"] = {"properties": {"scale": _build_ref("MeasureScale"), **dict.fromkeys(judged, False)}}
    schema["else"] = {"properties": {"scale": scale, "metrics": False}, **required}


def _adapt_parts(parts: dict[str, Schema]) -> None:
    """Adapt the parts of a metric to their short forms in a file."""
    category, scale = parts["Category"], parts["CategoricalScale"]["properties"]
    names = category["properties"].pop("name")
    del category["required"]
    scale["categories"] = {
        "type": "object",
        "minProperties": scale["categories"]["minItems"],
        "maxProperties": scale["categories"]["maxItems"],
        "propertyNames": {key: names[key] for key in ("minLength", "maxLength")},
        "additionalProperties": {"anyOf": [{"type": ["string", "null"]}, _build_ref("Category")]},
    }
    levels = parts["ValueScale"]["properties"]
    end = levels["range"].pop("prefixItems")[0]
    levels["range"]["items"] = end
    levels["levels"] |= {"minProperties": 2, "propertyNames": {"pattern": f"^({LEVEL})$"}}
    for field in ("where", "among"):
        word = parts["ShareNote"]["properties"][field]["additionalProperties"]
        parts["ShareNote"]["properties"][field]["additionalProperties"] = {"anyOf": [names, word]}

    _adapt_case(parts)


def _adapt_case(parts: dict[str, Schema]) -> None:
    """Adapt the case of an example to its short forms: a chunk as text, a triple as three texts, no ids."""
    for name in ("Chunk", "Triple", "Claim"):
        parts[name]["required"].remove("id")
    three = {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
    for name in ("Case", "Response"):
        fields = parts[name]["properties"]
        fields["chunks"] = {"type": ["array", "null"], "items": {"anyOf": [{"type": "string"}, _build_ref("Chunk")]}}
        fields["triples"] = {"type": ["array", "null"], "items": {"anyOf": [three, _build_ref("Triple")]}}
        for claims in fields.keys() & {*CLAIM_FIELDS}:
            fields[claims] = {"type": ["array", "null"], "items": {"anyOf": [{"type": "string"}, _build_ref("Claim")]}}
    parts["Case"]["properties"]["tags"]["additionalProperties"] = {"type": ["string", "number", "boolean"]}


def _build_ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
