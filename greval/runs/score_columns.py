"""The scores of a run by metric, method and question, read one row at a time into compact columns."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from greval.records.result import read_outline
from greval.runs.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MISSING, SCORED, SKIPPED, FAILED, WITHOUT_NUMBER = range(5)
STATES = {"skipped": SKIPPED, "failed": FAILED}
NO_VALUE = "(none)"
MAX_CACHED_TAGS = 4_096


class ComparisonSide(NamedTuple):
    """A method of the run (`before` is false) or of the earlier run that it is compared with."""

    method: str
    before: bool = False


class ScoreColumn:
    """The column of one metric and side: the sum, the number of rows and the state of each question."""

    def __init__(self) -> None:
        self._sums = array("d")
        self._counts = array("q")
        self._states = bytearray()
        self.marks: set[str] = set()
        """The fingerprints and judges of the rows, as JSON."""

    def add(self, question: int, outline: str, mark: str) -> None:
        """Add a row of a question by its outline; several rows of one question count as their mean."""
        if question >= len(self._states):
            more = question + 1 - len(self._states)
            self._sums.frombytes(bytes(8 * more))
            self._counts.frombytes(bytes(8 * more))
            self._states.extend(bytes(more))
        found = read_outline(outline)
        if found.numbers:
            self._sums[question] += found.total / len(found.numbers)
            self._counts[question] += 1
            self._states[question] = SCORED
        elif not self._counts[question]:
            self._states[question] = STATES.get(found.status, WITHOUT_NUMBER)
        if found.status != "skipped":
            self.marks.add(mark)

    def get_states(self, questions: int) -> NDArray[np.uint8]:
        """Return the state of each question; questions without a row are `MISSING`."""
        import numpy as np

        return np.frombuffer(bytes(self._states).ljust(questions, b"\0"), dtype=np.uint8)

    def get_values(self, questions: int) -> NDArray[np.float64]:
        """Return the figure of each question; 0 if it has none, see the states."""
        import numpy as np

        found = np.zeros(questions)
        counts = np.asarray(self._counts)
        found[: len(counts)] = np.asarray(self._sums) / np.maximum(counts, 1)
        return found


class ScoreColumns:
    """The columns of a run, and of an earlier one, over the same questions.

    Args:
        by: The tags whose values name a question's group, joined by a middle dot.
        cluster_by: The tag whose value names a question's cluster.
    """

    def __init__(self, by: Sequence[str] = (), cluster_by: str | None = None) -> None:
        self.columns: dict[str, dict[ComparisonSide, ScoreColumn]] = {}
        self.groups: dict[str, int] = {}
        self.clusters: dict[str, int] = {}
        self.tags: set[str] = set()
        self._by = tuple(by)
        self._cluster_by = cluster_by
        self._questions: dict[str, int] = {}
        self._group_of = array("q")
        self._cluster_of = array("q")

    def add_run(self, store: Store, *, before: bool = False) -> None:
        """Read a run into the columns; only one row at a time is in memory in addition."""
        placed = lru_cache(maxsize=MAX_CACHED_TAGS)(self._number_tags)  # few distinct tags occur, many times
        for sample_id, method, metric, tags, outline, mark in store.scores():
            question = self._questions.setdefault(sample_id, len(self._questions))
            if question == len(self._group_of):
                group, cluster = placed(tags)
                self._group_of.append(group)
                self._cluster_of.append(cluster)
            column = self.columns.setdefault(metric, {}).setdefault(ComparisonSide(method, before), ScoreColumn())
            column.add(question, outline, mark)

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self._questions)

    @property
    def questions(self) -> Sequence[str]:
        """The ids of all questions, by their numbers."""
        return tuple(self._questions)

    @property
    def sides(self) -> tuple[ComparisonSide, ...]:
        """Every method of either run, in the order of its first row."""
        return tuple(dict.fromkeys(side for columns in self.columns.values() for side in columns))

    def get_groups(self) -> NDArray[np.int64]:
        """Return the number of each question's group."""
        import numpy as np

        return np.asarray(self._group_of)

    def get_clusters(self) -> NDArray[np.int64] | None:
        """Return the number of each question's cluster; a question without the tag has a negative number of its own."""
        import numpy as np

        if self._cluster_by is None:
            return None
        found = np.asarray(self._cluster_of)
        return np.where(found < 0, -1 - np.arange(len(found)), found)

    def _number_tags(self, tags: str) -> tuple[int, int]:
        """Return the numbers of the group and of the cluster that tags name; -1 for no cluster."""
        told: dict[str, str] = json.loads(tags)
        self.tags.update(told)
        name = " · ".join(told.get(tag) or NO_VALUE for tag in self._by)
        group = self.groups.setdefault(name, len(self.groups))
        cluster = told.get(self._cluster_by) if self._cluster_by else None
        return group, self.clusters.setdefault(cluster, len(self.clusters)) if cluster else -1
