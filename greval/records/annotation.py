"""Annotations: what a person said of one judged thing, the same thing that a judgement is of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greval.records.record import Record
from greval.records.scale import Value

AnnotationStatus = Literal["submitted", "draft", "discarded", "pending"]
"""How far a person came: only what was submitted counts as a judgement."""


class Annotation(Record):
    """A person's judgement of an answer, a chunk or a triple.

    `sample_id`, `method`, `metric` and `item` name the thing that was judged, `item` being the id of
    a chunk or triple. `content` is the hash of what the person was shown: where it differs from what
    was judged, the two are not of the same thing. `weight` is the inverse of the probability with
    which the thing was drawn for annotation (1 where all were), `stratum` the part of the things it
    was drawn from. `suggested` tells that the person saw the judge's verdict.

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
