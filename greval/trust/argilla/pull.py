"""Pull: convert the responses to a dataset's records into annotations, also of datasets that greval did not create."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from greval._util.arguments import resolve_run_folder
from greval.errors import ArgillaArgumentError, ArgillaError
from greval.records.annotation import Annotation
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.runs.run_reader import ItemKey, read_judged_metric, read_metrics
from greval.runs.store import Store
from greval.trust.annotations.files import ANNOTATIONS_FILE
from greval.trust.annotations.judged_items import ItemRef, hash_contents
from greval.trust.annotations.rendering import list_titles
from greval.trust.argilla.client import FORBIDDEN, ArgillaClient
from greval.trust.argilla.dataset import ArgillaDataset, find_dataset
from greval.trust.argilla.form import JUDGE_FIELD, Json, hash_shown_texts, name_question, split_texts
from greval.trust.argilla.ledger import (
    GONE,
    OUTDATED,
    Ledger,
    LedgerEntry,
    get_excluded_path,
    lock_run,
    read_ledger,
    replace_annotations,
)
from greval.trust.argilla.questions import find_questions
from greval.trust.argilla.record_items import find_entry, locate_record

if TYPE_CHECKING:
    from greval.runs.evaluation import Run


class AnnotatorCounts(Record):
    """The answers of one annotator by status. `pending` counts the records without an answer."""

    annotator: str
    submitted: int = 0
    draft: int = 0
    discarded: int = 0
    pending: int = 0


class PullResult(Record):
    """The result of a pull.

    `unanswered` counts records without a submitted answer. `edited` counts records that were changed in Argilla after
    the push; their answers are left out of agreement. `unknown` counts records that greval did not push and that name
    no item of the run; their answers are left out. `gone` counts, by annotator, the answers of an earlier pull that
    the server no longer has; they are kept in `gone_path`. `outdated` counts answers to content that the run has
    changed since; they are kept only in `outdated_path`.
    """

    dataset: str
    workspace: str
    metrics: tuple[str, ...]
    path: str
    records: int
    annotators: tuple[AnnotatorCounts, ...] = ()
    unanswered: int = 0
    edited: int = 0
    unknown: int = 0
    gone: dict[str, int] = Field(default_factory=dict)
    gone_path: str
    outdated: int = 0
    outdated_path: str


def pull_from_argilla(  # noqa: PLR0913 - the options of a pull
    run: str | Path | Run,
    *,
    dataset: str,
    metrics: str | Iterable[str] | None = None,
    workspace: str | None = None,
    questions: Mapping[str, str] | None = None,
    url: str | None = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> PullResult:
    """Pull annotations into `annotations.jsonl` of the run folder, replacing those pulled from this dataset before.

    Records that greval did not push name their items with the metadata `sample_id`, `method` and `item`, or else the
    id of the record is that of the sample.

    Args:
        run: The run, or its folder.
        dataset: The name of the dataset.
        metrics: The names of one or several judged metrics of the run. By default all after which a question of the
            dataset is named.
        workspace: The workspace of the dataset. None selects the only one.
        questions: The name of the question for a metric, if it is neither that of the metric nor the only one with its
            labels.
        url: The URL of the server. Defaults to the environment variable ARGILLA_API_URL.
        key: The API key of an owner or admin. Defaults to the environment variable ARGILLA_API_KEY.
        headers: Further headers of each request, such as those that a proxy before Argilla asks for.

    Returns:
        The counts of pulled answers, by annotator and status.

    Raises:
        ArgillaError: If the server is not available or refuses, the dataset does not exist, or a metric has no
            question in it. The file is unchanged.
        StoreError: If the run folder cannot be used.
        DataError: If the file cannot be written, or contains invalid rows.
    """
    folder = resolve_run_folder(run)
    names = [metrics] if isinstance(metrics, str) else metrics
    with ArgillaClient(url, key, headers=headers) as server, Store.open(folder) as store, lock_run(folder):
        source = find_dataset(server, dataset, workspace)
        definitions = (
            _find_asked_metrics(store, source)
            if names is None
            else [read_judged_metric(store, name) for name in dict.fromkeys(names)]
        )
        ledger = read_ledger(folder, source.id)
        contents = {metric.name: hash_contents(store, metric.name) for metric in definitions}
        reader = ResponseReader(server, source, definitions, ledger, questions=questions, contents=contents)
        rows = [*reader.iter_annotations()]
        removed_counts = replace_annotations(folder, source.id, ledger, rows=rows, outdated=reader.outdated)
    return PullResult(
        dataset=source.name,
        workspace=source.workspace,
        metrics=tuple(metric.name for metric in definitions),
        path=str(folder / ANNOTATIONS_FILE),
        records=reader.records,
        annotators=tuple(reader.iter_counts()),
        unanswered=reader.unanswered,
        edited=reader.edited,
        unknown=reader.unknown,
        gone=dict(removed_counts),
        gone_path=str(get_excluded_path(folder, source.id, GONE)),
        outdated=len(reader.outdated),
        outdated_path=str(get_excluded_path(folder, source.id, OUTDATED)),
    )


def _find_asked_metrics(store: Store, dataset: ArgillaDataset) -> list[JudgedMetric]:
    """Find the judged metrics of a run after which questions of a dataset are named."""
    question_names = {question["name"] for question in dataset.questions}
    judged = [metric.judged for metric in read_metrics(store).values() if metric.judged]
    metrics = [metric for metric in judged if name_question(metric.name) in question_names]
    if not metrics:
        reason = f"{dataset.name!r} has no question named after a judged metric of {store.folder}"
        names = f"judged metrics: {', '.join(metric.name for metric in judged) or 'none'}"
        raise ArgillaArgumentError("dataset", f"{reason} ({names}); name the metrics whose labels it asks for")
    return metrics


class ResponseReader:
    """Converts the responses to a dataset's records into annotations and counts them.

    `contents` has for each metric the hash of what its judge was shown of each item of the run now. If it is given,
    answers to other content are collected in `outdated`, and records of other items are only counted.
    """

    def __init__(
        self,
        server: ArgillaClient,
        dataset: ArgillaDataset,
        metrics: Sequence[JudgedMetric],
        ledger: Ledger,
        *,
        questions: Mapping[str, str] | None = None,
        contents: Mapping[str, Mapping[ItemKey, str]] | None = None,
    ) -> None:
        self._server, self._dataset, self._ledger, self._contents = server, dataset, ledger, contents
        self._questions = find_questions(metrics, dataset.questions, questions)
        self._fields = {metric.name: frozenset(list_titles(metric)) for metric in metrics}
        self._users = _read_usernames(server, dataset.workspace)
        self._items = {key for hashes in (contents or {}).values() for key in hashes}
        self._methods = {method for _, method, _ in self._items}
        self.outdated: list[Annotation] = []
        self.counts: dict[str, Counter[str]] = {}
        self.records = self.unanswered = self.edited = self.unknown = 0

    def iter_annotations(self) -> Iterator[Annotation]:
        """Yield every person's answers to the questions of the metrics, with their statuses.

        A submitted response without an answer to a question that may be left out is no annotation.
        """
        for record in self._server.iter_records(self._dataset.id, "responses", "suggestions"):
            entry = find_entry(record, self._ledger)
            ref = entry.place if entry else locate_record(record, self._methods)
            if entry is None and self._contents is not None and ref.item_key not in self._items:
                self.unknown += 1
                continue
            shown_hashes = self._hash_shown(record) if entry else {}
            is_edited = entry is not None and hash_shown_texts(split_texts(record["fields"])) != entry.content
            changed = set() if is_edited else self._find_changed(ref, shown_hashes)
            responses = record.get("responses") or ()
            for metric in self._questions:
                rows = self._parse_responses(metric, record, entry or LedgerEntry(place=ref, content=""), shown_hashes)
                if metric in changed:
                    self.outdated += rows
                else:
                    yield from rows
            if len(changed) < len(self._questions):
                self._count(responses, is_edited=is_edited)

    def iter_counts(self) -> Iterator[AnnotatorCounts]:
        """Yield the counts of each annotator."""
        for name, count in sorted(self.counts.items()):
            yield AnnotatorCounts(annotator=name, **count, pending=self.records - count.total())

    def _hash_shown(self, record: Json) -> dict[str, str]:
        """Return for each metric the hash of the fields that its judge saw, as they are in the record now."""
        texts = split_texts(record["fields"])
        return {
            metric: hash_json({name: text for name, text in texts.items() if name in fields})
            for metric, fields in self._fields.items()
        }

    def _find_changed(self, ref: ItemRef, shown_hashes: Mapping[str, str]) -> set[str]:
        """Return the metrics whose judge was shown something else since the push."""
        now = {metric: hashes.get(ref.item_key) for metric, hashes in (self._contents or {}).items()}
        return {metric for metric, content in shown_hashes.items() if now.get(metric) not in {None, content}}

    def _parse_responses(
        self, metric: str, record: Json, entry: LedgerEntry, shown_hashes: Mapping[str, str]
    ) -> Iterator[Annotation]:
        """Yield the answers to the question of a metric."""
        question = self._questions[metric]
        suggested = {str(suggestion["question_id"]) for suggestion in record.get("suggestions") or ()}
        for response in record.get("responses") or ():
            # A discarded response may have no values, or an answer that is null.
            values = {name: (answer or {}).get("value") for name, answer in (response.get("values") or {}).items()}
            value = question.parse_answer(values.get(question.name))
            if value is None and response["status"] == "submitted":
                continue
            yield Annotation(
                sample_id=entry.place.sample_id,
                method=entry.place.method,
                metric=metric,
                item=entry.place.item,
                annotator=self._get_username(response),
                status=response["status"],
                value=value,
                comment=values.get(question.comment) or None,
                content=shown_hashes.get(metric),
                weight=entry.weight,
                stratum=entry.stratum,
                suggested=question.id in suggested or bool(record["fields"].get(JUDGE_FIELD)),
            )

    def _count(self, responses: Iterable[Json], *, is_edited: bool) -> None:
        """Count a record whose answers are annotations."""
        self.records += 1
        self.edited += is_edited
        self.unanswered += all(response["status"] != "submitted" for response in responses)
        for response in responses:
            self.counts.setdefault(self._get_username(response), Counter())[response["status"]] += 1

    def _get_username(self, response: Json) -> str:
        user = str(response.get("user_id"))
        return self._users.get(user, user)


def _read_usernames(server: ArgillaClient, workspace: str) -> dict[str, str]:
    """Map user ids to names: all users for an owner, those of the workspace for an admin."""
    try:
        users = server.list_items("/users")
    except ArgillaError as error:
        # Only an owner may list all users.
        if error.status != FORBIDDEN:
            raise
        ids = {item["name"]: item["id"] for item in server.list_items("/me/workspaces")}
        users = server.list_items(f"/workspaces/{ids[workspace]}/users")
    return {user["id"]: user["username"] for user in users}
