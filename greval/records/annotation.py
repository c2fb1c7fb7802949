"""Annotations: a person's judgement of one item, the counterpart of a judge's `Judgement`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greval.records.record import Record
from greval.records.scale import Value

AnnotationStatus = Literal["submitted", "draft", "discarded", "pending"]
"""The state of an annotation. Only submitted ones count as judgements."""


class Annotation(Record):
    """A person's judgement of an answer, a chunk or a triple.

    `sample_id`, `method`, `metric` and `item` identify what was judged; `item` is the id of a chunk or
    triple. `content` is the hash of the text that the person was shown. If it differs from the hash of
    the judged text, annotation and judgement must not be compared. `weight` is the inverse of the
    probability with which the item was sampled for annotation (1 if all items were taken), `stratum` the
    stratum that it was sampled from. `suggested` is true if the person saw the judge's verdict.

    Example:
        >>> Annotation(sample_id="q1", metric="tone", annotator="ana", value="Polite").status
        'submitted'
    """

    sample_id: str
    method: str = ""
    metric: str
    item: str | None = None
    annotator: str
    status: AnnotationStatus = "submitted"
    value: Value | None = None
    comment: str | None = None
    content: str | None = None
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    stratum: str | None = None
    suggested: bool = False
