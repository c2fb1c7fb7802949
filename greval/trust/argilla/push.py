"""Push: turn judged items of a run into records to annotate. A repeated push adds only what is new."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from greval._util.arguments import check_options, require_iterable, resolve_run_folder
from greval.errors import ArgillaArgumentError, DataError
from greval.records.judgement_text import format_details, list_cited_items
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.runs.run_reader import read_judged_metric
from greval.runs.store import Store
from greval.trust.annotations.judged_items import ItemRef, JudgedItem
from greval.trust.annotations.rendering import cut_text, escape_text
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset import ArgillaDataset, DatasetTarget, ensure_dataset
from greval.trust.argilla.form import JUDGE_FIELD, Json, join_texts, join_titles, merge_titles
from greval.trust.argilla.ledger import Ledger, LedgerEntry, lock_run, read_ledger, write_ledger
from greval.trust.argilla.questions import MetricQuestion, find_questions
from greval.trust.argilla.record_items import RecordItem, find_entry, locate_record, read_record_items
from greval.trust.argilla.sampling import SamplingPlan, build_candidate, count_changed, describe_draw, plan_records

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

MAX_BATCH = 500
"""The maximum number of records per request. The server accepts or rejects a batch as a whole."""
MAX_AGENT = 200
MAX_TERM = 1000
LETTER_OR_DIGIT = re.compile("[a-zA-Z0-9]")
FORBIDDEN_IN_AGENT = re.compile(r"[^a-zA-Z0-9\-_:./ ]")
"""The characters that Argilla does not allow in the name of an agent."""


class PushOptions(TypedDict, total=False):
    """The options of the records that are pushed."""

    sample: SamplingPlan | str | None
    seed: int
    suggestions: bool
    questions: Mapping[str, str] | None


class PushResult(Record):
    """The result of a push.

    `judged` counts the items of the run, and `drawn` those in the sample. `added` records were sent now, `known` ones
    were on the server already. `changed` counts the added records whose item had other content in an earlier push.
    `suggestions` is whether people see the judge's verdicts, and `suggested` counts the known records that were given
    them now.
    """

    dataset: str
    workspace: str
    page: str
    metrics: tuple[str, ...]
    suggestions: bool
    sample: str | None
    judged: int
    drawn: int
    added: int
    known: int
    changed: int
    suggested: int


def push_to_argilla(  # noqa: PLR0913 - the options of a push
    run: str | Path | Run,
    metrics: str | Iterable[str],
    *,
    dataset: str,
    workspace: str | None = None,
    min_submitted: int | None = None,
    url: str | None = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Unpack[PushOptions],
) -> PushResult:
    """Push the judged items of a run to Argilla, to be judged by people on the same scales.

    An item is one record with a question for each metric. Records that are on the server keep their fields, vectors,
    metadata and answers.

    Args:
        run: The run, or its folder.
        metrics: The names of one or several judged metrics of the run.
        dataset: The name of the dataset, which is created if it does not exist.
        workspace: Its workspace. None selects the only one.
        min_submitted: The number of annotators per item of a dataset that is created, by default 2.
        url: The URL of the server. Defaults to the environment variable ARGILLA_API_URL.
        key: The API key of an owner or admin. Defaults to the environment variable ARGILLA_API_KEY.
        headers: Further headers of each request, such as those that a proxy before Argilla asks for.
        **options: `sample`: the sample size and method, such as `random:200`, by default all items; `seed`: the random
            seed of the sample, 0 by default. `suggestions`: whether annotators see the judge's verdicts, with reasons,
            findings and notes if the dataset has the field for them. The page is prefilled with the verdicts, which
            biases answers towards them: leave it off to measure agreement. `questions`: the name of the question for a
            metric, if it is neither that of the metric nor the only one with its labels.

    Returns:
        The counts of added and existing records.

    Raises:
        ArgillaError: If the server is not available or refuses, or the dataset does not fit the metrics or the
            options. Completed steps are kept, and the same call resumes.
        DataError: If nothing in the run was judged by the metrics.
        StoreError: If the run folder cannot be used.
    """
    check_options(options, PushOptions, "push_to_argilla")
    with ArgillaClient(url, key, headers=headers) as server:
        return push_items(server, run, metrics, DatasetTarget(dataset, workspace, min_submitted), options)


def push_items(
    server: ArgillaClient,
    run: str | Path | Run,
    metrics: str | Iterable[str],
    target: DatasetTarget,
    options: PushOptions,
) -> PushResult:
    """Push the judged items of a run through a client; the other arguments are those of `push_to_argilla`."""
    names = [metrics] if isinstance(metrics, str) else metrics
    require_iterable(names, "metrics", "a list, such as ['correctness', 'tone']")
    target.check()
    sample, suggestions = parse_sample(options.get("sample")), options.get("suggestions", False)
    folder = resolve_run_folder(run)
    with Store.open(folder) as store, lock_run(folder):
        definitions = [read_judged_metric(store, name) for name in dict.fromkeys(names)]
        if not definitions:
            raise DataError("metrics: expected one or several, got none; name a judged metric")
        items = read_record_items(store, definitions, written=suggestions)
        if not items:
            judged_by = ", ".join(metric.name for metric in definitions)
            raise DataError(f"{folder}: nothing was judged by {judged_by!r} there, so there is nothing to push")
        if sample:
            sample.check([build_candidate(item) for item in items])
        dataset = ensure_dataset(server, target, definitions, suggested=suggestions)
        questions = find_questions(definitions, dataset.questions, options.get("questions"))
        writer = RecordWriter(folder.resolve().name, questions, suggestions)
        sender = _RecordSender(server, dataset, writer, definitions)
        return sender.send_items(folder, items, sample, seed=options.get("seed", 0))


def parse_sample(sample: SamplingPlan | str | None) -> SamplingPlan | None:
    """Parse a sample that is given as a text."""
    return SamplingPlan.parse(sample) if isinstance(sample, str) else sample


class _ServerRecord(NamedTuple):
    """A record on the server: its id there, its weight, and the ids of the questions that have suggestions."""

    id: str
    weight: float
    suggested: frozenset[str]


_ServerRecords = dict[str | ItemRef, _ServerRecord]
"""The records of a dataset: those that greval pushed by their ids, others by the item that they show."""


def _find_record(records: _ServerRecords, item: RecordItem) -> _ServerRecord | None:
    return records.get(item.id) or records.get(item.place)


class _RecordSender(NamedTuple):
    """Sends the records of judged items that a dataset does not have."""

    server: ArgillaClient
    dataset: ArgillaDataset
    writer: RecordWriter
    metrics: Sequence[JudgedMetric]

    def send_items(
        self, run: Path, items: Sequence[RecordItem], sample: SamplingPlan | None, *, seed: int
    ) -> PushResult:
        """Draw a sample, record it in the ledger, and send what is missing."""
        old = read_ledger(run, self.dataset.id)
        new, ids = plan_records(old, items, sample, seed=seed)
        records = self._read_records(old, {item.place.method for item in items})
        self._check_draw(old, new, records, sample, seed)
        drawn = [item for item in items if item.id in ids]
        missing = [item for item in drawn if not _find_record(records, item)]
        if missing:
            self.dataset.check_takes(join_titles(merge_titles(self.metrics)))
        # Before anything is sent, so that an interrupted push resumes with the same sample.
        if new != old:
            write_ledger(run, self.dataset.id, new)
        self._send_batches(
            self.dataset.fit_record(self.writer.build_record(item, new.planned[item.id])) for item in missing
        )
        updates = [*self._build_updates(drawn, records)]
        self._send_batches(updates)
        return PushResult(
            dataset=self.dataset.name,
            workspace=self.dataset.workspace,
            page=f"{self.server.url}/dataset/{self.dataset.id}/annotation-mode",
            metrics=tuple(metric.name for metric in self.metrics),
            suggestions=self.writer.suggested,
            sample=str(sample) if sample else None,
            judged=len(items),
            drawn=len(drawn),
            added=len(missing),
            known=len(drawn) - len(missing),
            changed=count_changed(new, [item.id for item in missing]),
            suggested=len(updates),
        )

    def _read_records(self, ledger: Ledger, methods: set[str]) -> _ServerRecords:
        records: _ServerRecords = {}
        for raw in self.server.iter_records(self.dataset.id, "suggestions"):
            suggested = frozenset(str(suggestion["question_id"]) for suggestion in raw.get("suggestions") or ())
            if entry := find_entry(raw, ledger):
                records[raw["external_id"]] = _ServerRecord(raw["id"], entry.weight, suggested)
            else:
                records[locate_record(raw, methods)] = _ServerRecord(raw["id"], 1.0, suggested)
        return records

    def _check_draw(
        self, old: Ledger, new: Ledger, records: _ServerRecords, sample: SamplingPlan | None, seed: int
    ) -> None:
        """Raise `ArgillaArgumentError` if the records of the dataset were drawn in another way."""
        if old.sample not in {None, (draw := describe_draw(sample, seed))}:
            reason = f"{self.dataset.name!r} is taken by a dataset with the sample {old.sample} (asked for: {draw})"
            raise ArgillaArgumentError("dataset", f"{reason}; choose another name, or the same settings", "taken")
        if old.draws:
            return
        for record_id, record in records.items():
            if isinstance(record_id, ItemRef):
                continue
            planned = new.planned.get(record_id)
            # A dataset may have all items of several runs, but those that this sample leaves out have no weight in it.
            if planned.weight == record.weight if planned else not sample:
                continue
            reason = f"{self.dataset.name!r} holds a sample that was drawn elsewhere, perhaps from a copy of this run"
            raise ArgillaArgumentError("dataset", f"{reason}; push from there, or choose another name", "taken")

    def _build_updates(self, items: Iterable[RecordItem], records: _ServerRecords) -> Iterator[Json]:
        """Yield the suggestions that records on the server lack. Nothing else of these records is sent or changed."""
        for item in items if self.writer.suggested else ():
            record = _find_record(records, item)
            if record is None:
                continue
            suggestions = self.writer.build_suggestions(item)
            if lacking := [
                suggestion for suggestion in suggestions if suggestion["question_id"] not in record.suggested
            ]:
                yield {"id": record.id, "suggestions": lacking}

    def _send_batches(self, records: Iterable[Json]) -> None:
        """Send records in batches. A record that is on the server is updated by what is sent of it."""
        pending = iter(records)
        # The server replaces records by their ids, so a repeated record is harmless.
        while batch := [*islice(pending, MAX_BATCH)]:
            self.server.call("PUT", f"/datasets/{self.dataset.id}/records/bulk", {"items": batch})


class RecordWriter(NamedTuple):
    """Builds records: their fields, their metadata, and the verdicts if `suggested`.

    `questions` has, for each metric, the question that a verdict is suggested to.
    """

    run: str
    questions: Mapping[str, MetricQuestion]
    suggested: bool

    def build_record(self, item: RecordItem, entry: LedgerEntry) -> Json:
        """Build the record of an item."""
        origin = {"run": self.run, "suggested": "yes" if self.suggested else "no"}
        texts = join_texts(item.fields)
        return {
            "external_id": item.id,
            "fields": {**texts, **(_build_judge_field(item.judged) if self.suggested else {})},
            "metadata": {**_build_metadata(item.judged, entry), **origin},
            "suggestions": self.build_suggestions(item) if self.suggested else [],
        }

    def build_suggestions(self, item: RecordItem) -> list[Json]:
        """Build the suggestion of each verdict: the judge's value with its confidence and the judge's name."""
        suggestions = []
        for judged in item.judged:
            question = self.questions[judged.metric]
            answer = question.format_answer(judged.judgement.value)
            if answer is not None:
                suggestions.append({"question_id": question.id, "value": answer, **_describe_judge(judged)})
        return suggestions


def _build_judge_field(judged: Sequence[JudgedItem]) -> dict[str, str]:
    """Return the field with the judge's reason, its findings and its notes, below the metric's name if of several."""
    lines: list[str] = []
    for item in judged:
        verdict = item.judgement
        title = [f"{item.metric}:"] if len(judged) > 1 else []
        lines += [*title, verdict.reason, *format_details(verdict.findings, verdict.notes, list_cited_items(verdict))]
    return {JUDGE_FIELD: escape_text("\n".join(lines))}


def _build_metadata(judged: Sequence[JudgedItem], entry: LedgerEntry) -> Json:
    """Build the metadata of a record. It is visible to owners and admins only, not to annotators."""
    first, *remaining = judged
    terms = {
        "metric": [item.metric for item in judged] if remaining else first.metric,
        "sample_id": first.place.sample_id,
        "method": first.place.method,
        "item": first.place.item,
        "fingerprint": [item.fingerprint for item in judged] if remaining else first.fingerprint,
        "content": entry.content,
        "stratum": entry.stratum,
        "tags": [cut_text(f"{name}={value}", MAX_TERM) for name, value in first.tags.items()],
        # Argilla refuses an integer for metadata of the type float.
        "weight": float(entry.weight),
    }
    return {name: value for name, value in terms.items() if value not in (None, [])}


def _describe_judge(item: JudgedItem) -> Json:
    """Return the judge's name and its confidence for a suggestion, as far as they are known."""
    agent = cut_text(FORBIDDEN_IN_AGENT.sub("-", item.judge), MAX_AGENT)
    confidence = item.judgement.confidence
    return {
        **({"agent": agent} if LETTER_OR_DIGIT.search(agent) else {}),
        **({} if confidence is None else {"score": confidence}),
    }
