"""Checks of failure conditions on a run or on a comparison: one evaluator for every condition."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from greval._util.arguments import require_iterable, resolve_run_folder
from greval.analysis.comparison.records import Comparison
from greval.analysis.gate.conditions import GateCondition, parse_condition
from greval.analysis.gate.figures import (
    ComparisonFigures,
    GateFigures,
    GatePlace,
    GateReference,
    GateRunFigures,
    HistoryFigures,
    read_verdicts,
)
from greval.analysis.history.records import RunHistory
from greval.analysis.summary import GateCheck
from greval.records.formula import FormulaError, FormulaInput, Limit
from greval.records.scale import CategoricalScale, find_number_range
from greval.runs.run_reader import read_metric
from greval.runs.store import Store
from greval.stats.interval import Undefined
from greval.stats.judge_noise import compute_tolerance, estimate_noise

if TYPE_CHECKING:
    from greval.runs.evaluation import Run


_MethodCheck = tuple[bool | None, str]
"""Whether a condition is met for one method, None if it cannot be decided, and the figures as text."""


def check_gate(
    of: Comparison | RunHistory | Run | Store | str | Path, conditions: Iterable[str]
) -> tuple[GateCheck, ...]:
    """Check failure conditions on a run, on a comparison or on the newest run of a history, for each method.

    On a comparison, a limit with `baseline` is compared with the baseline's mean over the questions that both have, a
    number with the method's mean over all its questions. On a history, `history` is the mean of the comparable runs
    before the newest one. A condition that cannot be decided, because its figure is undefined or not complete, or the
    two sides were judged by different definitions or judges, counts as met and is marked `undecided`: a gate never
    passes without data. A condition `within noise` is met only if the figure is beyond its limit by more than the noise
    of the judge, measured by repeats, explains at an error rate of 5 %.

    Args:
        of: The comparison, the history, or the run: what `evaluate` returned, its folder, or a `Store` opened for
            reading.
        conditions: Texts such as `correctness < 0.7`, `correctness@multi_hop.low < 0.7` or, on a comparison,
            `walk: latency > baseline * 1.2`.

    Raises:
        DataError: If a condition cannot be parsed, or names something that does not exist.
    """
    require_iterable(conditions, "conditions", '["correctness < 0.7"]')
    listed = [*conditions]
    if not listed:
        return ()
    if isinstance(of, Comparison):
        return _check_conditions(ComparisonFigures(of), listed)
    if isinstance(of, RunHistory):
        return _check_conditions(HistoryFigures(of), listed)
    if isinstance(of, Store):
        with of.snapshot():
            return _check_conditions(GateRunFigures(of), listed)
    with Store.open(resolve_run_folder(of)) as store, store.snapshot():
        return _check_conditions(GateRunFigures(store), listed)


def _check_conditions(figures: GateFigures, conditions: Iterable[str]) -> tuple[GateCheck, ...]:
    """Parse all conditions, and check each of them."""
    parsed = [parse_condition(text, figures) for text in conditions]
    # All at once, because a run is read in one pass for all conditions.
    if isinstance(figures, GateRunFigures):
        figures.read({condition.place for condition in parsed})
    return tuple(_check_condition(figures, condition) for condition in parsed)


def _check_condition(figures: GateFigures, condition: GateCondition) -> GateCheck:
    """Check one condition for each of its methods: by their own figures, or by the baseline's."""
    methods = figures.list_methods(condition.place) if condition.method is None else (condition.method,)
    checks = [_check_method(figures, condition, method) for method in methods]
    texts = [f"{figures.format_method(method)}{text}" for method, (_, text) in zip(methods, checks, strict=True)]
    missed = any(met for met, _ in checks)
    incomplete = figures.get_incomplete(condition.place)
    if incomplete:
        texts.append(incomplete)
    # Figures of a part of the cases pass nothing: a gate never passes without data.
    undecided = not missed and (bool(incomplete) or not checks or any(met is None for met, _ in checks))
    return GateCheck(
        condition=condition.text,
        metric=condition.place.metric,
        met=missed or undecided,
        undecided=undecided,
        told=tuple(texts or ["no judgement yet; run the same command again"]),
    )


def _check_method(figures: GateFigures, condition: GateCondition, method: str) -> _MethodCheck:
    """Check a condition for one method."""
    limit = condition.limit
    reference = None
    if limit.bound.names and not isinstance(figures, GateRunFigures):
        reference = figures.get_reference(condition.place, method)
    margin = _measure_margin(figures, condition, method)
    if isinstance(margin, str):
        return None, margin
    if reference is not None:
        return _check_reference(reference, limit, margin)
    measured, remark = figures.get_figure(condition.place, method, condition.figure)
    if isinstance(measured, Undefined):
        return None, measured.reason
    value = measured.value
    number = f"{value:.4g}" if condition.figure not in {"n", "failed"} else f"{value:.0f}"
    note = f" ({remark})" if remark else ""
    met = limit.is_met(value + margin)
    return met, f"{number} {_format_sign(limit, met=met)} {limit.compute_bound():.4g}{_format_margin(margin)}{note}"


def _measure_margin(figures: GateFigures, condition: GateCondition, method: str) -> float | str:
    """Return what noise may add to a figure, away from meeting its limit; or why that is not known."""
    if condition.error_rate is None or isinstance(figures, HistoryFigures):
        return 0.0
    sides = figures.list_sides(condition.place, method, with_baseline=bool(condition.limit.bound.names))
    verdicts = [[*read_verdicts([folder], condition.place, name).values()] for folder, name in sides]
    repeated = [numbers for of_side in verdicts for numbers in of_side]
    if probe := condition.probe:
        folders = [Path(probe), *sorted(Path(probe).glob("repeat-*"))]
        repeated = [*read_verdicts(folders, GatePlace(condition.place.metric), None).values()]
    with Store.open(figures.folder) as store:
        scale = read_metric(store, condition.place.metric).scale
    noise = estimate_noise(repeated, find_number_range(scale))
    if noise is None or not all(verdicts):
        return "the noise of the judge is not measured; judge with --repeats 3, or write within noise of a probe"
    if isinstance(scale, CategoricalScale) and len({round(fmean(map(len, side))) for side in verdicts}) > 1:
        return "a majority of repeats is steadier than one verdict; judge both sides with the same number of --repeats"
    # the majority of repeated categories varies less than one verdict, the mean of repeated values as means do
    counts = [len(side) if isinstance(scale, CategoricalScale) else sum(map(len, side)) for side in verdicts]
    tolerance = compute_tolerance(noise, counts, error_rate=condition.error_rate)
    return tolerance if condition.limit.sign.startswith("<") else -tolerance


def _format_margin(margin: float) -> str:
    """Format what noise may add to a figure, on the side of the limit."""
    return f" {'-' if margin > 0 else '+'} {abs(margin):.2g} for noise" if margin else ""


def _check_reference(reference: GateReference, limit: Limit, margin: float) -> _MethodCheck:
    """Compare a mean with the one that the limit names, over the same questions."""
    if isinstance(reference, str):
        return None, reference
    mean, other_mean, remark = reference
    numbers = dict.fromkeys(limit.bound.names, other_mean)
    try:
        bound = limit.compute_bound(**numbers)
    except FormulaError as error:
        return None, f"the limit has no value: {error}"
    met = limit.is_met(mean + margin, **numbers)
    formula = limit.bound.fill({name: FormulaInput(number) for name, number in numbers.items()})
    result = "" if limit.bound.text.strip() in numbers else f" = {bound:.4g}"
    relation = f"{mean:.4g} {_format_sign(limit, met=met)} {formula}{result}{_format_margin(margin)}"
    return met, f"{relation} ({remark})"


def _format_sign(limit: Limit, *, met: bool) -> str:
    return limit.sign if met else f"not {limit.sign}"
