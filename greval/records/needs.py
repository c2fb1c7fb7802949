"""What a metric can need of a case, by name, and how it is read there."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from greval.records.case import Case

FIELDS = ("question", "expected_answer", "answer", "chunks", "triples", "context", "traversal", "gold", "usage")
"""What a metric can need of a case; `tags.NAME` is a tag.

`context` is all that an answer was built from: chunks, triples, and aggregates where there are any.
"""

PROMPT_FIELDS = FIELDS[:7]
"""What a judged metric can show to the judge."""

TAG = "tags."


def _known(need: str) -> str:
    """Refuse what no case has."""
    if need not in FIELDS and (not need.startswith(TAG) or need == TAG):
        message = f"{need!r} is no field of a case; known: {', '.join(FIELDS)}, {TAG}NAME"
        raise ValueError(message)
    return need


Need = Annotated[str, AfterValidator(_known)]


def content(case: Case, need: str) -> object:
    """Give what a case holds of a need, None where it is not recorded; texts are stripped."""
    if need == "context":
        known = [part for part in (case.chunks, case.triples, case.aggregates or None) if part is not None]
        return [item for part in known for item in part] if known else None
    if need.startswith(TAG):
        return case.tags.get(need.removeprefix(TAG))
    found: object = getattr(case, need)
    return found.strip() if isinstance(found, str) else found
