"""Records in which people judge one answer, chunk or triple by several metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from greval.errors import ArgillaArgumentError
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.records.result import Judgement
from greval.runs.store import Store
from greval.trust.annotations.judged_items import ItemRef, JudgedItem, build_item_id, read_judged_items
from greval.trust.argilla.form import OWN_DATASETS_HINT

ANY_METRIC = ""
"""Stands for the metric in the ids of these records: the same item with the same texts is one record."""


class RecordItem(Record):
    """An answer, chunk or triple, as one or several metrics judged it. It has the properties of a `JudgedItem`."""

    judged: tuple[JudgedItem, ...]

    @property
    def place(self) -> ItemRef:
        """The reference to the item."""
        return self.judged[0].place

    @cached_property
    def fields(self) -> dict[str, str]:
        """The fields that all its metrics need."""
        return {name: text for one in self.judged for name, text in one.fields.items()}

    @cached_property
    def content(self) -> str:
        """The hash of the fields shown."""
        return hash_json({**self.fields})

    @cached_property
    def id(self) -> str:
        """The id of the item with its content, whichever metrics judged it."""
        return build_item_id(ANY_METRIC, self.place, self.content)

    @property
    def judgement(self) -> Judgement:
        """The judgement by the first metric."""
        return self.judged[0].judgement

    @property
    def uncertainty(self) -> float | None:
        """The highest uncertainty of its judgements, None if none is known."""
        return max((one.uncertainty for one in self.judged if one.uncertainty is not None), default=None)


AnnotatableItem = JudgedItem | RecordItem
"""What one record shows to people."""


def read_record_items(store: Store, metrics: Sequence[JudgedMetric]) -> list[RecordItem]:
    """Read the items that at least one of the metrics judged, each once, with what the judges wrote.

    Raises:
        ArgillaArgumentError: If metrics saw different texts in one field, as one that builds on others does.
    """
    found: dict[ItemRef, list[JudgedItem]] = {}
    for metric in metrics:
        for item in read_judged_items(store, metric, written=True):
            _check_same_texts(found.setdefault(item.place, []), item)
            found[item.place].append(item)
    return [RecordItem(judged=tuple(items)) for items in found.values()]


def _check_same_texts(others: Iterable[JudgedItem], item: JudgedItem) -> None:
    """Raise `ArgillaArgumentError` if another metric showed its judge another text in a field."""
    for other in others:
        for name in other.fields.keys() & item.fields.keys():
            if other.fields[name] != item.fields[name]:
                place = f"of {item.place.sample_id!r} the judges of {other.metric} and {item.metric}"
                reason = f"{place} saw different texts in the field {name}"
                raise ArgillaArgumentError("metrics", f"{reason}; {OWN_DATASETS_HINT}")
