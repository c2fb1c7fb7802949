"""Measures of whole runs: a value for each question, and a mean with the number of questions it is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from greval.metrics.columns.chunked_array import Flags, Ints
from greval.metrics.columns.formulas import Floats, compute_values
from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import Hits, Rankings

MissingPolicy = Literal["zero", "drop"]


@dataclass(frozen=True)
class MeasureResult:
    """The values of one measure over the questions of a run.

    Args:
        measure: The name of the measure.
        values: Its value for each question that was measured; never NaN.
        places: The indices of these questions in the qrels.
        names: The questions of the qrels.
        asked: The number of questions in the qrels or in the rankings.
        skipped: How many of them have no relevant judged document, so that the measure is undefined.
        missing: How many have relevant documents but no ranking.
    """

    measure: str
    values: Floats
    places: Ints
    names: Sequence[str]
    asked: int
    skipped: int
    missing: int

    @property
    def measured_count(self) -> int:
        """The number of questions that have a value."""
        return len(self.values)

    @property
    def mean(self) -> float | None:
        """The mean of the values, or None without values."""
        return float(self.values.mean()) if self.measured_count else None

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions that have a value, in the order of the values."""
        return tuple(self.names[n] for n in self.places.tolist())

    def by_question(self) -> dict[str, float]:
        """Return the values by question, for the questions that have one."""
        return dict(zip(self.questions, self.values.tolist(), strict=True))

    def __str__(self) -> str:
        mean = "no value" if self.mean is None else f"{self.mean:.4f}"
        counts = f"{self.measured_count:,} of {self.asked:,} questions measured, {self.skipped:,} skipped"
        left_out = "" if self.missing <= self.asked - self.skipped - self.measured_count else ", counted as 0"
        missing = f", {self.missing:,} missing from the run{left_out or ', left out'}" if self.missing else ""
        return f"{self.measure} {mean} ({counts}{missing})"


@dataclass(frozen=True)
class MeasureResults(Mapping[str, MeasureResult]):
    """The measures of a run by name.

    Args:
        figures: The measures.
        missing: The questions of the qrels that have no ranking.
        unknown: The ranked questions that are not in the qrels.
    """

    figures: dict[str, MeasureResult]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    def __getitem__(self, name: str) -> MeasureResult:
        return self.figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __str__(self) -> str:
        return "\n".join(map(str, self.figures.values()))


def measure_rankings(
    qrels: Qrels, rankings: Rankings, names: Iterable[str], *, missing: MissingPolicy = "zero"
) -> MeasureResults:
    """Compute ranking measures of a run.

    Args:
        qrels: The judged documents.
        rankings: The documents that a method retrieved.
        names: The measures: `ndcg`, `recall`, `essential_recall`, `precision`, `hit_rate`, `perfect_recall`,
            `mrr`, `map`, each with `@k` for the first k documents; `ndcg@10-exponential` for gains of `2**grade - 1`.
        missing: How to treat a question that has relevant documents but no ranking: "zero" counts it as 0, "drop"
            leaves it out of the values and the mean, as trec_eval does. Either way it is counted in `missing`.

    Returns:
        Values, means and counts by measure.

    Raises:
        DefinitionError: If no measure has one of the names.
        DataError: If a score is not a number.

    Example:
        >>> qrels = Qrels.from_dicts({"q1": {"d1": 1, "d2": 1}, "q2": {"d5": 1}, "q3": {"d9": 0}})
        >>> rankings = Rankings.from_dicts({"q1": {"d7": 3.5, "d1": 2.5}, "q3": {"d9": 1.0}})
        >>> print(measure_rankings(qrels, rankings, ["mrr", "recall@10"]))
        mrr 0.2500 (2 of 3 questions measured, 1 skipped, 1 missing from the run, counted as 0)
        recall@10 0.2500 (2 of 3 questions measured, 1 skipped, 1 missing from the run, counted as 0)
    """
    hits = rankings.find_hits(qrels)
    answered = hits.depths >= 0
    figures = {name: _compute_result(name, qrels, hits, answered if missing == "drop" else None) for name in names}
    absent = tuple(qrels.grouped.names[n] for n in np.flatnonzero(~answered).tolist())
    return MeasureResults(figures, absent, hits.unknown)


def _compute_result(name: str, qrels: Qrels, hits: Hits, counted: Flags | None) -> MeasureResult:
    """Compute a measure for the questions that count."""
    values, defined = compute_values(name, qrels, hits)
    places = np.flatnonzero(defined if counted is None else defined & counted)
    asked = len(qrels.grouped.names) + len(hits.unknown)
    return MeasureResult(
        measure=name,
        values=values[places],
        places=places,
        names=qrels.grouped.names,
        asked=asked,
        skipped=asked - int(defined.sum()),
        missing=int((defined & (hits.depths < 0)).sum()),
    )
