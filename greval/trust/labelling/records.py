"""Records of a queue of items to label."""

from __future__ import annotations

from pydantic import JsonValue

from greval.records.record import Record
from greval.records.result import Judgement


class LabelItem(Record):
    """An item to label: what it is, the texts that its judge saw, and what an annotation of it must carry.

    `content` is the hash of the texts, `weight` the inverse of the probability with which the item was drawn, `stratum`
    what it was drawn from. `judgement` is the judge's, None if the queue is blind. `labels` are those of other
    annotators by name, empty unless the queue is of disagreements and not blind.
    """

    sample_id: str
    method: str
    item: str | None
    fields: dict[str, str]
    content: str
    weight: float
    stratum: str | None
    judgement: Judgement | None
    labels: dict[str, JsonValue]


class LabelQueue(Record):
    """The items that an annotator has not labelled yet, in the order of their ids' hashes.

    `titles` are the titles of the fields, `judged` counts the judged items of the run, `drawn` those of the queue,
    `labelled` those of them that the annotator has labelled, and `discarded` those of the labelled ones that the
    annotator could not judge.
    """

    metric: str
    annotator: str
    scale: dict[str, JsonValue]
    titles: dict[str, str]
    sample: str | None
    suggested: bool
    judged: int
    drawn: int
    labelled: int
    discarded: int
    items: tuple[LabelItem, ...]
