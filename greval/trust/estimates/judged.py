"""The judged items of a run on one metric, read one row at a time into compact columns."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval.errors import DataError
from greval.records.result import Outline, Result, read_outline
from greval.records.scale import CategoricalScale, Scale
from greval.runs.run_reader import read_known_scales, read_metrics
from greval.runs.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

NO_VALUE = "(none)"


class JudgedItemKey(NamedTuple):
    """The key of a judged item: an answer, or one chunk or triple of it."""

    sample_id: str
    method: str
    item: str | None = None


@dataclass
class JudgedColumns:
    """Every judged item of a metric: one entry in each column, and the indices of the requested items.

    `values` are numbers, or the indices of categories if not all categories have a score.
    """

    scale: Scale
    values: array[float] = field(default_factory=lambda: array("d"))
    question: array[int] = field(default_factory=lambda: array("q"))
    method: array[int] = field(default_factory=lambda: array("q"))
    group: array[int] = field(default_factory=lambda: array("q"))
    places: dict[JudgedItemKey, int] = field(default_factory=dict)
    methods: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories whose shares are estimated; empty if values read as numbers."""
        scored = not isinstance(self.scale, CategoricalScale) or all(
            category.score is not None for category in self.scale.categories
        )
        return () if scored or not isinstance(self.scale, CategoricalScale) else self.scale.names

    def convert_value(self, value: str | float) -> float:
        """Return a value of the scale as the number in the columns."""
        if isinstance(value, str) and value in self.categories:
            return float(self.categories.index(value))
        found = self.scale.number(value)
        if found is None:
            raise DataError(f"{value!r} does not read as a number")
        return found

    def get_verdicts(self) -> Floats:
        """Return the values as an array."""
        import numpy as np

        return np.asarray(self.values)

    def get_numbers(self, name: Literal["question", "method", "group"]) -> Integers:
        """Return the number of each item's question, method or group."""
        import numpy as np

        return np.asarray(getattr(self, name))


def read_judged_columns(
    folder: Path, metric: str, *, by: Sequence[str], wanted: Collection[tuple[str, str]]
) -> JudgedColumns:
    """Read the judged items of a metric.

    Args:
        folder: The run.
        metric: The metric's name.
        by: The tags whose values name a question's group.
        wanted: The samples and methods whose items need an index; a method may be empty if it is not known.

    Raises:
        DataError: If the run has no judgement of the metric, or lacks its scale or a tag.
        StoreError: If the folder is not a run.
    """
    with Store.open(folder) as store, store.snapshot():
        found = JudgedColumns(_read_scale(store, metric))
        questions: dict[str, int] = {}
        tags: set[str] = set()
        lines = store.lines(metric)
        for sample_id, method, name, told, outline, _ in store.scores():
            if name != metric:
                continue
            line = next(lines)
            outlined = read_outline(outline)
            found.statuses[outlined.status] += 1
            numbers = _convert_row(found, outlined)
            if numbers is None:
                continue
            labels = json.loads(told)
            tags.update(labels)
            if (sample_id, method) in wanted or (sample_id, "") in wanted:
                for n, judgement in enumerate(Result.model_validate_json(line).judgements):
                    found.places.setdefault(JudgedItemKey(sample_id, method, judgement.item), len(found.values) + n)
            group = " · ".join(labels.get(tag) or NO_VALUE for tag in by)
            found.values.extend(numbers)
            for column, names, entry in (
                (found.question, questions, sample_id),
                (found.method, found.methods, method),
                (found.group, found.groups, group),
            ):
                column.extend([names.setdefault(entry, len(names))] * len(numbers))
    if not found.values:
        raise DataError(f"{folder}: no judgement of {metric!r} is there; greval report {folder} shows what is")
    for tag in by:
        if tag not in tags:
            raise build_unknown_name_error("tag", tag, sorted(tags), folder)
    return found


def _convert_row(found: JudgedColumns, outlined: Outline) -> Sequence[float] | None:
    """Return the judgements of a row as numbers; None if it has none, or one that the scale does not contain."""
    names = found.categories
    if not names:
        return outlined.numbers if outlined.numbers and len(outlined.numbers) == len(outlined.values) else None
    if not outlined.values or not set(outlined.values) <= set(names):
        return None
    return [float(names.index(value)) for value in outlined.values]


def _read_scale(store: Store, metric: str) -> Scale:
    """Return the scale of a metric: from the run, otherwise from the predefined metric of this name."""
    known = read_known_scales(store)
    if metric not in known:
        raise build_unknown_name_error("metric", metric, read_metrics(store), store.folder)
    return known[metric]
