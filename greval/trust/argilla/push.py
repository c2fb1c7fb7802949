"""Push: turn judged items of a run into records to annotate. A repeated push adds only what is new."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from greval.errors import ArgillaArgumentError, DataError
from greval.records.judgement_text import format_details, list_cited_items
from greval.records.record import Record
from greval.runs.run_reader import read_judged_metric
from greval.runs.store import Store
from greval.trust.annotations.judged_items import JudgedItem, read_judged_items
from greval.trust.annotations.rendering import escape_text
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset import ArgillaDataset, DatasetSettings, ensure_dataset
from greval.trust.argilla.form import JUDGE_FIELD, JUDGEMENT, Json, hash_form, shorten_text
from greval.trust.argilla.ledger import LedgerEntry, lock_run, read_ledger, write_ledger
from greval.trust.argilla.questions import MetricQuestion
from greval.trust.argilla.record_items import AnnotatableItem, RecordItem
from greval.trust.argilla.sampling import SamplingPlan, build_candidate, count_changed, plan_records
from greval.trust.argilla.sides import join_texts

MAX_BATCH = 500
"""The maximum number of records per request. The server accepts or rejects a batch as a whole."""
MAX_AGENT = 200
MAX_TERM = 1000
LETTER_OR_DIGIT = re.compile("[a-zA-Z0-9]")
FORBIDDEN_IN_AGENT = re.compile(r"[^a-zA-Z0-9\-_:./ ]")
"""The characters that Argilla does not allow in the name of an agent."""


class PushResult(Record):
    """The result of a push.

    `judged` counts the items of the run, and `drawn` those in the sample. `added` records were sent now,
    `known` ones were on the server already. `changed` counts the added records whose item had other content
    in an earlier push.
    """

    dataset: str
    workspace: str
    page: str
    metric: str
    suggested: bool
    sample: str | None
    judged: int
    drawn: int
    added: int
    known: int
    changed: int


def push_to_argilla(  # noqa: PLR0913 - the options of a push
    run: Path | str,
    metric: str,
    *,
    dataset: str,
    workspace: str | None = None,
    sample: SamplingPlan | str | None = None,
    suggestions: bool = False,
    min_submitted: int = 2,
    seed: int = 0,
    url: str | None = None,
    key: str | None = None,
) -> PushResult:
    """Push the judged items of a run to Argilla, to be judged by people on the same scale.

    Args:
        run: A run folder.
        metric: The name of a judged metric of the run.
        dataset: The name of the dataset. It is created if it does not exist.
        workspace: Its workspace. None selects the only one.
        sample: The sample size and method, such as `random:200`. None takes all items.
        suggestions: Whether annotators see the judge's verdicts, with reasons, findings and notes. The page is
            prefilled with the verdicts, which biases answers towards them. Leave it off to measure agreement.
        min_submitted: The number of annotators per item.
        seed: The random seed of the sample.
        url: The URL of the server. Defaults to the environment variable ARGILLA_API_URL.
        key: The API key of an owner or admin. Defaults to the environment variable ARGILLA_API_KEY.

    Returns:
        The counts of added and existing records.

    Raises:
        ArgillaError: If the server is not available or refuses, or the name is taken. Completed steps are
            kept, and the same call resumes.
        DataError: If nothing in the run was judged by the metric.
        StoreError: If the run folder cannot be used.
    """
    if min_submitted < 1:
        raise ArgillaArgumentError("min_submitted", f"expected 1 or more, got {min_submitted}")
    plan = SamplingPlan.parse(sample) if isinstance(sample, str) else sample
    folder = Path(run)
    with Store.open(folder) as store, lock_run(folder), ArgillaClient(url, key) as server:
        definition = read_judged_metric(store, metric)
        about = DatasetSettings(
            metric=metric,
            scale=definition.scale,
            suggested=suggestions,
            sample=str(plan) if plan else None,
            seed=seed,
            min_submitted=min_submitted,
            settings=hash_form(definition, suggested=suggestions),
        )
        things = [*read_judged_items(store, definition, written=suggestions)]
        if not things:
            raise DataError(f"{folder}: nothing was judged by {metric!r} there, so there is nothing to push")
        if plan:
            plan.check([build_candidate(thing) for thing in things])
        found = ensure_dataset(server, dataset, workspace, metric=definition, about=about)
        return _send_records(server, found, folder, things, plan)


def _send_records(
    server: ArgillaClient,
    dataset: ArgillaDataset,
    run: Path,
    things: Sequence[JudgedItem],
    sample: SamplingPlan | None,
) -> PushResult:
    """Draw a sample, record it in the ledger, and send the records that the server does not have."""
    about = dataset.about
    old = read_ledger(run, dataset.id)
    there = {one["external_id"] for one in server.iter_records(dataset.id)}
    new, wanted = plan_records(old, things, sample, seed=about.seed)
    if sample and not old.draws and not there <= new.planned.keys():
        reason = f"{dataset.name!r} holds a sample that was drawn elsewhere, perhaps from a copy of this run"
        raise ArgillaArgumentError("dataset", f"{reason}; push from there, or choose another name", "taken")
    if new != old:
        write_ledger(run, dataset.id, new)
    missing = wanted - there
    question = MetricQuestion(dataset.question_ids[JUDGEMENT], JUDGEMENT, about.scale)
    writer = RecordWriter(run.resolve().name, {about.metric: question}, about.suggested)
    send_batches(
        server, dataset.id, (writer.build_record(one, new.planned[one.id]) for one in things if one.id in missing)
    )
    return PushResult(
        dataset=dataset.name,
        workspace=dataset.workspace,
        page=format_page_url(server, dataset.id),
        metric=about.metric,
        suggested=about.suggested,
        sample=about.sample,
        judged=len(things),
        drawn=len(wanted),
        added=len(missing),
        known=len(wanted) - len(missing),
        changed=count_changed(new, missing),
    )


def format_page_url(server: ArgillaClient, dataset_id: str) -> str:
    """Return the URL of the page on which people annotate a dataset."""
    return f"{server.url}/dataset/{dataset_id}/annotation-mode"


def send_batches(server: ArgillaClient, dataset_id: str, records: Iterable[Json]) -> None:
    """Send records in batches. A record that is on the server is updated by what is sent of it."""
    left = iter(records)
    while batch := [*islice(left, MAX_BATCH)]:  # upsert by id, so a repeated record is harmless
        server.call("PUT", f"/datasets/{dataset_id}/records/bulk", {"items": batch})


class RecordWriter(NamedTuple):
    """Builds records: their fields, their metadata, and the verdicts if `suggested`.

    `questions` has, for each metric, the question that a verdict is suggested to.
    """

    run: str
    questions: Mapping[str, MetricQuestion]
    suggested: bool

    def build_record(self, thing: AnnotatableItem, entry: LedgerEntry) -> Json:
        """Build the record of an item."""
        judged = list_judgements(thing)
        shown = {"run": self.run, "suggested": "yes" if self.suggested else "no"}
        texts = join_texts(thing.fields)
        return {
            "external_id": thing.id,
            "fields": {**texts, **(_build_judge_field(judged) if self.suggested else {})},
            "metadata": {**_build_metadata(judged, entry), **shown},
            "suggestions": self.build_suggestions(thing) if self.suggested else [],
        }

    def build_suggestions(self, thing: AnnotatableItem) -> list[Json]:
        """Build the suggestion of each verdict: the judge's value with its confidence and the judge's name."""
        found = []
        for one in list_judgements(thing):
            question = self.questions[one.metric]
            answer = question.format_answer(one.judgement.value)
            if answer is not None:
                found.append({"question_id": question.id, "value": answer, **_describe_judge(one)})
        return found


def list_judgements(thing: AnnotatableItem) -> tuple[JudgedItem, ...]:
    """Return the item by each metric that judged it."""
    return thing.judged if isinstance(thing, RecordItem) else (thing,)


def _build_judge_field(judged: Sequence[JudgedItem]) -> dict[str, str]:
    """Return the field with the judge's reason, its findings and its notes, below the metric's name if of several."""
    lines: list[str] = []
    for one in judged:
        verdict = one.judgement
        title = [f"{one.metric}:"] if len(judged) > 1 else []
        lines += [*title, verdict.reason, *format_details(verdict.findings, verdict.notes, list_cited_items(verdict))]
    return {JUDGE_FIELD: escape_text("\n".join(lines))}


def _build_metadata(judged: Sequence[JudgedItem], entry: LedgerEntry) -> Json:
    """Build the metadata of a record. It is visible to owners and admins only, not to annotators."""
    first, *others = judged
    terms = {
        "metric": [one.metric for one in judged] if others else first.metric,
        "sample_id": first.place.sample_id,
        "method": first.place.method,
        "item": first.place.item,
        "fingerprint": [one.fingerprint for one in judged] if others else first.fingerprint,
        "content": entry.content,
        "stratum": entry.stratum,
        "tags": [shorten_text(f"{name}={value}", MAX_TERM) for name, value in first.tags.items()],
        "weight": float(entry.weight),
    }
    return {name: value for name, value in terms.items() if value not in (None, [])}


def _describe_judge(thing: JudgedItem) -> Json:
    """Return the judge's name and its confidence for a suggestion, as far as they are known."""
    agent = shorten_text(FORBIDDEN_IN_AGENT.sub("-", thing.judge), MAX_AGENT)
    confidence = thing.judgement.confidence
    return {
        **({"agent": agent} if LETTER_OR_DIGIT.search(agent) else {}),
        **({} if confidence is None else {"score": confidence}),
    }
