"""Conversion of a dataset's records into annotations. Each record is matched to its item by the record id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from pydantic import ValidationError

from greval.records.annotation import Annotation
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.runs.run_reader import ItemKey
from greval.trust.annotations.judged_items import ItemRef, build_item_id
from greval.trust.argilla.dataset import ArgillaDataset
from greval.trust.argilla.form import COMMENT, JUDGE_FIELD, JUDGEMENT, Json, parse_answer
from greval.trust.argilla.ledger import Ledger, LedgerEntry


class AnnotatorCounts(Record):
    """The answers of one annotator by status. `pending` counts the records without an answer."""

    annotator: str
    submitted: int = 0
    draft: int = 0
    discarded: int = 0
    pending: int = 0


class ResponseReader:
    """Converts records into annotations and counts them. Answers to changed content are collected in `outdated`."""

    def __init__(
        self, dataset: ArgillaDataset, ledger: Ledger, contents: Mapping[ItemKey, str], users: Mapping[str, str]
    ) -> None:
        self.dataset, self.ledger, self.contents, self.users = dataset, ledger, contents, users
        self.outdated: list[Annotation] = []
        self.counts: dict[str, Counter[str]] = {}
        self.records = self.unanswered = self.edited = self.unknown = 0

    def iter_annotations(self, records: Iterable[Json]) -> Iterator[Annotation]:
        """Yield the annotations of records. Records that greval did not push are only counted."""
        for record in records:
            entry = self._find_entry(record)
            if entry is None:
                self.unknown += 1
                continue
            content = hash_json({name: text for name, text in record["fields"].items() if name != JUDGE_FIELD})
            responses = record.get("responses") or []
            if self.contents.get(entry.place.item_key, entry.content) != entry.content:
                self.outdated += (self._parse_response(entry, content, response) for response in responses)
                continue
            self.records += 1
            self.edited += content != entry.content
            self.unanswered += all(one["status"] != "submitted" for one in responses)
            for response in responses:
                row = self._parse_response(entry, content, response)
                self.counts.setdefault(row.annotator, Counter())[row.status] += 1
                yield row

    def iter_counts(self) -> Iterator[AnnotatorCounts]:
        """Yield the counts of each annotator."""
        for name, count in sorted(self.counts.items()):
            yield AnnotatorCounts(annotator=name, **count, pending=self.records - count.total())

    def _parse_response(self, entry: LedgerEntry, content: str, response: Json) -> Annotation:
        """Parse one response. A discarded response may have an empty form or no form at all."""
        user = str(response.get("user_id"))
        annotator = self.users.get(user, user)
        values = {name: (one or {}).get("value") for name, one in (response.get("values") or {}).items()}
        return Annotation(
            sample_id=entry.place.sample_id,
            method=entry.place.method,
            metric=self.dataset.about.metric,
            item=entry.place.item,
            annotator=annotator,
            status=response["status"],
            value=parse_answer(self.dataset.about.scale, values.get(JUDGEMENT)),
            comment=values.get(COMMENT) or None,
            content=content,
            weight=entry.weight,
            stratum=entry.stratum,
            suggested=self.dataset.about.suggested,
        )

    def _find_entry(self, record: Json) -> LedgerEntry | None:
        """Find what was pushed under a record's id, in the ledger or else in the record's own metadata."""
        known = self.ledger.planned.get(record["external_id"] or "")
        if known:
            return known
        told = record.get("metadata") or {}
        try:
            place = ItemRef(sample_id=told["sample_id"], method=told.get("method", ""), item=told.get("item"))
            entry = LedgerEntry(
                place=place, content=told["content"], weight=told["weight"], stratum=told.get("stratum")
            )
        except (KeyError, ValidationError):
            return None
        whole = build_item_id(self.dataset.about.metric, place, entry.content) == record["external_id"]
        return entry if whole else None
