"""Probe a judge: judge cases, mutate them so that the right verdict is known, judge the mutants, and count."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from langchain_core.language_models import BaseChatModel

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval.datasets.case_records import CaseRecords
from greval.errors import DataError
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.metrics.library import find_dependencies, require_metric
from greval.records.case import Case
from greval.records.metric import JudgedMetric, Metric
from greval.records.metric_input import explain_missing_needs
from greval.records.result import Result
from greval.runs.worker import narrow_for_metric
from greval.trust.probing.checks import CHECKS, PROBE_CHECKS, REPEATS, CheckContext, ProbeCheck
from greval.trust.probing.kill_rates import count_check, count_failures, measure_noise
from greval.trust.probing.plan import MAIN, OTHER_ORDER, ReferenceCases, build_references, plan_mutants
from greval.trust.probing.records import Probe, SkippedCheck
from greval.trust.probing.source_cases import MIN_POOL, SourceCases, iter_demo_cases, read_source_cases
from greval.trust.probing.stages import ProbeOptions, ProbeStages

DEFAULT_LIMIT = 20
DEFAULT_MUTANTS = 1
DEFAULT_REPEATS = 3
BUILT_ON = "built-on"
NO_REPEATS = "each case is judged once only (repeats of 1)"


def probe(
    metric: Metric,
    judge: Judge | BaseChatModel,
    cases: CaseRecords | None = None,
    **options: Unpack[ProbeOptions],
) -> Probe:
    """Measure which planted faults a judge catches on a metric, without labels. The blocking form of `probe_async`.

    Example:
        >>> import tempfile
        >>> from greval import load
        >>> from greval.testing import ScriptedJudge
        >>> judge = ScriptedJudge([{"reason": "It always says so.", "value": 1}])
        >>> found = probe(load("correctness"), judge, checks=["empty"], limit=2, out=tempfile.mkdtemp())
        >>> found.checks[0].name, found.checks[0].rate.value, found.checks[0].rate.n
        ('empty', 0.0, 2)
    """
    return run_sync(probe_async(metric, judge, cases, **options))


async def probe_async(
    metric: Metric,
    judge: Judge | BaseChatModel,
    cases: CaseRecords | None = None,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[ProbeOptions],
) -> Probe:
    """Measure which planted faults a judge catches on a metric, without labels.

    The cases are judged, mutated and judged again. Each mutation determines the right verdict, or its relation to
    the verdict on the original. The kill rate is the share of mutants caught. Repeated verdicts on the
    unchanged cases measure the noise of the judge.

    Args:
        metric: The definition, judged by a model.
        judge: Settings of a judge or a chat model.
        cases: The cases, preferably with good answers. Defaults to the shipped ones.
        stop: When set, no further call is made.
        **options: `checks`: names from `PROBE_CHECKS`; all that apply by default. `limit` (20): the number of
            cases. `mutants` (1): the number of variants per check and case. `repeats` (3): how often the
            unchanged cases are judged. `out` (runs/probe-METRIC): the run folder; stored results are reused.
            `built_on`: definitions that the metric builds on, if they are not in the library.
            `concurrency`, `retry_failed`, `prices`, `debug`, `on_progress`, `on_result`: as in `evaluate`.
            `max_calls`, `max_cost` (US dollars): caps for the run folder, over all calls of this function.

    Returns:
        The kill rates, the noise, and the checks that could not be made, as data. `greval probe` prints it.

    Raises:
        DataError: If no case fits the metric, or a check is unknown.
        DefinitionError: If the metric builds on one that does not exist.
        JudgeError: If the judge cannot be used at all.
        StoreError: If the folder cannot be written, or contains a run that is not a probe.
    """
    check_options(options, ProbeOptions, "probe")
    task = build_task(require_metric(metric), judge, cases, options)
    stages = ProbeStages(get_probe_folder(metric, options), judge, options, stop)
    stages.check_folder()
    let_through = await _narrow_cases(task, stages)
    made = build_references(let_through, task.bases.pool, task.metric, task.wanted)
    references = [case for base in made for case in base.references.values()]
    await stages.run_stage(MAIN, references, [task.metric], part="references")
    planned = plan_mutants(made, task.metric, task.wanted, stages.verdicts, mutants=task.mutants)
    if planned.cases:
        await stages.run_stage(MAIN, planned.cases, [task.metric], part="planted")
    unchanged = [base.original for base in made]
    for check in task.wanted:
        if check.reworded:
            await stages.run_stage(OTHER_ORDER, unchanged, [check.reworded(task.metric)])
    for name in task.again:
        await stages.run_stage(name, unchanged, [task.metric])
    counted = [count_check(check, planned, stages.verdicts, task.metric.scale) for check in task.wanted]
    return _build_probe(task, stages, made).model_copy(
        update={
            "checks": tuple(one for one, _ in counted),
            "survivors": tuple(one for _, survivors in counted for one in survivors),
        }
    )


@dataclass(frozen=True)
class ProbeTask:
    """The work of a probe: the cases, the checks that apply, and the stages of the repeats.

    `given` is the metric as passed, and `metric` the same without the metrics it builds on.
    """

    metric: JudgedMetric
    built_on: tuple[Metric, ...]
    given: JudgedMetric
    bases: SourceCases
    wanted: tuple[ProbeCheck, ...]
    skipped: tuple[SkippedCheck, ...]
    again: tuple[str, ...]
    mutants: int


def build_task(
    metric: Metric, judge: Judge | BaseChatModel, cases: CaseRecords | None, options: ProbeOptions
) -> ProbeTask:
    """Read the cases and select the checks.

    Raises:
        DataError: If there is nothing to probe.
    """
    if not isinstance(metric, JudgedMetric):
        raise DataError(f"{metric.name}: is computed, not judged: there is no judge to probe")
    named = _parse_checks(options)
    limit, mutants, repeats = (
        options.get("limit", DEFAULT_LIMIT),
        options.get("mutants", DEFAULT_MUTANTS),
        options.get("repeats", DEFAULT_REPEATS),
    )
    if min(limit, mutants, repeats) < 1:
        raise DataError(f"limit, mutants and repeats must be 1 or more, got {limit}, {mutants} and {repeats}")
    found = read_source_cases(iter_demo_cases() if cases is None else cases, metric, limit)
    if not found.cases:
        reasons = ", ".join(f"{count} {reason}" for reason, count in found.left_out.items()) or "there are none"
        if found.unread:
            reasons += f"; rows that are no cases: {len(found.unread)}, the first: {found.unread[0]}"
        raise DataError(f"{metric.name}: no case to probe on among the first {max(limit, MIN_POOL)}: {reasons}")
    alone = metric.model_copy(update={"uses": {}})
    setting = CheckContext(alone, one_by_one=_is_one_by_one(alone, judge), named=named)
    why = {name: check.unfit(setting) for name, check in CHECKS.items() if name in named or not named}
    skips = [SkippedCheck(check=name, reason=reason) for name, reason in why.items() if reason]
    repeated = REPEATS in named or not named
    if repeated and repeats == 1:
        skips.insert(0, SkippedCheck(check=REPEATS, reason=NO_REPEATS))
    return ProbeTask(
        metric=alone,
        built_on=_list_dependencies(metric, options),
        given=metric,
        bases=found,
        wanted=tuple(CHECKS[name] for name, reason in why.items() if reason is None),
        skipped=tuple(skips),
        again=tuple(f"repeat-{n}" for n in range(2, repeats + 1)) if repeated else (),
        mutants=mutants,
    )


def get_probe_folder(metric: Metric, options: ProbeOptions) -> Path:
    """Return the run folder."""
    return Path(options.get("out") or Path("runs") / f"probe-{metric.name}")


def _parse_checks(options: ProbeOptions) -> frozenset[str]:
    """Return the named checks.

    Raises:
        DataError: If one is unknown.
    """
    given = options.get("checks") or ()
    named = frozenset([given] if isinstance(given, str) else given)
    if unknown := sorted(named - {*PROBE_CHECKS}):
        raise DataError(f"no check {', '.join(map(repr, unknown))}; there are: {', '.join(PROBE_CHECKS)}")
    return named


def _list_dependencies(metric: JudgedMetric, options: ProbeOptions) -> tuple[Metric, ...]:
    """Return the metrics that the metric builds on, in dependency order."""
    *below, _ = find_dependencies(metric, options.get("built_on", ()))
    return tuple(below)


def _is_one_by_one(metric: JudgedMetric, judge: Judge | BaseChatModel) -> bool:
    return metric.over is not None and MetricJudge(metric, JudgeClient(judge)).max_items == 1


async def _narrow_cases(task: ProbeTask, stages: ProbeStages) -> Sequence[Case]:
    """Narrow the cases by the metrics that this one builds on, so that only this metric is probed."""
    cases = task.bases.cases
    if not task.given.uses:
        return cases
    found = await stages.run_stage(BUILT_ON, cases, task.built_on)
    through: list[Case] = []
    for case in cases:
        place = BUILT_ON, case.id, case.method
        rows = {name: results[place] for name, results in found.items() if place in results}
        seen, broken = narrow_for_metric(case, task.given, rows)
        failed = broken or len(rows) < len(task.built_on)
        reason = "what it builds on could not be judged" if failed else explain_missing_needs(task.metric, seen)
        if reason:
            task.bases.left_out[reason] += 1
        else:
            through.append(seen)
    return through


def _build_probe(task: ProbeTask, stages: ProbeStages, made: Sequence[ReferenceCases]) -> Probe:
    """Build the result without the figures of the checks."""
    results: list[Result] = [*stages.verdicts.values()]
    return Probe(
        folder=str(stages.folder),
        metric=task.given.name,
        judge=JudgeClient(stages.judge).label,
        cases=len(made),
        checks=(),
        noise=measure_noise(made, stages.verdicts, (MAIN, *task.again)) if task.again else None,
        skipped=task.skipped,
        left_out=dict(task.bases.left_out),
        unread=tuple(task.bases.unread),
        failures=count_failures(results),
        usage=stages.usage,
        cost=stages.cost,
        why=stages.why,
    )
