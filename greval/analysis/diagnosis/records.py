"""The result of a diagnosis: the causes, the evidence for them, and the table of how often each cause occurs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from pydantic import Field

from greval.records.case import Tags
from greval.records.record import Record
from greval.stats.summary import METHOD, NO_VALUE

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

WRONG: tuple[Cause, ...] = (*LOSSES, "not used", "unknown")
"""The causes of wrong answers."""

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

    `name` is written as in the gold, an edge as `source -label-> target`. `lost` is None if it was found. `told` is
    the observation as text that a person can check.
    """

    kind: EvidenceKind
    name: str
    lost: Cause | None = None
    told: str


class Diagnosis(Record):
    """The diagnosis of an answer: one cause, the reason for it, and the evidence.

    `metric` decided whether the answer is correct; it is empty if the caller decided. `reason` is one or more
    sentences that a person can check. `evidence` is everything that the answer needs, each with the step at which it
    was lost.
    """

    sample_id: str = ""
    method: str = ""
    metric: str = ""
    cause: Cause
    reason: str
    evidence: tuple[Evidence, ...] = ()
    tags: Tags = Field(default_factory=dict)


class DiagnosisGroup(Record):
    """The cases of one method and, if grouped by tags, one value of each tag.

    `names` are the values, the method first. `cases` are the ids of the samples by cause; only causes that occur.
    """

    names: tuple[str, ...]
    cases: dict[Cause, tuple[str, ...]]

    @property
    def counts(self) -> dict[Cause, int]:
        """The number of cases of each cause."""
        return {cause: len(ids) for cause, ids in self.cases.items()}

    @property
    def total(self) -> int:
        """The number of cases in the group."""
        return sum(self.counts.values())


class DiagnosisTable(Record):
    """The diagnoses of a run, counted by group.

    The groups are formed by `by`, which is `method` and then names of tags, and sorted by their names.
    """

    by: tuple[str, ...]
    groups: tuple[DiagnosisGroup, ...]
    rows: tuple[Diagnosis, ...]

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes that occur, in the order of `CAUSES`."""
        return tuple(cause for cause in CAUSES if any(cause in group.cases for group in self.groups))

    def list_group_names(self, row: Diagnosis) -> tuple[str, ...]:
        """Return the names of the group to which a diagnosis belongs."""
        return _list_names(row, self.by)

    def select_causes(self, causes: Sequence[Cause]) -> DiagnosisTable:
        """Return the table with the diagnoses of some causes, or all if none are given; the counts stay unchanged."""
        rows = tuple(row for row in self.rows if not causes or row.cause in causes)
        return self.model_copy(update={"rows": rows})

    def filter_by_cause(self, cause: Cause) -> tuple[Diagnosis, ...]:
        """Return the diagnoses with a cause, group by group."""
        return tuple(sorted((row for row in self.rows if row.cause == cause), key=self.list_group_names))


def tabulate(diagnoses: Iterable[Diagnosis], by: Sequence[str] = ()) -> DiagnosisTable:
    """Count diagnoses by method and tags."""
    rows = tuple(diagnoses)
    names = (METHOD, *(name for name in dict.fromkeys(by) if name != METHOD))
    ids: dict[tuple[str, ...], dict[Cause, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        ids[_list_names(row, names)][row.cause].append(row.sample_id)
    groups = (
        DiagnosisGroup(names=group, cases={cause: tuple(of[cause]) for cause in CAUSES if cause in of})
        for group, of in sorted(ids.items())
    )
    return DiagnosisTable(by=names, groups=tuple(groups), rows=rows)


def _list_names(row: Diagnosis, by: Sequence[str]) -> tuple[str, ...]:
    return tuple((row.method if name == METHOD else row.tags.get(name)) or NO_VALUE for name in by)
