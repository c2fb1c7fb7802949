"""Pull annotations from any dataset that asks for the values of metrics, over REST: the SDK loses some statuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from greval.records.annotation import Annotation
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.trust.annotations.rendering import list_titles
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset_push import locate_record
from greval.trust.argilla.form import Json
from greval.trust.argilla.ledger import Ledger, LedgerEntry
from greval.trust.argilla.pull import QuestionReader, find_entry, read_usernames
from greval.trust.argilla.questions import find_questions
from greval.trust.argilla.record_items import ANY_METRIC
from greval.trust.argilla.sides import split_texts


def pull_annotations(
    server: ArgillaClient,
    dataset_id: str,
    metrics: Sequence[JudgedMetric],
    *,
    ledger: Ledger,
    chosen: Mapping[str, str] | None = None,
) -> Iterator[Annotation]:
    """Yield every person's answers to the questions of the metrics, with their statuses.

    A submitted response without an answer to a question that may be left out is no annotation. The text that people
    saw is known of records that greval pushed; of others the ids alone decide what was judged.

    Raises:
        ArgillaError: If the server is not available or refuses, or a metric has no question.
    """
    questions = find_questions(metrics, server.list_items(f"/datasets/{dataset_id}/questions"), chosen)
    workspace_id = server.get(f"/datasets/{dataset_id}")["workspace_id"]
    workspaces = {one["id"]: one["name"] for one in server.list_items("/me/workspaces")}
    users = read_usernames(server, workspaces.get(workspace_id, ""))
    for record in server.iter_records(dataset_id, "responses", "suggestions"):
        suggested = {str(one["question_id"]) for one in record.get("suggestions") or ()}
        for metric in metrics:
            question = questions[metric.name]
            reader = QuestionReader(metric.name, question, users)
            entry = find_entry(record, ledger, ANY_METRIC, metric.name)
            content = None if entry is None else _hash_shown(metric, record)
            place = entry or LedgerEntry(place=locate_record(record), content="")
            for response in record.get("responses") or ():
                row = reader.parse_response(response, place, content, suggested=question.id in suggested)
                if row.value is not None or row.status != "submitted":
                    yield row


def _hash_shown(metric: JudgedMetric, record: Json) -> str:
    """Return the hash of the fields that a metric's judge saw, as they are in the record now."""
    fields = split_texts(record["fields"])
    return hash_json({name: fields[name] for name in list_titles(metric) if name in fields})
