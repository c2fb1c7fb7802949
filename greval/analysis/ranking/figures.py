"""The figures of one run: a value and a state for each judged question and measure, and the means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.rankings import Rankings
from greval.analysis.ranking.records import Conventions, QuestionValues, RunMean
from greval.analysis.ranking.run_join import check_run_join
from greval.analysis.ranking.run_measures import check_measure_names, measure_rankings
from greval.analysis.ranking.trec_measures import (
    UNJUDGED_CUTS,
    WITHOUT_QUESTIONS,
    expand_trec_measures,
    list_trec_measures,
    trec_eval,
)
from greval.errors import DefinitionError
from greval.metrics.computed.metric_names import find_computed_metric
from greval.records.scale import NumberRange, ScaleDirection, find_number_range
from greval.runs.score_columns import MISSING, SCORED, SKIPPED
from greval.stats.bootstrap import Floats
from greval.stats.mean_interval import mean_interval

DEFAULT_MEASURES: Mapping[Conventions, tuple[str, ...]] = {
    "greval": ("ndcg@10", "recall@20", "mrr", "map"),
    "trec_eval": ("map", "Rprec", "bpref", "recip_rank", "P_10", "recall_100", "ndcg_cut_10"),
}
NOT_COMPARED = WITHOUT_QUESTIONS | {
    *("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "rbp_resid"),
    *(f"unj_{cut}" for cut in UNJUDGED_CUTS),
}
"""Measures of trec_eval that do not say of a single question how good its ranking is."""
UTILITY = "utility"
"""The only measure of single questions without ends."""
SHARE = NumberRange(0.0, 1.0)
BINARY = NumberRange(0.0, 1.0, binary=True)
SUCCESS = "success_"
States = NDArray[np.uint8]


class MeasureSettings(NamedTuple):
    """The measures to compute, their conventions, and the confidence level of the intervals."""

    names: tuple[str, ...]
    conventions: Conventions
    level: float


class RankingFigures(NamedTuple):
    """The values and states of each measure over the judged questions, and the means over questions."""

    columns: dict[str, tuple[Floats, States]]
    means: tuple[RunMean, ...]
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]
    ranked: int
    """The number of judged questions that have a ranking."""
    remarks: tuple[str, ...]
    """Remarks about ids that did not meet."""
    irrelevant: tuple[str, ...]
    """The judged questions without a relevant document."""

    def list_questions(self, names: Sequence[str]) -> tuple[QuestionValues, ...]:
        """List the values of each question; `names` are all judged questions."""
        values_by_measure = {
            measure: [value if state == SCORED else None for value, state in zip(values.tolist(), states, strict=True)]
            for measure, (values, states) in self.columns.items()
        }
        return tuple(
            QuestionValues(
                question=name, values={measure: column[number] for measure, column in values_by_measure.items()}
            )
            for number, name in enumerate(names)
        )


def choose_measures(names: Sequence[str], conventions: Conventions) -> tuple[str, ...]:
    """Return the measures of these names, each once; the usual ones if none is named."""
    measures = tuple(dict.fromkeys(names)) or DEFAULT_MEASURES[conventions]
    if conventions == "trec_eval":
        return expand_trec_measures(measures)
    try:
        check_measure_names(measures)
    except DefinitionError as error:
        is_trec_eval = not {*measures}.isdisjoint(list_trec_measures())
        hint = "; for the measures of trec_eval add --trec-eval, or conventions='trec_eval' in Python"
        raise DefinitionError(f"{error}{hint if is_trec_eval else ''}") from error
    return measures


def find_scale(measure: str, conventions: Conventions) -> NumberRange | None:
    """Return the range of a measure; None if it has no lower end.

    Example:
        >>> find_scale("hit_rate@3", "greval"), find_scale("utility", "trec_eval")
        (NumberRange(low=0.0, high=1.0, binary=True), None)
    """
    if conventions == "trec_eval":
        return None if measure == UTILITY else BINARY if measure.startswith(SUCCESS) else SHARE
    metric = find_computed_metric(measure)
    return (find_number_range(metric.scale) if metric else None) or SHARE


def find_measure_direction(measure: str, conventions: Conventions) -> ScaleDirection:
    """Return the direction of a measure that is compared: higher is better."""
    numbers = find_scale(measure, conventions)
    low, high = numbers.ends if numbers and numbers.ends else (None, None)
    return ScaleDirection("higher", low, high, computed=True)


def compute_figures(qrels: Qrels, rankings: Rankings, settings: MeasureSettings) -> RankingFigures:
    """Compute the measures of a run."""
    compute = _compute_by_trec_eval if settings.conventions == "trec_eval" else _compute_by_greval
    return compute(qrels, rankings, settings)


def _compute_by_greval(qrels: Qrels, rankings: Rankings, settings: MeasureSettings) -> RankingFigures:
    """Compute greval's measures: a judged question without a ranking counts as 0."""
    results = measure_rankings(qrels, rankings, settings.names)
    size = len(qrels.questions)
    columns = {}
    for name, result in results.items():
        values, states = np.zeros(size), np.full(size, SKIPPED, np.uint8)
        values[result.places], states[result.places] = result.values, SCORED
        columns[name] = values, states
    means = tuple(_build_mean(name, values[states == SCORED], settings) for name, (values, states) in columns.items())
    ranked, irrelevant = size - len(results.missing), _list_irrelevant(qrels)
    return RankingFigures(columns, means, results.missing, results.unknown, ranked, results.remarks, irrelevant)


def _compute_by_trec_eval(qrels: Qrels, rankings: Rankings, settings: MeasureSettings) -> RankingFigures:
    """Compute trec_eval's measures: a judged question without a ranking is left out."""
    hits = rankings.find_hits(qrels)
    remarks = check_run_join(qrels, rankings, hits)
    measured, names = trec_eval(qrels, rankings, settings.names), qrels.questions
    rows = measured.by_question
    answered = np.array([name in rows for name in names], np.bool_)
    states = np.where(answered, SCORED, MISSING).astype(np.uint8)
    columns = {}
    for measure in settings.names:
        if measure not in WITHOUT_QUESTIONS:
            values = np.zeros(len(names))
            values[answered] = [rows[name][measure] for name in names if name in rows]
            columns[measure] = values, states
    means = tuple(
        RunMean(measure=measure, n=len(rows), mean=measured.overall.get(measure))
        if measure in NOT_COMPARED
        else _build_mean(measure, columns[measure][0][answered], settings)
        for measure in settings.names
    )
    missing = tuple(name for name in names if name not in rows)
    return RankingFigures(columns, means, missing, hits.unknown, len(rows), remarks, _list_irrelevant(qrels))


def _list_irrelevant(qrels: Qrels) -> tuple[str, ...]:
    """List the judged questions without a relevant document."""
    names = qrels.questions
    return tuple(names[index] for index in np.flatnonzero(qrels.count_judged(qrels.relevant) == 0).tolist())


def _build_mean(name: str, values: Floats, settings: MeasureSettings) -> RunMean:
    if not len(values):
        return RunMean(measure=name, n=0, mean=None)
    scale = find_scale(name, settings.conventions)
    interval = mean_interval(values, np.ones(len(values), np.int64), scale, level=settings.level) if scale else None
    return RunMean(measure=name, n=len(values), mean=float(values.mean()), interval=interval)
