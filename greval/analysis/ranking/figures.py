"""The figures of one run: a value and a state for each judged question and measure, and the means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.rankings import Rankings
from greval.analysis.ranking.records import Conventions, MeasuredRun, QuestionValues, RunMean
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
from greval.stats.interval import mean_interval

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
Columns = dict[str, tuple[Floats, States]]
"""The values and the states of each measure over the judged questions."""


class MeasureSettings(NamedTuple):
    """The measures to compute, their conventions, the confidence level, and whether to list them by question."""

    names: tuple[str, ...]
    conventions: Conventions
    level: float
    by_question: bool


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


def measure_run(
    name: str, path: Path, judged: tuple[Qrels, Rankings], settings: MeasureSettings
) -> tuple[MeasuredRun, Columns]:
    """Compute the measures of a run from its judgements and its rankings."""
    compute = _compute_by_trec_eval if settings.conventions == "trec_eval" else _compute_by_greval
    fields, columns = compute(*judged, settings)
    qrels, _ = judged
    irrelevant = np.flatnonzero(qrels.count_judged(qrels.relevant) == 0).tolist()
    run = MeasuredRun(
        name=name,
        path=str(path),
        irrelevant=tuple(qrels.questions[index] for index in irrelevant),
        questions=_list_questions(qrels.questions, columns) if settings.by_question else (),
        **fields,
    )
    return run, columns


def _list_questions(names: Sequence[str], columns: Columns) -> tuple[QuestionValues, ...]:
    values_by_measure = {
        measure: [value if state == SCORED else None for value, state in zip(values.tolist(), states, strict=True)]
        for measure, (values, states) in columns.items()
    }
    return tuple(
        QuestionValues(question=name, values={measure: column[n] for measure, column in values_by_measure.items()})
        for n, name in enumerate(names)
    )


def _compute_by_greval(qrels: Qrels, rankings: Rankings, settings: MeasureSettings) -> tuple[dict[str, Any], Columns]:
    """Compute greval's measures: a judged question without a ranking counts as 0."""
    results = measure_rankings(qrels, rankings, settings.names)
    size = len(qrels.questions)
    columns = {}
    for name, result in results.items():
        values, states = np.zeros(size), np.full(size, SKIPPED, np.uint8)
        values[result.places], states[result.places] = result.values, SCORED
        columns[name] = values, states
    means = tuple(_build_mean(name, values[states == SCORED], settings) for name, (values, states) in columns.items())
    fields = {"missing": results.missing, "unjudged": results.unknown, "remarks": results.remarks, "means": means}
    return fields | {"ranked": size - len(results.missing)}, columns


def _compute_by_trec_eval(
    qrels: Qrels, rankings: Rankings, settings: MeasureSettings
) -> tuple[dict[str, Any], Columns]:
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
    fields = {"missing": missing, "unjudged": hits.unknown, "remarks": remarks, "means": means}
    return fields | {"ranked": len(rows)}, columns


def _build_mean(name: str, values: Floats, settings: MeasureSettings) -> RunMean:
    if not len(values):
        return RunMean(measure=name, n=0, mean=None)
    scale = find_scale(name, settings.conventions)
    interval = mean_interval(values, np.ones(len(values), np.int64), scale, level=settings.level) if scale else None
    return RunMean(measure=name, n=len(values), mean=float(values.mean()), interval=interval)
