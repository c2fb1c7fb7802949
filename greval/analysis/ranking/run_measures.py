"""Measures of whole runs: a value for each question, and a mean with the number of questions it is over.

The formulas are those of the metrics of single cases, over arrays: `docs/measures.md` defines each measure and says
when it is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from greval._util.wording import find_similar, format_count
from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.question_documents import Flags, Floats, Ints
from greval.analysis.ranking.rankings import Hits, Rankings
from greval.analysis.ranking.run_join import check_run_join
from greval.errors import DefinitionError

_NAME = re.compile(r"(?P<base>[a-z_]+)(?:@(?P<cut>[1-9][0-9]{0,8}))?(?P<exponential>-exponential)?")
MissingPolicy = Literal["zero", "drop"]


@dataclass(frozen=True)
class MeasureInput:
    """The input of a measure: the judged documents, and those that were retrieved within the cut-off.

    `cut` is the number of top documents that count, None for all. `exponential` is whether the gain of a document is
    `2**grade - 1` instead of its grade.
    """

    qrels: Qrels
    hits: Hits
    cut: int | None
    exponential: bool

    @property
    def size(self) -> int:
        """The number of questions."""
        return len(self.qrels.judged.questions)

    def mask_by_grade(self, lowest: int) -> Flags:
        """Return a mask of the hits that have at least the grade `lowest`."""
        marked: Flags = self.qrels.grades[self.hits.gold] >= lowest
        return marked

    def count_hits(self, lowest: int) -> Ints:
        """Count the hits of at least the grade `lowest` per question."""
        return np.bincount(self.hits.questions[self.mask_by_grade(lowest)], minlength=self.size)

    def compute_gains(self, grades: npt.NDArray[np.integer[Any]]) -> Floats:
        """Return the gains of grades; a negative grade has the gain 0."""
        positive = np.maximum(grades, 0).astype(np.float64)
        gains: Floats = np.exp2(positive) - 1 if self.exponential else positive
        return gains


def _compute_ndcg(inputs: MeasureInput) -> tuple[Floats, Flags]:
    hits = inputs.hits
    gains = inputs.compute_gains(inputs.qrels.grades[hits.gold])
    dcg = np.bincount(hits.questions, gains / np.log2(hits.ranks + 1), inputs.size)
    return _divide(dcg, _compute_ideal_dcg(inputs))


def _compute_ideal_dcg(inputs: MeasureInput) -> Floats:
    """Compute the ideal DCG of each question, which ranks its documents by falling grade."""
    qrels = inputs.qrels
    longest = int(qrels.judged.lengths.max(initial=0))
    cut = longest if inputs.cut is None else min(inputs.cut, longest)
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(cut) + 2))])
    best, ranks = np.zeros(inputs.size), np.zeros(inputs.size, np.intp)
    # One step for each grade in place of one for each document: documents of one grade take adjacent ranks.
    for grade in qrels.levels:
        filled = np.minimum(qrels.count_judged(int(grade)), cut)
        best += inputs.compute_gains(grade) * (discounts[filled] - discounts[ranks])
        ranks = filled
    return best


def _compute_recall(inputs: MeasureInput) -> tuple[Floats, Flags]:
    return _divide(inputs.count_hits(inputs.qrels.relevant), inputs.qrels.count_judged(inputs.qrels.relevant))


def _compute_essential_recall(inputs: MeasureInput) -> tuple[Floats, Flags]:
    return _divide(inputs.count_hits(inputs.qrels.essential), inputs.qrels.count_judged(inputs.qrels.essential))


def _compute_precision(inputs: MeasureInput) -> tuple[Floats, Flags]:
    relevant = inputs.count_hits(inputs.qrels.relevant)
    size = np.maximum(inputs.hits.depths, 1) if inputs.cut is None else np.full(len(relevant), inputs.cut)
    return relevant / size, inputs.qrels.count_judged(inputs.qrels.relevant) > 0


def _compute_hit_rate(inputs: MeasureInput) -> tuple[Floats, Flags]:
    relevant = inputs.count_hits(inputs.qrels.relevant)
    return (relevant > 0).astype(np.float64), inputs.qrels.count_judged(inputs.qrels.relevant) > 0


def _compute_perfect_recall(inputs: MeasureInput) -> tuple[Floats, Flags]:
    essential = inputs.qrels.count_judged(inputs.qrels.essential)
    return (inputs.count_hits(inputs.qrels.essential) == essential).astype(np.float64), essential > 0


def _compute_mrr(inputs: MeasureInput) -> tuple[Floats, Flags]:
    marked = inputs.mask_by_grade(inputs.qrels.essential)
    questions, ranks = inputs.hits.questions[marked], inputs.hits.ranks[marked]
    # Hits are sorted by question and rank: the first of each question is its best.
    best = np.diff(questions, prepend=-1) > 0
    values = np.zeros(inputs.size)
    values[questions[best]] = 1 / ranks[best]
    return values, inputs.qrels.count_judged(inputs.qrels.essential) > 0


def _compute_map(inputs: MeasureInput) -> tuple[Floats, Flags]:
    marked = inputs.mask_by_grade(inputs.qrels.relevant)
    questions, ranks = inputs.hits.questions[marked], inputs.hits.ranks[marked]
    # The position of each hit among those of its question, from 1, without a loop over questions.
    sofar = np.arange(1, len(ranks) + 1) - np.searchsorted(questions, questions)
    sums = np.bincount(questions, sofar / ranks, inputs.size)
    return _divide(sums, inputs.qrels.count_judged(inputs.qrels.relevant))


def _divide(part: npt.NDArray[np.generic], total: npt.NDArray[np.generic]) -> tuple[Floats, Flags]:
    """Divide element by element; return the quotients, and a mask of those whose divisor is above 0."""
    defined: Flags = np.asarray(total, np.float64) > 0
    return np.divide(part, total, out=np.zeros(len(defined)), where=defined), defined


FORMULAS: dict[str, Callable[[MeasureInput], tuple[Floats, Flags]]] = {
    "ndcg": _compute_ndcg,
    "recall": _compute_recall,
    "essential_recall": _compute_essential_recall,
    "precision": _compute_precision,
    "hit_rate": _compute_hit_rate,
    "perfect_recall": _compute_perfect_recall,
    "mrr": _compute_mrr,
    "map": _compute_map,
}
"""Formulas by measure name without cut-off. Each returns a value per question and a mask of the defined values."""


def compute_values(name: str, qrels: Qrels, hits: Hits) -> tuple[Floats, Flags]:
    """Compute a measure, such as `ndcg@10-exponential`, for every question of the qrels.

    Return the values, shape (questions,), and a boolean mask of the questions for which the measure is defined. A
    `DefinitionError` is raised if no measure has this name.
    """
    read = _parse_name(name)
    cut = int(read["cut"]) if read["cut"] else None
    hits = hits if cut is None else hits.limit(cut)
    return FORMULAS[read["base"]](MeasureInput(qrels, hits, cut, bool(read["exponential"])))


def check_measure_names(names: Iterable[str]) -> None:
    """Raise `DefinitionError` if one of the names is not that of a measure."""
    for name in names:
        _parse_name(name)


def _parse_name(name: str) -> re.Match[str]:
    read = _NAME.fullmatch(name)
    if not read or read["base"] not in FORMULAS or (read["exponential"] and read["base"] != "ndcg"):
        raise DefinitionError(_describe_unknown_measure(name))
    return read


def _describe_unknown_measure(name: str) -> str:
    base, mark, cut = name.partition("@")
    similar = find_similar(base.split("-")[0], FORMULAS)
    hint = (
        f"; is it {similar}{mark and '@'}{re.sub('[^0-9]', '', cut).lstrip('0') or (mark and '10')}?" if similar else ""
    )
    return f"no ranking measure is called {name!r}{hint} (measures: {', '.join(FORMULAS)}; with @k the first k count)"


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
        counts = f"{self.measured_count:,} of {format_count(self.asked, 'question')} measured, {self.skipped:,} skipped"
        zero_note = "" if self.missing <= self.asked - self.skipped - self.measured_count else ", counted as 0"
        missing = f", {self.missing:,} missing from the run{zero_note or ', left out'}" if self.missing else ""
        return f"{self.measure} {mean} ({counts}{missing})"


@dataclass(frozen=True)
class MeasureResults(Mapping[str, MeasureResult]):
    """The measures of a run by name.

    Args:
        figures: The measures.
        missing: The questions of the qrels that have no ranking.
        unknown: The ranked questions that are not in the qrels.
        remarks: Remarks about ids that did not meet, which stand before all figures.
    """

    figures: dict[str, MeasureResult]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> MeasureResult:
        return self.figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __str__(self) -> str:
        return "\n".join((*self.remarks, *map(str, self.figures.values())))


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
        DataError: If a score is not a number, or the ids of judgements and rankings cannot meet.

    Example:
        >>> qrels = Qrels.from_dicts({"q1": {"d1": 1, "d2": 1}, "q2": {"d5": 1}, "q3": {"d9": 0}})
        >>> rankings = Rankings.from_dicts({"q1": {"d7": 3.5, "d1": 2.5}, "q3": {"d9": 1.0}})
        >>> print(measure_rankings(qrels, rankings, ["mrr", "recall@10"]))
        mrr 0.2500 (2 of 3 questions measured, 1 skipped, 1 missing from the run, counted as 0)
        recall@10 0.2500 (2 of 3 questions measured, 1 skipped, 1 missing from the run, counted as 0)
    """
    hits = rankings.find_hits(qrels)
    remarks = check_run_join(qrels, rankings, hits)
    answered = hits.depths >= 0
    figures = {name: _compute_result(name, qrels, hits, answered if missing == "drop" else None) for name in names}
    absent = tuple(qrels.questions[n] for n in np.flatnonzero(~answered).tolist())
    return MeasureResults(figures, absent, hits.unknown, remarks)


def _compute_result(name: str, qrels: Qrels, hits: Hits, counted: Flags | None) -> MeasureResult:
    """Compute a measure for the questions that count."""
    values, defined = compute_values(name, qrels, hits)
    places = np.flatnonzero(defined if counted is None else defined & counted)
    question_count = len(qrels.questions) + len(hits.unknown)
    return MeasureResult(
        measure=name,
        values=values[places],
        places=places,
        names=qrels.questions,
        asked=question_count,
        skipped=question_count - int(defined.sum()),
        missing=int((defined & (hits.depths < 0)).sum()),
    )
