"""What a diagnosis can say: the causes in the order of the way from the index to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import Field

from greval.records.case import Tags
from greval.records.record import Record

Cause = Literal[
    "answered rightly",
    "not in the index",
    "entry not found",
    "not reached",
    "dropped",
    "not used",
    "judged wrong",
    "unknown",
    "not judged",
    "failed",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)
"""Every cause, in the order in which tables show them."""

LOSSES: tuple[Cause, ...] = ("not in the index", "entry not found", "not reached", "dropped")
"""Where evidence can be lost before it is in the context, the earliest first."""

MEANINGS: Mapping[Cause, str] = {
    "answered rightly": "the answer was judged right",
    "not in the index": "a document, node or edge that is needed is not in the index",
    "entry not found": "the walk began at none of the nodes that it should have begun at",
    "not reached": "neither the walk nor the search came to what is needed",
    "dropped": "the walk reached it, and fusion or a cut-off kept it out of the context",
    "not used": "all that is needed was in the context, and the answer is wrong all the same",
    "judged wrong": "the answer gives the expected answer, and the verdict is wrong",
    "unknown": "nothing is recorded that could decide it",
    "not judged": "there is no verdict on the answer",
    "failed": "the method gave no response",
}
"""Each cause in a sentence."""

Kind = Literal["document", "edge", "node", "start node"]


class Evidence(Record):
    """Something that the gold names as needed, and what became of it.

    Args:
        kind: What it is.
        name: Its name as the gold writes it; an edge is written `source -label-> target`.
        lost: Where it was lost, None where it was found.
        told: What was seen, in words that a person can check.
    """

    kind: Kind
    name: str
    lost: Cause | None = None
    told: str


class Diagnosis(Record):
    """Why an answer is as it is: one cause, the reason for it, and what it rests on.

    Args:
        sample_id: The question.
        method: The method that answered.
        metric: What told right from wrong, empty where that was given.
        cause: One of `CAUSES`.
        reason: A sentence or more that a person can check.
        evidence: All that is needed for the answer, and what became of each.
        tags: The tags of the case.
    """

    sample_id: str = ""
    method: str = ""
    metric: str = ""
    cause: Cause
    reason: str
    evidence: tuple[Evidence, ...] = ()
    tags: Tags = Field(default_factory=dict)
