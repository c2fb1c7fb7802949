"""The table of diagnoses: the number of cases of each cause by method and tag, with their ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from greval.analysis.diagnosis.causes import CAUSES, Cause, Diagnosis
from greval.records.record import Record

METHOD = "method"
NO_VALUE = "(none)"


class DiagnosisGroup(Record):
    """The cases of one method and, if grouped by tags, one value of each tag.

    Args:
        names: The values, the method first.
        cases: The ids of the samples by cause; only causes that occur.
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

    Args:
        by: What the groups are formed by: `method`, then names of tags.
        groups: The groups, sorted by their names.
        rows: Every diagnosis.
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

    def filter_by_cause(self, cause: Cause) -> tuple[Diagnosis, ...]:
        """Return the diagnoses with a cause, group by group."""
        return tuple(sorted((row for row in self.rows if row.cause == cause), key=self.list_group_names))


def tabulate(diagnoses: Iterable[Diagnosis], by: Sequence[str] = ()) -> DiagnosisTable:
    """Count diagnoses by method and tags.

    Args:
        diagnoses: The diagnoses of a run.
        by: Names of tags.

    Example:
        >>> rows = [Diagnosis(sample_id="q1", method="local", cause="dropped", reason="...", tags={"kind": "chain"})]
        >>> tabulate(rows, by=["kind"]).groups[0].counts
        {'dropped': 1}
    """
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
    """Return the group names of a diagnosis."""
    return tuple((row.method if name == METHOD else row.tags.get(name)) or NO_VALUE for name in by)
