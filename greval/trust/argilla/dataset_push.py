"""Push into any dataset that asks for the values of metrics, also one that users made with questions of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greval.errors import ArgillaArgumentError, DataError
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.runs.store import Store
from greval.trust.annotations.judged_items import ItemRef
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.form import JUDGE_FIELD, Json, merge_titles
from greval.trust.argilla.ledger import Ledger, lock_run, read_ledger, write_ledger
from greval.trust.argilla.pull import find_entry
from greval.trust.argilla.push import RecordWriter, format_page_url, send_batches
from greval.trust.argilla.questions import find_questions
from greval.trust.argilla.record_items import ANY_METRIC, RecordItem, read_record_items
from greval.trust.argilla.sampling import SamplingPlan, count_changed, plan_records
from greval.trust.argilla.sides import join_titles

IDENTIFYING = ("sample_id", "content", "weight")
"""The metadata that a record needs so that its answers find their items again."""


class DatasetPush(Record):
    """The result of a push into a dataset.

    `judged` counts the items of the run, and `drawn` those in the sample. `added` records were sent now, `known` ones
    were on the server already. `suggested` counts the records on the server that were given verdicts as suggestions
    now. `changed` counts the added records whose item had other content in an earlier push.
    """

    dataset: str
    page: str
    metrics: tuple[str, ...]
    judged: int
    drawn: int
    added: int
    known: int
    suggested: int
    changed: int


class PushPlan(NamedTuple):
    """What a push into a dataset sends: verdicts as suggestions or not, of which sample, to which questions."""

    suggestions: bool = False
    sample: SamplingPlan | None = None
    seed: int = 0
    questions: Mapping[str, str] | None = None


def push_into_dataset(
    server: ArgillaClient,
    run: Path,
    metrics: Callable[[Store], list[JudgedMetric]],
    dataset: Callable[[list[JudgedMetric]], str],
    plan: PushPlan,
) -> DatasetPush:
    """Push the judged items of a run into a dataset, and resume what an earlier push could not complete.

    Args:
        server: The client.
        run: The run folder.
        metrics: Reads the metrics from the run.
        dataset: Finds or creates the dataset for the metrics, and returns its id.
        plan: What is sent.

    Raises:
        ArgillaError: If the server is not available or refuses, or the dataset does not fit the metrics.
        DataError: If nothing in the run was judged by the metrics.
        StoreError: If the run folder cannot be used.
    """
    with Store.open(run) as store, lock_run(run):
        wanted = metrics(store)
        items = read_record_items(store, wanted)
        names = ", ".join(metric.name for metric in wanted)
        if not items:
            raise DataError(f"{run}: nothing was judged by {names} there, so there is nothing to push")
        return _send(_DatasetParts.read(server, dataset(wanted)), run, wanted, items, plan)


class _DatasetParts(NamedTuple):
    """A dataset on the server, as far as records depend on it."""

    server: ArgillaClient
    about: Json
    questions: Sequence[Json]
    fields: Mapping[str, bool]
    """Whether each field is required."""
    metadata: Collection[str]

    @classmethod
    def read(cls, server: ArgillaClient, dataset_id: str) -> _DatasetParts:
        """Read the parts of a dataset."""
        path = f"/datasets/{dataset_id}"
        fields = {one["name"]: bool(one["required"]) for one in server.list_items(f"{path}/fields")}
        metadata = {one["name"] for one in server.list_items(f"/me{path}/metadata-properties")}
        return cls(server, server.get(path), server.list_items(f"{path}/questions"), fields, metadata)

    def check_takes(self, fields: Iterable[str]) -> None:
        """Raise `ArgillaArgumentError` if new records with these fields do not fit the dataset."""
        needed = {*fields}
        faults = []
        if missing := sorted(needed - self.fields.keys()):
            faults.append(f"it has no field {', '.join(missing)}")
        if others := sorted(name for name, is_required in self.fields.items() if is_required and name not in needed):
            faults.append(f"it requires {', '.join(others)}, which the metrics do not have")
        lost = [name for name in IDENTIFYING if not self._takes_metadata(name)]
        if lost:
            faults.append(f"it takes no metadata {', '.join(lost)}, by which answers find their items again")
        if faults:
            hint = "build it with greval.argilla.settings, or add records whose ids are the ids of the samples"
            raise ArgillaArgumentError("dataset", f"{self.about['name']!r}: {'; '.join(faults)}; {hint}")

    def fit_record(self, record: Json) -> Json:
        """Return a record without the optional field and the metadata that the dataset does not take."""
        fields = {name: text for name, text in record["fields"].items() if name in self.fields or name != JUDGE_FIELD}
        metadata = {name: value for name, value in record["metadata"].items() if self._takes_metadata(name)}
        return {**record, "fields": fields, "metadata": metadata}

    def _takes_metadata(self, name: str) -> bool:
        return bool(self.about.get("allow_extra_metadata")) or name in self.metadata


class _KnownRecord(NamedTuple):
    """A record on the server: its id there, and the ids of the questions that have suggestions."""

    id: str
    suggested: frozenset[str]


class _KnownRecords(NamedTuple):
    """The records of a dataset: those that greval pushed by their ids, others by the item that they show."""

    pushed: Mapping[str, _KnownRecord]
    others: Mapping[ItemRef, _KnownRecord]

    @classmethod
    def read(cls, parts: _DatasetParts, ledger: Ledger) -> _KnownRecords:
        """Read the records of a dataset."""
        pushed, others = {}, {}
        for record in parts.server.iter_records(str(parts.about["id"]), "suggestions"):
            suggested = frozenset(str(one["question_id"]) for one in record.get("suggestions") or ())
            known = _KnownRecord(record["id"], suggested)
            if find_entry(record, ledger, ANY_METRIC):
                pushed[record["external_id"]] = known
            else:
                others[locate_record(record)] = known
        return cls(pushed, others)

    def find(self, item: RecordItem) -> _KnownRecord | None:
        """Find the record of an item, None if it is not there."""
        return self.pushed.get(item.id) or self.others.get(item.place)


def locate_record(record: Json) -> ItemRef:
    """Return the item that a record shows which greval did not push.

    Its metadata `sample_id`, `method` and `item` name it. Without `sample_id`, the record's own id is that of the
    sample.
    """
    meta = record.get("metadata") or {}
    sample_id, method, item = meta.get("sample_id", record["external_id"]), meta.get("method"), meta.get("item")
    return ItemRef(sample_id=str(sample_id), method=str(method or ""), item=None if item is None else str(item))


def _send(
    parts: _DatasetParts, run: Path, metrics: Sequence[JudgedMetric], items: Sequence[RecordItem], plan: PushPlan
) -> DatasetPush:
    """Draw a sample, record it in the ledger, and send what the dataset does not have."""
    dataset_id = str(parts.about["id"])
    questions = find_questions(metrics, parts.questions, plan.questions)
    old = read_ledger(run, dataset_id)
    new, wanted = plan_records(old, items, plan.sample, seed=plan.seed)
    known = _KnownRecords.read(parts, old)
    drawn = [item for item in items if item.id in wanted]
    missing = [item for item in drawn if not known.find(item)]
    if missing:
        parts.check_takes(join_titles(merge_titles(metrics)))
    if new != old:
        write_ledger(run, dataset_id, new)
    writer = RecordWriter(run.resolve().name, questions, plan.suggestions)
    records = (parts.fit_record(writer.build_record(item, new.planned[item.id])) for item in missing)
    send_batches(parts.server, dataset_id, records)
    updates = [*_build_updates(writer, drawn, known)] if plan.suggestions else []
    send_batches(parts.server, dataset_id, updates)
    return DatasetPush(
        dataset=parts.about["name"],
        page=format_page_url(parts.server, dataset_id),
        metrics=tuple(metric.name for metric in metrics),
        judged=len(items),
        drawn=len(drawn),
        added=len(missing),
        known=len(drawn) - len(missing),
        suggested=len(updates),
        changed=count_changed(new, {item.id for item in missing}),
    )


def _build_updates(writer: RecordWriter, items: Iterable[RecordItem], known: _KnownRecords) -> Iterable[Json]:
    """Yield the suggestions that records on the server lack. Nothing else of these records is sent or changed."""
    for item in items:
        record = known.find(item)
        if record is None:
            continue
        lacking = [one for one in writer.build_suggestions(item) if one["question_id"] not in record.suggested]
        if lacking:
            yield {"id": record.id, "suggestions": lacking}
