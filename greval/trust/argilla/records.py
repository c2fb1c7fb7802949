"""Argilla records of judged items."""

from __future__ import annotations

import re

from greval.records.judgement_text import cited_items, write_details
from greval.trust.annotations.judged_items import Shown
from greval.trust.annotations.rendering import safe
from greval.trust.argilla.dataset import Dataset
from greval.trust.argilla.form import JUDGEMENT, WRITTEN, Json, asked, cut
from greval.trust.argilla.ledger import Entry

MAX_AGENT = 200
MAX_TERM = 1000
LETTER = re.compile("[a-zA-Z0-9]")
STRANGE = re.compile(r"[^a-zA-Z0-9\-_:./ ]")
"""The characters that Argilla does not allow in the name of an agent."""


def record(thing: Shown, entry: Entry, dataset: Dataset, *, run: str) -> Json:
    """Build the record of an item: its fields, its metadata, and the verdict if suggestions are on."""
    suggested = dataset.about.suggested
    return {
        "external_id": thing.id,
        "fields": {**thing.fields, **(_written(thing) if suggested else {})},
        "metadata": {**_metadata(thing, entry), "run": run, "suggested": "yes" if suggested else "no"},
        "suggestions": [_suggestion(thing, dataset)] if suggested else [],
    }


def _written(thing: Shown) -> dict[str, str]:
    """Return the field with the judge's reason, its findings and its notes."""
    said = thing.judgement
    return {WRITTEN: safe("\n".join([said.reason, *write_details(said.findings, said.notes, cited_items(said))]))}


def _metadata(thing: Shown, entry: Entry) -> Json:
    """Build the metadata of a record. It is visible to owners and admins only, not to annotators."""
    told = {
        "metric": thing.metric,
        "sample_id": thing.place.sample_id,
        "method": thing.place.method,
        "item": thing.place.item,
        "fingerprint": thing.fingerprint,
        "content": entry.content,
        "stratum": entry.stratum,
        "tags": [cut(f"{name}={value}", MAX_TERM) for name, value in thing.tags.items()],
        "weight": float(entry.weight),
    }
    return {name: value for name, value in told.items() if value not in (None, [])}


def _suggestion(thing: Shown, dataset: Dataset) -> Json:
    """Build the suggestion: the judge's value with its confidence and the judge's name."""
    agent = cut(STRANGE.sub("-", thing.judge), MAX_AGENT)
    confidence = thing.judgement.confidence
    return {
        "question_id": dataset.question_ids[JUDGEMENT],
        "value": asked(dataset.about.scale, thing.judgement.value),
        **({"agent": agent} if LETTER.search(agent) else {}),
        **({} if confidence is None else {"score": confidence}),
    }
