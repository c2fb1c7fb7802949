"""Argilla records of judged items."""

from __future__ import annotations

import re

from greval.records.judgement_text import format_details, list_cited_items
from greval.trust.annotations.judged_items import JudgedItem
from greval.trust.annotations.rendering import escape_text
from greval.trust.argilla.dataset import ArgillaDataset
from greval.trust.argilla.form import JUDGE_FIELD, JUDGEMENT, Json, format_answer, shorten_text
from greval.trust.argilla.ledger import LedgerEntry

MAX_AGENT = 200
MAX_TERM = 1000
LETTER_OR_DIGIT = re.compile("[a-zA-Z0-9]")
FORBIDDEN_IN_AGENT = re.compile(r"[^a-zA-Z0-9\-_:./ ]")
"""The characters that Argilla does not allow in the name of an agent."""


def build_record(thing: JudgedItem, entry: LedgerEntry, dataset: ArgillaDataset, *, run: str) -> Json:
    """Build the record of an item: its fields, its metadata, and the verdict if suggestions are on."""
    suggested = dataset.about.suggested
    return {
        "external_id": thing.id,
        "fields": {**thing.fields, **(_build_judge_field(thing) if suggested else {})},
        "metadata": {**_build_metadata(thing, entry), "run": run, "suggested": "yes" if suggested else "no"},
        "suggestions": [_build_suggestion(thing, dataset)] if suggested else [],
    }


def _build_judge_field(thing: JudgedItem) -> dict[str, str]:
    """Return the field with the judge's reason, its findings and its notes."""
    said = thing.judgement
    return {
        JUDGE_FIELD: escape_text(
            "\n".join([said.reason, *format_details(said.findings, said.notes, list_cited_items(said))])
        )
    }


def _build_metadata(thing: JudgedItem, entry: LedgerEntry) -> Json:
    """Build the metadata of a record. It is visible to owners and admins only, not to annotators."""
    told = {
        "metric": thing.metric,
        "sample_id": thing.place.sample_id,
        "method": thing.place.method,
        "item": thing.place.item,
        "fingerprint": thing.fingerprint,
        "content": entry.content,
        "stratum": entry.stratum,
        "tags": [shorten_text(f"{name}={value}", MAX_TERM) for name, value in thing.tags.items()],
        "weight": float(entry.weight),
    }
    return {name: value for name, value in told.items() if value not in (None, [])}


def _build_suggestion(thing: JudgedItem, dataset: ArgillaDataset) -> Json:
    """Build the suggestion: the judge's value with its confidence and the judge's name."""
    agent = shorten_text(FORBIDDEN_IN_AGENT.sub("-", thing.judge), MAX_AGENT)
    confidence = thing.judgement.confidence
    return {
        "question_id": dataset.question_ids[JUDGEMENT],
        "value": format_answer(dataset.about.scale, thing.judgement.value),
        **({"agent": agent} if LETTER_OR_DIGIT.search(agent) else {}),
        **({} if confidence is None else {"score": confidence}),
    }
