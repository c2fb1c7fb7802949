"""The fields of a case that a metric can need, and how they are read."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from greval.records.case import Case

FIELDS = ("question", "expected_answer", "answer", "chunks", "triples", "context", "traversal", "gold", "usage")
"""The fields of a case that a metric can need, in addition to tags, `tags.NAME`.

`context` is everything that the answer was built from: chunks, triples, and aggregates if there are any.
"""

PROMPT_FIELDS = FIELDS[:7]
"""The fields that a judged metric can include in the prompt."""

TAG = "tags."


def _check_need(need: str) -> str:
    """Raise if a need is not a field of a case."""
    if need not in FIELDS and (not need.startswith(TAG) or need == TAG):
        message = f"{need!r} is no field of a case; known: {', '.join(FIELDS)}, {TAG}NAME"
        raise ValueError(message)
    return need


Need = Annotated[str, AfterValidator(_check_need)]


def read_need(case: Case, need: str) -> object:
    """Return the content of a needed field, None if it is not recorded; texts are stripped."""
    if need == "context":
        known = [part for part in (case.chunks, case.triples, case.aggregates or None) if part is not None]
        return [item for part in known for item in part] if known else None
    if need.startswith(TAG):
        return case.tags.get(need.removeprefix(TAG))
    found: object = getattr(case, need)
    return found.strip() if isinstance(found, str) else found
