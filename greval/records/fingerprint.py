"""Fingerprints: the content hash of a definition with everything that decides its verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import seen

DIGITS = 16


def digest(content: JsonValue) -> str:
    """Give the hash of JSON content, the same for the same content in any order of keys.

    Example:
        >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
        True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def fingerprint(metric: Metric, judge: Mapping[str, JsonValue], built_on: Mapping[str, str] | None = None) -> str:
    """Give the fingerprint of a metric under a judge.

    Args:
        metric: The definition.
        judge: What decides the judge's verdicts, the prompt's version included; empty for a computed metric.
        built_on: The fingerprints of the metrics it builds on, by name.
    """
    decisive = _without_readings(metric.model_dump(mode="json"))
    definition = json.dumps(decisive)  # as text: the order of categories and notes counts
    return digest({"metric": definition, "judge": {**judge}, "built_on": {**(built_on or {})}})


def _without_readings(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without what only says how verdicts are read: what a share is held against."""
    if notes := definition.get("notes"):
        read = {name: {key: part for key, part in note.items() if key != "better"} for name, note in notes.items()}
        return {**definition, "notes": read}
    return definition


def content_key(case: Case, metric: Metric, mark: str) -> str:
    """Give the key of what is judged and by which definition, whoever the case is.

    A case or a definition that changed has another key, so that it is judged anew.
    """
    return digest([metric.name, mark, seen(metric, case)])


def case_key(case: Case, content: str) -> str:
    """Give the key of one judgement: who is judged, and the key of its content.

    Example:
        >>> from greval.records.case import Case
        >>> case_key(Case(id="q1", question="Who?"), "ab") == case_key(Case(id="q2", question="Who?"), "ab")
        False
    """
    return digest([case.id, case.method, content])
