"""Records in which people judge one answer, chunk or triple by one or several metrics, in a run and on the server."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from pydantic import ValidationError

from greval.errors import ArgillaArgumentError
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.records.result import Judgement
from greval.runs.store import Store
from greval.trust.annotations.judged_items import ItemRef, JudgedItem, read_judged_items
from greval.trust.argilla.form import OWN_DATASETS_HINT, Json
from greval.trust.argilla.ledger import Ledger, LedgerEntry


class RecordItem(Record):
    """An answer, chunk or triple as each of its metrics judged it, which one record shows to people."""

    judged: tuple[JudgedItem, ...]

    @property
    def place(self) -> ItemRef:
        """The reference to the item."""
        return self.judged[0].place

    @cached_property
    def fields(self) -> dict[str, str]:
        """The fields that all its metrics need."""
        return {name: text for item in self.judged for name, text in item.fields.items()}

    @cached_property
    def content(self) -> str:
        """The hash of the fields shown."""
        return hash_json({**self.fields})

    @cached_property
    def id(self) -> str:
        """The id of the item with its content, whichever metrics judged it."""
        return build_record_id(self.place, self.content)

    @property
    def judgement(self) -> Judgement:
        """The judgement by the first metric."""
        return self.judged[0].judgement


def build_record_id(ref: ItemRef, content: str) -> str:
    """Return the id of an item with its content; a different content gives a different id."""
    return hash_json([ref.sample_id, ref.method, ref.item, content])


def read_record_items(store: Store, metrics: Sequence[JudgedMetric], *, written: bool = False) -> list[RecordItem]:
    """Read the items that at least one of the metrics judged, each once."""
    items: dict[ItemRef, list[JudgedItem]] = {}
    for metric in metrics:
        for item in read_judged_items(store, metric, written=written):
            _check_same_texts(items.setdefault(item.place, []), item)
            items[item.place].append(item)
    return [RecordItem(judged=tuple(judged)) for judged in items.values()]


def _check_same_texts(earlier_items: Iterable[JudgedItem], item: JudgedItem) -> None:
    """Raise `ArgillaArgumentError` if another metric showed its judge another text in a field."""
    for earlier in earlier_items:
        for name in earlier.fields.keys() & item.fields.keys():
            if earlier.fields[name] != item.fields[name]:
                judges = f"of {item.place.sample_id!r} the judges of {earlier.metric} and {item.metric}"
                reason = f"{judges} saw different texts in the field {name}"
                raise ArgillaArgumentError("metrics", f"{reason}; {OWN_DATASETS_HINT}")


def find_entry(record: Json, ledger: Ledger) -> LedgerEntry | None:
    """Find what was pushed under a record's id, in the ledger or else in the record's own metadata.

    The result is None if greval did not push the record.
    """
    if entry := ledger.planned.get(record["external_id"] or ""):
        return entry
    meta = record.get("metadata") or {}
    try:
        ref = ItemRef(sample_id=meta["sample_id"], method=meta.get("method", ""), item=meta.get("item"))
        entry = LedgerEntry(place=ref, content=meta["content"], weight=meta["weight"], stratum=meta.get("stratum"))
    except (KeyError, ValidationError):
        return None
    # Metadata that was edited, or copied to another record, does not give the id of the record.
    return entry if record["external_id"] == build_record_id(ref, entry.content) else None


def locate_record(record: Json, methods: Collection[str] = ()) -> ItemRef:
    """Return the item that a record shows which greval did not push.

    Its metadata `sample_id`, `method` and `item` name it. Without `sample_id`, the record's own id is that of the
    sample; without `method`, it is of the only one of `methods`.
    """
    meta = record.get("metadata") or {}
    (only_method,) = methods if len(methods) == 1 else ("",)
    sample_id, method, item = meta.get("sample_id", record["external_id"]), meta.get("method"), meta.get("item")
    return ItemRef(
        sample_id=str(sample_id), method=str(method or only_method), item=None if item is None else str(item)
    )
