"""Pull: convert the responses to a dataset's records into annotations of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from greval.errors import ArgillaError
from greval.records.annotation import Annotation
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.runs.run_reader import ItemKey
from greval.runs.store import Store
from greval.trust.annotations.files import ANNOTATIONS_FILE
from greval.trust.annotations.judged_items import ItemRef, build_item_id, hash_contents
from greval.trust.argilla.client import FORBIDDEN, ArgillaClient
from greval.trust.argilla.dataset import ArgillaDataset, find_dataset
from greval.trust.argilla.form import COMMENT, JUDGE_FIELD, JUDGEMENT, Json
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
from greval.trust.argilla.questions import MetricQuestion
from greval.trust.argilla.sides import split_texts


class PullResult(Record):
    """The result of a pull.

    `unanswered` counts records without a submitted answer. `edited` counts records that were changed in
    Argilla after the push; their answers are left out of agreement. `unknown` counts records that greval did
    not push; their answers are left out. `gone` counts, by annotator, the answers of an earlier pull that the
    server no longer has; they are kept in `gone_path`. `outdated` counts answers to content that the run has
    changed since; they are kept only in `outdated_path`.
    """

    dataset: str
    workspace: str
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


def pull_from_argilla(
    run: Path | str, *, dataset: str, workspace: str | None = None, url: str | None = None, key: str | None = None
) -> PullResult:
    """Pull annotations into `annotations.jsonl` of the run folder, replacing those pulled from this dataset before.

    Args:
        run: A run folder.
        dataset: The name of a dataset created by `push`.
        workspace: Its workspace. None selects the only one.
        url: The URL of the server. Defaults to the environment variable ARGILLA_API_URL.
        key: The API key of an owner or admin. Defaults to the environment variable ARGILLA_API_KEY.

    Returns:
        The counts of pulled answers, by annotator and status.

    Raises:
        ArgillaError: If the server is not available or refuses, or the dataset does not exist. The file is unchanged.
        StoreError: If the run folder cannot be used.
        DataError: If the file cannot be written, or contains invalid rows.
    """
    folder = Path(run)
    with Store.open(folder) as store, lock_run(folder), ArgillaClient(url, key) as server:
        found = find_dataset(server, dataset, workspace)
        ledger = read_ledger(folder, found.id)
        now = hash_contents(store, found.about.metric)
        reading = ResponseReader(found, ledger, contents=now, users=read_usernames(server, found.workspace))
        rows = [*reading.iter_annotations(server.iter_records(found.id, "responses"))]
        gone = replace_annotations(folder, found.id, ledger, rows=rows, outdated=reading.outdated)
    return PullResult(
        dataset=found.name,
        workspace=found.workspace,
        path=str(folder / ANNOTATIONS_FILE),
        records=reading.records,
        annotators=tuple(reading.iter_counts()),
        unanswered=reading.unanswered,
        edited=reading.edited,
        unknown=reading.unknown,
        gone=dict(gone),
        gone_path=str(get_excluded_path(folder, found.id, GONE)),
        outdated=len(reading.outdated),
        outdated_path=str(get_excluded_path(folder, found.id, OUTDATED)),
    )


def read_usernames(server: ArgillaClient, workspace: str) -> dict[str, str]:
    """Map user ids to names: all users for an owner, those of the workspace for an admin."""
    try:
        users = server.list_items("/users")
    except ArgillaError as error:
        if error.status != FORBIDDEN:
            raise
        ids = {one["name"]: one["id"] for one in server.list_items("/me/workspaces")}
        users = server.list_items(f"/workspaces/{ids[workspace]}/users")
    return {one["id"]: one["username"] for one in users}


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
            texts = split_texts(record["fields"])
            content = hash_json({name: text for name, text in texts.items() if name != JUDGE_FIELD})
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
        """Parse one response as an annotation of the dataset's metric."""
        about = self.dataset.about
        question = MetricQuestion("", JUDGEMENT, about.scale, COMMENT)
        reader = QuestionReader(about.metric, question, self.users)
        return reader.parse_response(response, entry, content, suggested=about.suggested)

    def _find_entry(self, record: Json) -> LedgerEntry | None:
        return find_entry(record, self.ledger, self.dataset.about.metric)


class QuestionReader(NamedTuple):
    """Reads the answers to the question of one metric as annotations; `users` has the names of annotators by id."""

    metric: str
    question: MetricQuestion
    users: Mapping[str, str]

    def parse_response(self, response: Json, entry: LedgerEntry, content: str | None, *, suggested: bool) -> Annotation:
        """Parse one response. A discarded response may have an empty form or no form at all."""
        user = str(response.get("user_id"))
        values = {name: (one or {}).get("value") for name, one in (response.get("values") or {}).items()}
        return Annotation(
            sample_id=entry.place.sample_id,
            method=entry.place.method,
            metric=self.metric,
            item=entry.place.item,
            annotator=self.users.get(user, user),
            status=response["status"],
            value=self.question.parse_answer(values.get(self.question.name)),
            comment=values.get(self.question.comment) or None,
            content=content,
            weight=entry.weight,
            stratum=entry.stratum,
            suggested=suggested,
        )


def find_entry(record: Json, ledger: Ledger, *names: str) -> LedgerEntry | None:
    """Find what was pushed under a record's id, in the ledger or else in the record's own metadata.

    `names` are the metrics that the id may be of. The result is None if greval did not push the record.
    """
    known = ledger.planned.get(record["external_id"] or "")
    if known:
        return known
    meta = record.get("metadata") or {}
    try:
        place = ItemRef(sample_id=meta["sample_id"], method=meta.get("method", ""), item=meta.get("item"))
        entry = LedgerEntry(place=place, content=meta["content"], weight=meta["weight"], stratum=meta.get("stratum"))
    except (KeyError, ValidationError):
        return None
    whole = {build_item_id(name, place, entry.content) for name in names}
    return entry if record["external_id"] in whole else None
