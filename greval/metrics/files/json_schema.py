"""The JSON schema of metric files, for completion and validation in editors."""

from __future__ import annotations

import json
from typing import Any, get_args

from greval.records.case import CLAIM_FIELDS, PROMPT_FIELDS, TAG, Over
from greval.records.formula_metric import FORMULA_FIELDS, FormulaMetric
from greval.records.metric import JudgedMetric
from greval.records.note import RESERVED

Schema = dict[str, Any]
LEVEL = "0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\\.[0-9]*[1-9]"
"""The only spelling of a level's number, so that no level is described twice."""

_FIELD_DESCRIPTIONS = {
    "": "A metric: what good means, how it is judged or computed from other metrics, and on which scale.",
    "name": "Letters and digits of any script and - . @ _; also the name of the file, without .yaml.",
    "description": "What the metric judges and what it is for. The judge reads it.",
    "over": "Judge each of these by itself; without it the whole case gets one verdict.",
    "needs": "What the judge sees of a case; a case without it is skipped. context is the chunks and triples together.",
    "scale": "Categories, or a range of integers with described levels; of a formula, the lowest and highest number.",
    "steps": "How a careful expert would judge, step by step.",
    "instructions": "Rules for the doubtful cases.",
    "reason_depth": "How much the judge writes for a verdict: one sentence, some, or a finding for each step first.",
    "pass": "What the number of a case, or the mean of its items, must meet to pass, such as '>= 0.7'.",
    "judge": "The model that judges by this metric, as after --judge; without it, the judge of the run.",
    "notes": "Further fields asked of the judge, by name: a text, a list, or a share counted over a list.",
    "counts": "A list note: the value is the number of its entries, and the judge is not asked for it.",
    "preference": "Whether two responses to one question are compared; the scale is then A, Tie and B, or -2 to 2.",
    "examples": "Judged cases that the judge is shown first.",
    "formula": "Compute the metric from the verdicts of others, such as 0.7 * correctness + 0.3 * faithfulness.",
    "metrics": "Names in the formula for metrics, such as {found: ndcg@10}; other names are those of metrics.",
    "uses": "Narrow the chunks or triples to those to which another metric gave certain values.",
}
_PART_DESCRIPTIONS = {
    ("CategoricalScale", ""): "Categories, best first unless ordered is false.",
    ("CategoricalScale", "categories"): "Each name with what it means, best first.",
    ("CategoricalScale", "ordered"): "false if no category is better than another.",
    ("Category", ""): "What the category means, and the number it counts as.",
    ("Category", "means"): "When it applies, and how it differs from its neighbours.",
    ("Category", "score"): "The number it counts as in a mean.",
    ("ValueScale", ""): "Integers, or numbers a step apart, from the lower to the upper end, both included.",
    ("ValueScale", "range"): "The lower and the upper end, such as [1, 5].",
    ("ValueScale", "step"): "How far apart the levels are; 1 without it.",
    ("ValueScale", "levels"): "What the levels mean, by number; both ends at least.",
    ("ValueScale", "better"): "Which end is the good one.",
    ("MeasureScale", ""): "The numbers that a formula may give; 0 to 1 without it.",
    ("MeasureScale", "low"): "The lowest number; 0 without it.",
    ("MeasureScale", "high"): "The highest number; null if it has no end.",
    ("MeasureScale", "unit"): "What the numbers count, such as s.",
    ("MeasureScale", "better"): "Which end is the good one.",
    ("TextNote", "means"): "What the judge is to write.",
    ("TextNote", "when"): "Whether it is asked before or after the verdict.",
    ("ListNote", "means"): "What the judge is to list.",
    ("ListNote", "each"): "The fields of an entry: what each holds, or the words that are allowed in it.",
    ("ListNote", "when"): "Whether it is asked before or after the verdict.",
    ("ShareNote", "share"): "The name of the list note that is counted over.",
    ("ShareNote", "where"): "The entries that count: the word, or words, of each field.",
    ("ShareNote", "better"): "Hold the verdict against the share: the end that belongs to the best value.",
    ("ShareNote", "among"): "The entries they are counted among; all without it.",
    ("Example", "case"): "The fields of the case that the metric needs; one item if it is over items.",
    ("Example", "findings"): "What each step finds, in their order; needed if reason_depth is steps.",
    ("Example", "reason"): "Why it gets this value, in one or two sentences.",
    ("Example", "value"): "The value it gets.",
    ("Example", "notes"): "What is asked for in notes.",
    ("JudgeChoice", ""): "A model with settings of its own; a key is never part of a metric.",
    ("JudgeChoice", "model"): "openai:MODEL, local, local:NAME or PROVIDER:MODEL.",
    ("JudgeChoice", "temperature"): "The sampling temperature, or none to leave it to the model; by default the run's.",
    ("JudgeChoice", "base_url"): "The address of an OpenAI-compatible server.",
    ("JudgeChoice", "judge_options"): "Options that are passed to the model, such as reasoning_effort.",
    ("Use", "judged_by"): "The name of the metric that judges the chunks or triples.",
    ("Use", "as"): "The values that are kept.",
}
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
    for name, content in schema["properties"].items():
        content["description"] = _FIELD_DESCRIPTIONS[name]
    for (part, name), text in _PART_DESCRIPTIONS.items():
        (parts[part]["properties"][name] if name else parts[part])["description"] = text
    head = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "greval metric",
        "description": _FIELD_DESCRIPTIONS[""],
    }
    return {**head, **schema, "$defs": parts}


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
