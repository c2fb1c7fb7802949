"""The scores of a run, read one row at a time into compact columns: of questions to compare, or of judged items."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import fsum
from typing import TYPE_CHECKING, Literal, NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval.errors import DataError
from greval.records.case import sort_methods
from greval.records.result import Outline, Result, read_outline
from greval.records.scale import CategoricalScale, Scale
from greval.runs.run_reader import CaseKey, ItemKey, read_known_scales, read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.reader import METRIC_VERSION
from greval.stats.summary import Grouping, NumberReader, create_number_reader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

MISSING, SCORED, SKIPPED, FAILED, WITHOUT_NUMBER = range(5)
STATES = {"skipped": SKIPPED, "failed": FAILED}
MAX_CACHED_TAGS = 4_096


class QuestionGroups:
    """The groups and clusters of questions, each with a number.

    Args:
        by: The tags whose values name a question's group.
        cluster_by: The tag whose value names a question's cluster.
    """

    def __init__(self, by: Sequence[str] = (), cluster_by: str | None = None) -> None:
        self.groups: dict[str, int] = {}
        self.clusters: dict[str, int] = {}
        self.tags: set[str] = set()
        self._grouping = Grouping(by) if by else None
        self._cluster_by = cluster_by
        # Few distinct tags occur, many times.
        self.number = lru_cache(maxsize=MAX_CACHED_TAGS)(self._number)

    def _number(self, tags: str) -> tuple[int, int]:
        """Return the numbers of the group and of the cluster that tags name; -1 for no cluster."""
        values: dict[str, str] = json.loads(tags)
        self.tags.update(values)
        name = self._grouping.name_group("", values) if self._grouping else ""
        group = self.groups.setdefault(name, len(self.groups))
        cluster = values.get(self._cluster_by) if self._cluster_by else None
        return group, self.clusters.setdefault(cluster, len(self.clusters)) if cluster else -1


class ComparisonSide(NamedTuple):
    """A method of the run (`before` is 0) or of another run by its number, such as the earlier one (1)."""

    method: str
    before: int = 0


class ScoreColumn:
    """The rows of one metric and side, from which each question has a figure and a state.

    `marks` are the fingerprints and judges of the rows, as JSON.
    """

    def __init__(self, read_number: NumberReader | None = None) -> None:
        self.marks: set[str] = set()
        self._read_number = read_number
        self._questions = array("q")
        self._means = array("d")
        self._plain_means = array("d")
        self._states = bytearray()

    def add(self, question: int, outline: str, mark: str) -> None:
        """Add a row of a question by its outline; several rows of one question count as their mean."""
        outlined = read_outline(outline)
        has_numbers = bool(outlined.numbers)
        self._questions.append(question)
        self._means.append(outlined.total / len(outlined.numbers) if has_numbers else 0.0)
        self._plain_means.append(self._compute_plain_mean(outlined) if has_numbers else 0.0)
        self._states.append(SCORED if has_numbers else STATES.get(outlined.status, WITHOUT_NUMBER))
        if outlined.status != "skipped":
            self.marks.add(mark)

    def _compute_plain_mean(self, outlined: Outline) -> float:
        """Return the mean of what the values of a row read as, which its numbers need not be if they are weighted."""
        plain = [self._read_number(value) for value in outlined.values] if self._read_number else []
        numbers = [number for number in plain if number is not None]
        is_whole = len(numbers) == len(outlined.numbers)
        return (fsum(numbers) if is_whole else outlined.total) / len(outlined.numbers)

    @classmethod
    def from_arrays(cls, values: NDArray[np.float64], states: NDArray[np.uint8]) -> ScoreColumn:
        """Build a column from the figure, 0 if it is not scored, and the state of each question."""
        column = cls()
        column._questions = array("q", range(len(states)))
        # Figures that were not read from a run are not weighted.
        column._means = column._plain_means = array("d", values.tobytes())
        column._states = bytearray(states.tobytes())
        return column

    def get_states(self, questions: int) -> NDArray[np.uint8]:
        """Return the state of each question; questions without a row are `MISSING`."""
        import numpy as np

        numbers, row_states = np.asarray(self._questions), np.frombuffer(bytes(self._states), dtype=np.uint8)
        states = np.full(max(questions, numbers.max(initial=-1) + 1), MISSING, dtype=np.uint8)
        states[numbers] = row_states
        # A figure counts, whatever rows without one come before or after it.
        states[numbers[row_states == SCORED]] = SCORED
        return states

    def get_values(self, questions: int) -> NDArray[np.float64]:
        """Return the figure of each question; 0 if it has none, see the states."""
        return self._average(self._means, questions)

    def get_plain_values(self, questions: int) -> NDArray[np.float64]:
        """Return the figures of what the values read as; others than `get_values` if numbers are weighted."""
        return self._average(self._plain_means, questions)

    def _average(self, means: array[float], questions: int) -> NDArray[np.float64]:
        import numpy as np

        scored = np.frombuffer(bytes(self._states), dtype=np.uint8) == SCORED
        numbers = np.asarray(self._questions)[scored]
        sums = np.bincount(numbers, np.asarray(means)[scored], questions)
        return sums / np.maximum(np.bincount(numbers, minlength=questions), 1)


class ScoreColumns:
    """The columns of a run, and of others, over the same questions.

    Args:
        by: The tags whose values name a question's group, joined by a middle dot.
        cluster_by: The tag whose value names a question's cluster.
    """

    def __init__(self, by: Sequence[str] = (), cluster_by: str | None = None) -> None:
        self.columns: dict[str, dict[ComparisonSide, ScoreColumn]] = {}
        self._tags = QuestionGroups(by, cluster_by)
        self.groups, self.tags = self._tags.groups, self._tags.tags
        self._is_clustered = cluster_by is not None
        self._questions: dict[str, int] = {}
        self._group_of = array("q")
        self._cluster_of = array("q")

    @classmethod
    def from_columns(
        cls, questions: Sequence[str], columns: dict[str, dict[ComparisonSide, ScoreColumn]]
    ) -> ScoreColumns:
        """Build the columns of figures that were not read from a run, by metric and side, over the same questions."""
        score_columns = cls()
        score_columns.columns = columns
        score_columns._questions = {name: number for number, name in enumerate(questions)}
        return score_columns

    def add_run(self, store: Store, *, before: int = 0) -> None:
        """Read a run into the columns of its number; only one row at a time is in memory in addition.

        Preferences are left out.
        """
        preferences = {name for name, metric in read_metrics(store).items() if metric.is_preference}
        readers = {name: create_number_reader(scale) for name, scale in read_known_scales(store).items()}
        columns = ("sample_id", "method", "metric", "tags", "outline", METRIC_VERSION)
        for sample_id, method, metric, tags, outline, mark in store.select(columns):
            # Their figures are of pairs of methods.
            if metric in preferences:
                continue
            question = self._questions.setdefault(sample_id, len(self._questions))
            if question == len(self._group_of):
                group, cluster = self._tags.number(tags)
                self._group_of.append(group)
                self._cluster_of.append(cluster)
            sides, side = self.columns.setdefault(metric, {}), ComparisonSide(method, before)
            if side not in sides:
                sides[side] = ScoreColumn(readers.get(metric))
            sides[side].add(question, outline, mark)

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self._questions)

    @property
    def questions(self) -> Sequence[str]:
        """The ids of all questions, by their numbers."""
        return tuple(self._questions)

    @property
    def sides(self) -> tuple[ComparisonSide, ...]:
        """Every method of each run, in the order of methods."""
        sides = {side for columns in self.columns.values() for side in columns}
        names = sort_methods(side.method for side in sides)
        return tuple(sorted(sides, key=lambda side: (names.index(side.method), side.before)))

    def get_groups(self) -> NDArray[np.int64]:
        """Return the number of each question's group."""
        import numpy as np

        return np.asarray(self._group_of)

    def get_clusters(self) -> NDArray[np.int64] | None:
        """Return the number of each question's cluster; a question without the tag has a negative number of its own."""
        import numpy as np

        if not self._is_clustered:
            return None
        clusters = np.asarray(self._cluster_of)
        return np.where(clusters < 0, -1 - np.arange(len(clusters)), clusters)


@dataclass
class JudgedColumns:
    """Every judged item of a metric: one entry in each column, and the indices of the requested items.

    `values` are numbers, or the indices of categories if not all categories have a score. `keys` are empty unless they
    were asked for.
    """

    scale: Scale
    values: array[float] = field(default_factory=lambda: array("d"))
    question: array[int] = field(default_factory=lambda: array("q"))
    method: array[int] = field(default_factory=lambda: array("q"))
    group: array[int] = field(default_factory=lambda: array("q"))
    places: dict[ItemKey, int] = field(default_factory=dict)
    keys: list[ItemKey] = field(default_factory=list)
    methods: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories whose shares are estimated; empty if values read as numbers."""
        if not isinstance(self.scale, CategoricalScale):
            return ()
        is_scored = all(category.score is not None for category in self.scale.categories)
        return () if is_scored else self.scale.names

    def convert_value(self, value: str | float) -> float:
        """Return a value of the scale as the number in the columns."""
        if isinstance(value, str) and value in self.categories:
            return float(self.categories.index(value))
        number = self.scale.number(value)
        if number is None:
            raise DataError(f"{value!r} does not read as a number")
        return number

    def get_verdicts(self) -> Floats:
        """Return the values as an array."""
        import numpy as np

        return np.asarray(self.values)

    def get_numbers(self, name: Literal["question", "method", "group"]) -> Integers:
        """Return the number of each item's question, method or group."""
        import numpy as np

        return np.asarray(getattr(self, name))


def read_judged_columns(
    store: Store, metric: str, *, by: Sequence[str], case_keys: Collection[CaseKey], with_keys: bool = False
) -> JudgedColumns:
    """Read the judged items of a metric, in groups by tags.

    `case_keys` are the samples and methods whose items need an index; a method may be empty if it is not known.
    `with_keys` also lists the key of every item.
    """
    scales = read_known_scales(store)
    if metric not in scales:
        raise build_unknown_name_error("metric", metric, read_metrics(store), store.folder)
    judged = JudgedColumns(scales[metric])
    groups = QuestionGroups(by)
    questions: dict[str, int] = {}
    columns = ("sample_id", "method", "tags", "outline", "row")
    for sample_id, method, tags, outline, line in store.select(columns, ResultFilter(metrics=(metric,))):
        outlined = read_outline(outline)
        judged.statuses[outlined.status] += 1
        numbers = _convert_row(judged, outlined)
        if numbers is None:
            continue
        is_indexed = (sample_id, method) in case_keys or (sample_id, "") in case_keys
        judgements = Result.model_validate_json(line).judgements if is_indexed or with_keys else ()
        judged.keys.extend((sample_id, method, judgement.item) for judgement in judgements if with_keys)
        if is_indexed:
            for n, judgement in enumerate(judgements):
                judged.places.setdefault((sample_id, method, judgement.item), len(judged.values) + n)
        judged.values.extend(numbers)
        for column, number in (
            (judged.question, questions.setdefault(sample_id, len(questions))),
            (judged.method, judged.methods.setdefault(method, len(judged.methods))),
            (judged.group, groups.number(tags)[0]),
        ):
            column.extend([number] * len(numbers))
    if not judged.values:
        raise DataError(
            f"{store.folder}: has no judgement of {metric!r}; greval report {store.folder} lists its metrics"
        )
    for tag in by:
        if tag not in groups.tags:
            raise build_unknown_name_error("tag", tag, sorted(groups.tags), store.folder)
    judged.groups = groups.groups
    return judged


def _convert_row(judged: JudgedColumns, outlined: Outline) -> Sequence[float] | None:
    """Return the judgements of a row as numbers; None if it has none, or one that the scale does not contain."""
    names = judged.categories
    if not names:
        return outlined.numbers if outlined.numbers and len(outlined.numbers) == len(outlined.values) else None
    if not outlined.values or not set(outlined.values) <= set(names):
        return None
    return [float(names.index(value)) for value in outlined.values]
