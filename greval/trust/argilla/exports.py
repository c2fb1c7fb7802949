"""Records of a dataset as Argilla's SDK exports them: `to_json`, `to_list`, and `to_datasets` saved as a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from greval.trust.argilla.form import ITEM_FIELD, hash_shown_texts, name_comment, name_question, split_texts

NESTED = frozenset({"fields", "metadata", "responses"})
"""The parts of a record in `to_json` and `to_list`."""
SERVER_ID = "_server_id"
JUDGEMENT, COMMENT = "judgement", "comment"
"""The questions of data sets with one metric that people build themselves, or that were pushed by a client of REST."""
ANSWERS = ".responses"
"""The end of the name under which `to_list(flatten=True)` and `to_datasets` have the answers to a question."""


ExportedAnswer = tuple[str, object, str | None]
"""A person's answer to a question of a record: user, value, and the status, None if the export does not have it."""


class ExportedRecord(NamedTuple):
    """A record: what its item is, the texts that people were shown, and the answers to each question."""

    id: object
    metadata: Mapping[str, object]
    texts: Mapping[str, object]
    answers: Mapping[str, tuple[ExportedAnswer, ...]]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that the record was pushed for; none if greval did not push it."""
        names = self.metadata.get("metric")
        return tuple(map(str, names)) if isinstance(names, list | tuple) else () if names is None else (str(names),)

    @property
    def content(self) -> str | None:
        """The hash of what people were shown, None if it is not known.

        A record of several metrics has the texts of all. What each judge was shown is not known then, unless somebody
        edited the record: its hash is no judge's.
        """
        pushed = self.metadata.get("content")
        current = hash_shown_texts(split_texts(self.texts))
        return None if pushed is None or (len(self.metrics) > 1 and pushed == current) else current


def is_record_export(names: Collection[str]) -> bool:
    """Return whether a file with these columns, or names in its JSON objects, holds records of Argilla."""
    return NESTED.issubset(names) or SERVER_ID in names or any(f"{name}.users" in names for name in names)


def parse_record(row: Mapping[str, object]) -> ExportedRecord | str:
    """Parse a record, nested or flat, or return why it cannot be parsed."""
    if NESTED.issubset(row):
        parts = {name: content if isinstance(content := row[name], Mapping) else {} for name in NESTED}
        metadata, texts = parts["metadata"], parts["fields"]
        answers = {str(name): _parse_nested(listed) for name, listed in parts["responses"].items()}
    else:
        metadata = texts = row
        names = [name for name in row if name.endswith(ANSWERS)]
        # Lists have many forms in CSV, and none is read reliably.
        if texts_of_lists := [name for name in names if isinstance(row[name], str)]:
            return f"{texts_of_lists[0]}: expected a list, got a text; save the export as JSON, JSON lines or Parquet"
        answers = {name.removesuffix(ANSWERS): _parse_flat(row, name) for name in names}
    item_texts = {name: text for name, text in texts.items() if ITEM_FIELD.fullmatch(name) and isinstance(text, str)}
    return ExportedRecord(row.get("id"), metadata, item_texts, answers)


def iterate_annotations(
    record: ExportedRecord, metric: str | None, questions: Collection[str] = ()
) -> Iterator[dict[str, object]]:
    """Yield the fields of an annotation for each answer to the question of a metric.

    The question of a metric is named after it, or `judgement` in a data set of one metric. A submitted response without
    an answer is no annotation. If the export does not have the status of an answer, the annotation has none either.
    `metric` is that of records that do not name one, and of `questions`, which are called otherwise.
    """
    alone = record.metrics[0] if len(record.metrics) == 1 else metric
    metric_of_question = {JUDGEMENT: alone} | dict.fromkeys(questions, metric or alone)
    metric_of_question |= {name_question(name): name for name in (*record.metrics, metric) if name is not None}
    meta = record.metadata
    shared = {
        "sample_id": meta.get("sample_id") or record.id,
        **{name: meta[name] for name in ("method", "item", "weight", "stratum") if meta.get(name) is not None},
        "content": record.content,
        "suggested": meta.get("suggested") == "yes",
    }
    for question, answers in record.answers.items():
        name = metric_of_question.get(question)
        if name is None:
            continue
        comment_question = COMMENT if question == JUDGEMENT else name_comment(name)
        comments = {user: comment for user, comment, _ in record.answers.get(comment_question, ())}
        for user, value, status in answers:
            if value is not None or status not in {None, "submitted"}:
                row = {**shared, "metric": name, "annotator": user, "value": value, "comment": comments.get(user)}
                yield row if status is None else {**row, "status": status}


def _parse_nested(listed: object) -> tuple[ExportedAnswer, ...]:
    answers = [answer for answer in listed if isinstance(answer, Mapping)] if isinstance(listed, list | tuple) else []
    return tuple((str(answer.get("user_id")), answer.get("value"), answer.get("status")) for answer in answers)


def _parse_flat(row: Mapping[str, object], name: str) -> tuple[ExportedAnswer, ...]:
    """Parse the lists of answers, annotators and statuses, of which an answer is an entry each."""
    values, users, statuses = (
        part if isinstance(part := row.get(column), list | tuple) else ()
        for column in (name, f"{name}.users", f"{name}.status")
    )
    return tuple(
        (str(user), value, statuses[index] if index < len(statuses) else None)
        for index, (value, user) in enumerate(zip(values, users, strict=False))
    )
