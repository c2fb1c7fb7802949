"""What metrics that compare ids would be by chance: each question with what was retrieved for another question.

A repository or a document that many questions have in common is found by any method. The figure by chance says how much
of a mean is due to that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greval._util.arguments import resolve_run_folder
from greval.analysis.diagnosis.api import read_newest_cases
from greval.errors import DefinitionError
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.library import load_metric
from greval.records.case import Case, Response
from greval.records.metric import ComputedMetric
from greval.records.metric_input import explain_missing_needs
from greval.records.scale import find_direction
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.stats.summary import ChanceEstimate

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

MAX_ROUNDS, MIN_ROUNDS = 200, 20
MAX_COMPUTED = 20_000
"""The number of cases that are computed for a metric and a method, as long as there are enough rounds."""
SEED = 20_261_127
SHARE_BELOW, SHARE_ABOVE = 0.025, 0.975


def estimate_chance(run: Store | str | Path | Run, metrics: Sequence[str] = ()) -> tuple[ChanceEstimate, ...]:
    """Estimate what the metrics of a run that compare ids would be by chance, for each method.

    They are metrics of documents, of repositories, and of the nodes and edges of a walk.

    Args:
        run: The run, its folder, or a store that is open for reading.
        metrics: The metrics to estimate; all by default.

    Returns:
        A figure for each metric and method. Metrics of other kinds, and methods with fewer than two questions that have
        a value, have none.

    Raises:
        StoreError: If the folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval import evaluate
        >>> cases = [{"question": f"{n}?", "retrieved_doc_ids": [f"d{n}"], "gold_ids": [f"d{n}"]} for n in range(3)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     (figure,) = estimate_chance(evaluate(cases, ["mrr"], out=folder))
        >>> figure.mean, figure.by_chance
        (1.0, 0.0)
    """
    if isinstance(run, Store):
        return _estimate_all(run, metrics)
    with Store.open(resolve_run_folder(run)) as store, store.snapshot():
        return _estimate_all(store, metrics)


def _estimate_all(store: Store, metrics: Sequence[str]) -> tuple[ChanceEstimate, ...]:
    compared = [metric for name in read_metrics(store) if (not metrics or name in metrics) and (metric := _load(name))]
    cases: dict[str, list[Case]] = defaultdict(list)
    if compared:
        for case in read_newest_cases(store):
            cases[case.method].append(case)
    figures = (_estimate(metric, method, answered) for metric in compared for method, answered in cases.items())
    return tuple(figure for figure in figures if figure is not None)


def _load(name: str) -> ComputedMetric | None:
    """Load a predefined metric that compares ids; None for any other."""
    try:
        metric = load_metric(name)
    except DefinitionError:
        # A metric of the user's own, whose function is not stored.
        return None
    return metric if isinstance(metric, ComputedMetric) and metric.compared_ids is not None else None


def _estimate(metric: ComputedMetric, method: str, cases: Sequence[Case]) -> ChanceEstimate | None:
    """Estimate one figure; None if fewer than two cases have a value."""
    valued = [(case, value) for case in cases if (value := _compute(metric, case)) is not None]
    if len(valued) < 2:  # noqa: PLR2004 - each needs another one
        return None
    answered = [case for case, _ in valued]
    mean = float(np.mean([value for _, value in valued]))
    rng = np.random.default_rng(SEED)
    rounds = max(MIN_ROUNDS, min(MAX_ROUNDS, MAX_COMPUTED // len(answered)))
    means = np.array([_compute_round(metric, answered, rng) for _ in range(rounds)])
    means = means[~np.isnan(means)]
    if not means.size:
        return None
    better = find_direction(metric.scale).better
    as_good = means >= mean if better == "higher" else means <= mean if better == "lower" else None
    low, high = np.quantile(means, [SHARE_BELOW, SHARE_ABOVE])
    return ChanceEstimate(
        metric=metric.name,
        method=method,
        n=len(answered),
        mean=mean,
        by_chance=float(means.mean()),
        low=float(low),
        high=float(high),
        rounds=int(means.size),
        p=None if as_good is None else float((1 + as_good.sum()) / (1 + means.size)),
    )


def _compute_round(metric: ComputedMetric, cases: Sequence[Case], rng: np.random.Generator) -> float:
    """Return the mean of one round, NaN if no case has a value."""
    order = rng.permutation(len(cases))
    # A shift of a random order gives every question what was retrieved for another one.
    donors = np.roll(order, int(rng.integers(1, len(cases))))
    values = [
        value
        for position, donor in zip(order, donors, strict=True)
        if (value := _compute(metric, _exchange_response(cases[position], cases[donor]))) is not None
    ]
    return float(np.mean(values)) if values else float("nan")


def _exchange_response(case: Case, donor: Case) -> Case:
    return case.model_copy(update={name: getattr(donor, name) for name in Response.model_fields})


def _compute(metric: ComputedMetric, case: Case) -> float | None:
    """Return the number of a metric for a case, None if it has none."""
    if explain_missing_needs(metric, case) is not None:
        return None
    outcome = compute_outcome(metric, case)
    if outcome.status != "scored":
        return None
    numbers = [judgement.number for judgement in outcome.judgements if judgement.number is not None]
    return float(np.mean(numbers)) if numbers else None
