"""Forecast of the calls, tokens and cost of a probe, made without calling a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Unpack

from greval.datasets.case_records import CaseRecords
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import Metric
from greval.runs.forecast import Forecast, MetricForecast, forecast
from greval.runs.manifest import PROBE_TAG
from greval.runs.options import EvaluateOptions
from greval.trust.probing.api import BUILT_ON, ProbeTask, build_task, get_probe_folder
from greval.trust.probing.plan import MAIN, OTHER_ORDER, ProbePlan, build_references, plan_mutants
from greval.trust.probing.stages import ProbeOptions, ProbeStages


def forecast_probe(
    metric: Metric,
    judge: Judge,
    cases: CaseRecords | None = None,
    **probe_options: Unpack[ProbeOptions],
) -> Forecast:
    """Count the maximum number of calls that `probe` would make with the same arguments, without making any.

    Only the verdicts on the unchanged cases decide which mutants are usable. The forecast counts all of them.

    Returns:
        Calls, tokens and cost of each stage, without what the folder already contains.

    Raises:
        DataError: If no case fits the metric, or a check is unknown.
        JudgeError: If the judge cannot be used at all.
        StoreError: If the folder contains a run that is not a probe.
    """
    task = build_task(metric, judge, cases, probe_options)
    folder = get_probe_folder(metric, probe_options)
    stages = ProbeStages(folder, judge, probe_options)
    stages.check_folder()
    options: EvaluateOptions = {"prices": probe_options.get("prices"), "probe": True}
    parts = [
        (name, forecast(given, metrics, judge, out=folder / stage, **options))
        for name, stage, given, metrics in _list_stages(task)
        if given
    ]
    return parts[0][1].model_copy(
        update={
            "expected": tuple(_name_stage(name, one) for name, part in parts for one in part.expected),
            "unread": len(task.bases.unread),
            "spent": stages.before,
            "max_calls": probe_options.get("max_calls"),
            "max_cost": probe_options.get("max_cost"),
        }
    )


def _list_stages(task: ProbeTask) -> Iterator[tuple[str, str, Sequence[Case], Sequence[Metric]]]:
    """Yield the name, folder, cases and metrics of each stage."""
    if task.given.uses:
        yield "", BUILT_ON, task.bases.cases, task.built_on
    made = build_references(task.bases.cases, task.bases.pool, task.metric, task.wanted)
    unchanged = [base.original for base in made]
    yield "unchanged", MAIN, unchanged, [task.metric]
    others = [base.references["other"] for base in made if "other" in base.references]
    yield "another question's", MAIN, others, [task.metric]
    whole = plan_mutants(made, task.metric, task.wanted, None, mutants=task.mutants)
    for check in task.wanted:
        yield check.name, MAIN, _select_cases(whole, check.name), [task.metric]
        if check.reworded:
            yield check.name, OTHER_ORDER, unchanged, [check.reworded(task.metric)]
    for name in task.again:
        yield name, name, unchanged, [task.metric]


def _select_cases(whole: ProbePlan, check: str) -> list[Case]:
    return [case for case in whole.cases if case.tags[PROBE_TAG] == check]


def _name_stage(name: str, one: MetricForecast) -> MetricForecast:
    return one.model_copy(update={"metric": f"{one.metric} ({name})" if name else one.metric})
