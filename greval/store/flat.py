"""Results as a table: one row for each judgement, failure and skip."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from greval.result import Result

COLUMNS = (
    *("sample_id", "method", "metric", "repeat", "status", "item", "value", "number", "reason", "confidence"),
    *("failure", "message", "judge", "tier", "fingerprint"),
    *("calls", "input_tokens", "output_tokens", "latency", "tags"),
)
_OF_RESULT = ("sample_id", "method", "metric", "repeat", "judge", "tier", "fingerprint", "latency")
_OF_USAGE = ("calls", "input_tokens", "output_tokens")
_OF_JUDGEMENT = ("item", "number", "reason", "confidence")


def flat(result: Result) -> Iterator[dict[str, object]]:
    """Give one row for each judgement and failure of a result, or for its skip."""
    return flat_json(result.model_dump(mode="json"))


def flat_json(result: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Give the same rows of a result that was read from a line of JSON."""
    shared = {name: result[name] for name in _OF_RESULT}
    shared |= {name: result["usage"][name] for name in _OF_USAGE}
    shared["tags"] = json.dumps(result["tags"], ensure_ascii=False)
    outcome = result["outcome"]
    for found in outcome.get("judgements", ()):
        yield {**shared, "status": "scored", "value": str(found["value"]), **{n: found[n] for n in _OF_JUDGEMENT}}
    failures = outcome.get("failures") or ([outcome["error"]] if "error" in outcome else [])
    for failure in failures:
        told = {"item": failure["item"], "failure": failure["kind"], "message": failure["message"]}
        yield {**shared, "status": "failed", **told}
    if outcome["status"] == "skipped":
        yield {**shared, "status": "skipped", "message": outcome["reason"]}
