"""Probe a judge: judge cases, mutate them so that the right verdict is known, judge the mutants, and count."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
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
from greval.metrics.library import find_dependencies, find_metric, require_metric
from greval.records.case import Case
from greval.records.formula_metric import StoredMetric
from greval.records.metric import JudgedMetric, Metric
from greval.records.metric_input import explain_missing_needs
from greval.runs.forecast import Forecast, forecast
from greval.runs.judges import choose_judge
from greval.runs.manifest import PROBE_TAG
from greval.runs.options import EvaluateOptions
from greval.runs.worker import narrow_for_metric
from greval.trust.agreement.rules import compute_numbers, list_word_rules
from greval.trust.probing.checks import CHECKS, PROBE_CHECKS, REPEATS, CheckContext, ProbeCheck
from greval.trust.probing.kill_rates import count_check, measure_noise
from greval.trust.probing.plan import (
    MAIN,
    MIN_POOL,
    OTHER_ORDER,
    SourceCases,
    build_references,
    get_verdict_key,
    iter_demo_cases,
    plan_mutants,
    read_source_cases,
)
from greval.trust.probing.records import Probe, SkippedCheck
from greval.trust.probing.stages import ProbeOptions, ProbeStages

DEFAULT_LIMIT = 20
DEFAULT_MUTANTS = 1
DEFAULT_REPEATS = 3
BUILT_ON = "built-on"
NO_REPEATS = "each case is judged once only (repeats of 1)"


def probe(
    metric: Metric,
    judge: Judge | BaseChatModel | None,
    cases: CaseRecords | None = None,
    **options: Unpack[ProbeOptions],
) -> Probe:
    """Measure which planted faults a judge catches on a metric, without labels. The blocking form of `probe_async`.

    Example:
        >>> import tempfile
        >>> from greval import load_metric
        >>> from greval.testing import ScriptedJudge
        >>> judge = ScriptedJudge([{"reason": "It always says so.", "value": 1}])
        >>> result = probe(load_metric("correctness"), judge, checks=["empty"], limit=2, out=tempfile.mkdtemp())
        >>> result.checks[0].name, result.checks[0].rate.value, result.checks[0].rate.n
        ('empty', 0.0, 2)
    """
    return run_sync(probe_async(metric, judge, cases, **options))


async def probe_async(
    metric: Metric,
    judge: Judge | BaseChatModel | None,
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
        judge: Settings of a judge or a chat model. It may be None if the metric names its judge.
        cases: The cases, preferably with good answers. Defaults to the shipped ones.
        stop: When set, no further call is made.
        **options: `checks`: names from `PROBE_CHECKS`; all that apply by default. `limit` (20): the number of cases.
            `mutants` (1): the number of variants per check and case. `repeats` (3): how often the unchanged cases are
            judged. `out` (runs/probe-METRIC): the run folder; stored results are reused. `built_on`: definitions that
            the metric builds on, if they are not in the library. `concurrency`, `gate`, `meter`, `retry_failed`,
            `prices`, `on_progress`, `on_result`: as in `evaluate`. `max_calls`, `max_cost` (US dollars): caps for the
            run folder, over all calls of this function.

    Returns:
        The kill rates, the noise, and the checks that could not be made, as data. `greval probe` prints it.

    Raises:
        DataError: If no case fits the metric, or a check is unknown.
        DefinitionError: If the metric builds on one that does not exist.
        JudgeError: If the judge cannot be used at all.
        StoreError: If the folder cannot be written, or contains a run that is not a probe.
    """
    check_options(options, ProbeOptions, "probe")
    task = _build_task(require_metric(metric), judge, cases, options)
    stages = ProbeStages(_get_folder(metric, options), judge, options, stop)
    stages.check_folder()
    bases = build_references(await _narrow_cases(task, stages), task.source.pool, task.metric, task.checks)
    references = [case for base in bases for case in base.references.values()]
    await stages.run_stage(MAIN, references, [task.metric], part="references")
    plan = plan_mutants(bases, task.metric, task.checks, stages.verdicts, mutants=task.mutants)
    await stages.run_stage(MAIN, plan.cases, [task.metric], part="planted")
    unchanged = [base.original for base in bases]
    for check in task.checks:
        if check.reworded:
            await stages.run_stage(OTHER_ORDER, unchanged, [check.reworded(task.metric)])
    for name in task.repeats:
        await stages.run_stage(name, unchanged, [task.metric])
    rule = next(iter(list_word_rules(StoredMetric(task.metric.model_dump(mode="json")))), None)
    compared = (*references, *plan.cases) if rule else ()
    numbers = {get_verdict_key(case): compute_numbers(find_metric(rule.name), case) for case in compared if rule}
    counted = [count_check(check, plan, stages.verdicts, task.metric.scale, numbers) for check in task.checks]
    return Probe(
        folder=str(stages.folder),
        metric=task.given.name,
        judge=JudgeClient(choose_judge(task.metric, judge, options.get("judges"))).label,
        cases=len(bases),
        checks=tuple(result for result, _ in counted),
        noise=measure_noise(bases, stages.verdicts, (MAIN, *task.repeats)) if task.repeats else None,
        rule=rule.phrase if rule else None,
        skipped=task.skipped,
        survivors=tuple(survivor for _, survivors in counted for survivor in survivors),
        left_out=dict(task.source.left_out),
        unread=tuple(task.source.unread),
        failures=dict(Counter(failure.kind for result in stages.verdicts.values() for failure in result.failures)),
        usage=stages.usage,
        cost=stages.cost,
        why=stages.why,
    )


def forecast_probe(
    metric: Metric,
    judge: Judge | None,
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
    task = _build_task(metric, judge, cases, probe_options)
    folder = _get_folder(metric, probe_options)
    stages = ProbeStages(folder, judge, probe_options)
    stages.check_folder()
    options: EvaluateOptions = {"prices": probe_options.get("prices"), "probe": True}
    parts = [
        (
            name,
            forecast(
                stage_cases, metrics, judge, out=folder / stage, **(options | {"judges": stages.select_judges(metrics)})
            ),
        )
        for name, stage, stage_cases, metrics in _list_stages(task)
        if stage_cases
    ]
    return parts[0][1].model_copy(
        update={
            "expected": tuple(
                expected.model_copy(update={"metric": f"{expected.metric} ({name})" if name else expected.metric})
                for name, part in parts
                for expected in part.expected
            ),
            "unread": len(task.source.unread),
            "spent": stages.before,
            "max_calls": probe_options.get("max_calls"),
            "max_cost": probe_options.get("max_cost"),
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
    source: SourceCases
    checks: tuple[ProbeCheck, ...]
    skipped: tuple[SkippedCheck, ...]
    repeats: tuple[str, ...]
    mutants: int


def _build_task(
    metric: Metric, judge: Judge | BaseChatModel | None, cases: CaseRecords | None, options: ProbeOptions
) -> ProbeTask:
    """Read the cases and select the checks, or raise `DataError` if there is nothing to probe."""
    if not isinstance(metric, JudgedMetric):
        raise DataError(f"{metric.name}: is computed, not judged: there is no judge to probe")
    check_names = _parse_checks(options)
    limit, mutants = options.get("limit", DEFAULT_LIMIT), options.get("mutants", DEFAULT_MUTANTS)
    repeats = options.get("repeats", DEFAULT_REPEATS)
    if min(limit, mutants, repeats) < 1:
        raise DataError(f"limit, mutants and repeats must be 1 or more, got {limit}, {mutants} and {repeats}")
    source = read_source_cases(iter_demo_cases() if cases is None else cases, metric, limit)
    if not source.cases:
        reasons = ", ".join(f"{count} {reason}" for reason, count in source.left_out.items()) or "no case was read"
        if source.unread:
            reasons += f"; rows that are not cases: {len(source.unread)}, the first: {source.unread[0]}"
        raise DataError(f"{metric.name}: no case to probe on among the first {max(limit, MIN_POOL)}: {reasons}")
    # Its cases are narrowed already, so the mutants must not be narrowed again.
    alone = metric.model_copy(update={"uses": {}})
    chosen = choose_judge(metric, judge, options.get("judges"))
    one_by_one = alone.over is not None and MetricJudge(alone, JudgeClient(chosen)).max_items == 1
    context = CheckContext(alone, one_by_one=one_by_one, named=check_names)
    unfit = {name: check.unfit(context) for name, check in CHECKS.items() if name in check_names or not check_names}
    skipped = [SkippedCheck(check=name, reason=reason) for name, reason in unfit.items() if reason]
    repeated = REPEATS in check_names or not check_names
    if repeated and repeats == 1:
        skipped.insert(0, SkippedCheck(check=REPEATS, reason=NO_REPEATS))
    *built_on, _ = find_dependencies(metric, options.get("built_on", ()))
    return ProbeTask(
        metric=alone,
        built_on=tuple(built_on),
        given=metric,
        source=source,
        checks=tuple(CHECKS[name] for name, reason in unfit.items() if reason is None),
        skipped=tuple(skipped),
        repeats=tuple(f"repeat-{n}" for n in range(2, repeats + 1)) if repeated else (),
        mutants=mutants,
    )


def _get_folder(metric: Metric, options: ProbeOptions) -> Path:
    return Path(options.get("out") or Path("runs") / f"probe-{metric.name}")


def _parse_checks(options: ProbeOptions) -> frozenset[str]:
    """Return the named checks, or raise `DataError` if one is unknown."""
    checks = options.get("checks") or ()
    names = frozenset([checks] if isinstance(checks, str) else checks)
    if unknown := sorted(names - {*PROBE_CHECKS}):
        allowed, got = ", ".join(PROBE_CHECKS), ", ".join(map(repr, unknown))
        raise DataError(f"checks: expected names among {allowed}, got {got}")
    return names


async def _narrow_cases(task: ProbeTask, stages: ProbeStages) -> Sequence[Case]:
    """Narrow the cases by the metrics that this one builds on, so that only this metric is probed."""
    if not task.given.uses:
        return task.source.cases
    results = await stages.run_stage(BUILT_ON, task.source.cases, task.built_on)
    narrowed: list[Case] = []
    for case in task.source.cases:
        key = BUILT_ON, case.id, case.method
        rows = {name: by_key[key] for name, by_key in results.items() if key in by_key}
        narrow_case, broken = narrow_for_metric(case, task.given, rows)
        # A probe that was stopped early has no row of some of the metrics.
        failed = broken or len(rows) < len(task.built_on)
        reason = "what it builds on could not be judged" if failed else explain_missing_needs(task.metric, narrow_case)
        if reason:
            task.source.left_out[reason] += 1
        else:
            narrowed.append(narrow_case)
    return narrowed


def _list_stages(task: ProbeTask) -> Iterator[tuple[str, str, Sequence[Case], Sequence[Metric]]]:
    """Yield the name, folder, cases and metrics of each stage."""
    if task.given.uses:
        yield "", BUILT_ON, task.source.cases, task.built_on
    bases = build_references(task.source.cases, task.source.pool, task.metric, task.checks)
    unchanged = [base.original for base in bases]
    yield "unchanged", MAIN, unchanged, [task.metric]
    foreign_cases = [base.references["other"] for base in bases if "other" in base.references]
    yield "another question's", MAIN, foreign_cases, [task.metric]
    plan = plan_mutants(bases, task.metric, task.checks, None, mutants=task.mutants)
    for check in task.checks:
        yield check.name, MAIN, [case for case in plan.cases if case.tags[PROBE_TAG] == check.name], [task.metric]
        if check.reworded:
            yield check.name, OTHER_ORDER, unchanged, [check.reworded(task.metric)]
    for name in task.repeats:
        yield name, name, unchanged, [task.metric]
