"""Fingerprints: the content hash of a definition with everything that determines its verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import select_metric_input

HASH_DIGITS = 16


def hash_json(content: JsonValue) -> str:
    """Return the hash of JSON content; the order of keys does not matter.

    Example:
        >>> hash_json({"a": 1, "b": 2}) == hash_json({"b": 2, "a": 1})
        True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def compute_fingerprint(
    metric: Metric, judge: Mapping[str, JsonValue], built_on: Mapping[str, str] | None = None
) -> str:
    """Return the fingerprint of a metric with a judge.

    Args:
        metric: The definition.
        judge: The settings that determine the judge's verdicts, including the prompt version; empty for a computed
            metric.
        built_on: The fingerprints of the metrics that it builds on, by name.
    """
    decisive = _drop_note_directions(metric.model_dump(mode="json"))
    definition = json.dumps(decisive)  # as text, because the order of categories and notes matters
    return hash_json({"metric": definition, "judge": {**judge}, "built_on": {**(built_on or {})}})


def _drop_note_directions(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without `better` of its notes, which only affects how verdicts are read afterwards."""
    if notes := definition.get("notes"):
        read = {name: {key: part for key, part in note.items() if key != "better"} for name, note in notes.items()}
        return {**definition, "notes": read}
    return definition


def compute_content_key(case: Case, metric: Metric, fingerprint: str) -> str:
    """Return the key of the judged content and its definition, independent of the id and method of the case.

    The key changes with the content or the definition, so that a changed case is judged again.
    """
    return hash_json([metric.name, fingerprint, select_metric_input(metric, case)])


def compute_case_key(case: Case, content: str) -> str:
    """Return the key of one judgement: the hash of case id, method and content key.

    Example:
        >>> from greval.records.case import Case
        >>> first, second = Case(id="q1", question="Who?"), Case(id="q2", question="Who?")
        >>> compute_case_key(first, "ab") == compute_case_key(second, "ab")
        False
    """
    return hash_json([case.id, case.method, content])
