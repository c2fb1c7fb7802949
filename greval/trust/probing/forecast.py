"""Forecast of the calls, tokens and cost of a probe, made without calling a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Unpack

from greval.datasets.case_records import GivenCases
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import Metric
from greval.runs.forecast import Expected, Forecast, forecast
from greval.runs.manifest import PROBE
from greval.runs.options import Options
from greval.trust.probing.api import BUILT_ON, Task, folder_of, task_of
from greval.trust.probing.plan import MAIN, OTHER_ORDER, Plan, named_bases, plan
from greval.trust.probing.stages import Stages, Wishes


def foretell(
    metric: Metric,
    judge: Judge,
    cases: GivenCases | None = None,
    **wishes: Unpack[Wishes],
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
    task = task_of(metric, judge, cases, wishes)
    folder = folder_of(metric, wishes)
    stages = Stages(folder, judge, wishes)
    stages.check()
    options: Options = {"prices": wishes.get("prices"), "probe": True}
    parts = [
        (name, forecast(given, metrics, judge, out=folder / stage, **options))
        for name, stage, given, metrics in _stages(task)
        if given
    ]
    return parts[0][1].model_copy(
        update={
            "expected": tuple(_named(name, one) for name, part in parts for one in part.expected),
            "unread": len(task.bases.unread),
            "spent": stages.before,
            "max_calls": wishes.get("max_calls"),
            "max_cost": wishes.get("max_cost"),
        }
    )


def _stages(task: Task) -> Iterator[tuple[str, str, Sequence[Case], Sequence[Metric]]]:
    """Yield the name, folder, cases and metrics of each stage."""
    if task.given.uses:
        yield "", BUILT_ON, task.bases.cases, task.built_on
    made = named_bases(task.bases.cases, task.bases.pool, task.metric, task.wanted)
    unchanged = [base.unchanged for base in made]
    yield "unchanged", MAIN, unchanged, [task.metric]
    others = [base.references["other"] for base in made if "other" in base.references]
    yield "another question's", MAIN, others, [task.metric]
    whole = plan(made, task.metric, task.wanted, None, mutants=task.mutants)
    for check in task.wanted:
        yield check.name, MAIN, _of(whole, check.name), [task.metric]
        if check.reworded:
            yield check.name, OTHER_ORDER, unchanged, [check.reworded(task.metric)]
    for name in task.again:
        yield name, name, unchanged, [task.metric]


def _of(whole: Plan, check: str) -> list[Case]:
    return [case for case in whole.cases if case.tags[PROBE] == check]


def _named(name: str, one: Expected) -> Expected:
    return one.model_copy(update={"metric": f"{one.metric} ({name})" if name else one.metric})
