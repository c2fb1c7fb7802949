"""The causes that a diagnosis can find, in the order of the steps from the index to the answer."""

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
"""Every cause, in the order of the tables."""

LOSSES: tuple[Cause, ...] = ("not in the index", "entry not found", "not reached", "dropped")
"""The steps at which evidence can be lost before it is in the context, earliest first."""

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

EvidenceKind = Literal["document", "edge", "node", "start node"]


class Evidence(Record):
    """A document, edge or node that the gold names as needed, and the step at which it was lost.

    Args:
        kind: The kind of evidence.
        name: Its name as the gold writes it; an edge is written `source -label-> target`.
        lost: The step at which it was lost, None if it was found.
        told: The observation as text that a person can check.
    """

    kind: EvidenceKind
    name: str
    lost: Cause | None = None
    told: str


class Diagnosis(Record):
    """The diagnosis of an answer: one cause, the reason for it, and the evidence.

    Args:
        sample_id: The question.
        method: The method that answered.
        metric: The metric that decided whether the answer is correct, empty if the caller decided.
        cause: One of `CAUSES`.
        reason: One or more sentences that a person can check.
        evidence: Everything that the answer needs, each with the step at which it was lost.
        tags: The tags of the case.
    """

    sample_id: str = ""
    method: str = ""
    metric: str = ""
    cause: Cause
    reason: str
    evidence: tuple[Evidence, ...] = ()
    tags: Tags = Field(default_factory=dict)
