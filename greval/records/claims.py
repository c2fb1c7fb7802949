"""Claims: which metric lists the claims of a text, and how they are read from its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from greval.records.case import CLAIM_PREFIXES, ClaimField
from greval.records.result import Judgement, Result, Scored

CLAIM_LISTS: Mapping[ClaimField, str] = MappingProxyType(
    {"claims": "answer_claims", "expected_claims": "expected_answer_claims"}
)
"""The name of the metric that lists the claims of each field if a case has none."""
_LISTED_FIELDS: Mapping[str, ClaimField] = {lister: field for field, lister in CLAIM_LISTS.items()}
CLAIM_SOURCES: Mapping[ClaimField, str] = MappingProxyType({"claims": "answer", "expected_claims": "expected_answer"})
"""The field of the text that makes the claims of each field."""
CLAIMS_NOTE, CLAIM_PART = "claims", "claim"
"""The list note in which a metric lists claims, and the part of its entries that holds the text."""


def find_listed_field(name: str) -> ClaimField | None:
    """Return the field of claims that the metric of a name lists, None for any other metric."""
    return _LISTED_FIELDS.get(name)


def map_values(results: Iterable[Result]) -> dict[str, dict[str, object]]:
    """Return the values of scored results by metric and item; those of a metric that lists claims are their texts."""
    return {result.metric: _map_result(result) for result in results if isinstance(result.outcome, Scored)}


def _map_result(result: Result) -> dict[str, object]:
    field = find_listed_field(result.metric)
    if field is None:
        return {judgement.item or "": judgement.value for judgement in result.judgements}
    return {
        f"{CLAIM_PREFIXES[field]}{number}": text
        for judgement in result.judgements
        for number, text in enumerate(_list_texts(judgement), 1)
    }


def _list_texts(judgement: Judgement) -> list[str]:
    listed = judgement.notes.get(CLAIMS_NOTE)
    entries = listed if isinstance(listed, list) else []
    return [str(entry[CLAIM_PART]) for entry in entries if isinstance(entry, dict) and CLAIM_PART in entry]
