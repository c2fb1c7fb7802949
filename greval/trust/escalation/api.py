"""Evaluation with two judges: the first decides what it is sure of, and the second judges the rest.

The first judge judges all cases, in a run of its own within the run folder. Labels of people choose how certain it has
to be. The run folder then has the verdicts that stand, and those of the second judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from greval._util.arguments import resolve_run_folder
from greval.datasets.case_records import CaseRecords, read_records
from greval.datasets.row_sources import STDIN
from greval.errors import DataError, JudgeError
from greval.judging.model.budget import RunSpending
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge, check_judge, read_judge
from greval.judging.model.prices import Prices
from greval.metrics.sources import MetricLike, resolve_metrics
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.result import Result, Usage, add_reported
from greval.records.scale import NumberRange, Scale, Value, ValueScale
from greval.runs.escalation import FIRST_FOLDER, FirstVerdicts, compute_certainty
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.judges import JudgeModel, choose_judge, is_same_judge
from greval.runs.manifest import ESCALATION, read_stored_escalation, sum_spending
from greval.runs.options import (
    EvaluateOptions,
    describe_shared_stop,
    get_asked_names,
    get_prices,
    get_source,
    share_caps,
)
from greval.runs.run_folder import choose_folder, find_free_folder
from greval.runs.run_reader import CaseKey, read_metric
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.writer import StoreWriter
from greval.stats.bootstrap import encode_names
from greval.stats.fixed_sequence import ERROR, ThresholdChoice, choose_threshold, count_labels_needed
from greval.stats.interval import Measured, build_measured, mean_interval, sum_by_cluster
from greval.trust.agreement.value_pairs import (
    BINARY_SIZE,
    MatchedItems,
    ValuePair,
    build_no_match_error,
    match_items,
    pair_values,
)
from greval.trust.annotations.files import ANNOTATIONS_FILE, MAX_LISTED, load_annotations
from greval.trust.escalation.records import EscalatedMetric, Escalation, EscalationSide

if TYPE_CHECKING:
    from greval.records.annotation import Annotation

DEFAULT_AGREEMENT = 0.9
AGREES = NumberRange(0.0, 1.0, binary=True)
"""The range of an agreement: 1 if a verdict agrees with people, else 0."""


@dataclass(frozen=True)
class EscalationTask:
    """What two judges have to do: the metrics that both may judge, the judge of each metric, and the labels."""

    folder: Path
    metrics: tuple[str, ...]
    firsts: Mapping[str, JudgeModel]
    second: JudgeModel
    labels: tuple[Annotation, ...]
    unread: tuple[str, ...]
    agreement: float

    @property
    def first_folder(self) -> Path:
        """The folder of the first judge's run."""
        return self.folder / FIRST_FOLDER


async def evaluate_with_escalation(
    cases: CaseRecords,
    metrics: Sequence[MetricLike],
    judge: JudgeModel | str | None = None,
    *,
    out: str | Path | None = None,
    stop: asyncio.Event | None = None,
    **options: Unpack[EvaluateOptions],
) -> Run:
    """Evaluate with two judges; see the option `escalate` of `evaluate_async`.

    Raises:
        DataError: If there are too few labels for any threshold, or these are no random sample.
        JudgeError: If a judge cannot be used, or the first one does not say how sure it is.
    """
    reading = read_records(cases, columns=options.get("columns"))
    # Rows that can be read only once are held for the second judge.
    if isinstance(cases, Iterator) or reading.name == STDIN:
        cases, options["columns"] = [*reading], None
    options["origin"] = source = get_source(reading, options)
    folder = choose_folder(reading.name, source) if out is None else Path(out)
    folder = folder if options.pop("resume", True) else find_free_folder(folder)
    task = _build_task(folder, metrics, judge, options)
    prices = get_prices(options)
    before = sum_spending([task.folder, task.first_folder], prices)
    shared: EvaluateOptions = {**options, "escalate": None, "prices": prices}
    deadline = options.get("deadline")
    judges = {**(options.get("judges") or {}), **task.firsts}
    first_options: EvaluateOptions = {
        **shared,
        **share_caps(options, sum_spending([task.folder], prices)),
        "judges": judges,
        # The second run reads the same rows and reports them.
        "on_unread": lambda _: None,
    }
    first_run = await evaluate_async(cases, metrics, judge, out=task.first_folder, stop=stop, **first_options)
    why = first_run.why and describe_shared_stop(first_run.why, options, before)
    with Store.open(task.first_folder) as store:
        choices = {} if why else {name: _choose_threshold(store, name, task) for name in task.metrics}
        second_options: EvaluateOptions = {
            **shared,
            **share_caps(options, sum_spending([task.first_folder], prices)),
            "deadline": deadline and max(deadline - first_run.progress.seconds, 0.0),
            "judges": judges | dict.fromkeys(task.metrics, task.second),
            # Repeats say how sure the first judge is.
            "repeats": 1,
            "first": FirstVerdicts(store, {name: choice.threshold for name, choice in choices.items()}, why),
        }
        run = await evaluate_async(cases, metrics, judge, out=task.folder, stop=stop, **second_options)
        escalation = None
        if run.why is None:
            described = tuple(_describe_metric(store, task, name, choice, prices) for name, choice in choices.items())
            escalation = Escalation(agree=task.agreement, error=ERROR, metrics=described)
        with StoreWriter.create(task.folder) as writer:
            writer.copy_calls(store)
            writer.put_fact(ESCALATION, None if escalation is None else escalation.model_dump(mode="json"))
    progress, earlier = run.progress, first_run.progress
    both = {"usage": progress.usage + earlier.usage, "cost": add_reported(progress.cost, earlier.cost)}
    return replace(
        run,
        progress=progress.model_copy(update=both),
        why=run.why and describe_shared_stop(run.why, options, before),
        fatal=run.fatal or first_run.fatal,
    )


def read_escalation(run: str | Path | Run) -> Escalation | None:
    """Return how the two judges of a run shared its cases, None if it had one judge or is not finished.

    Raises:
        StoreError: If the folder is not a run.
    """
    with Store.open(resolve_run_folder(run)) as store:
        content = read_stored_escalation(store)
    return None if content is None else Escalation.model_validate(content, strict=False)


def _build_task(
    folder: Path, metrics: Sequence[MetricLike], judge: JudgeModel | str | None, options: EvaluateOptions
) -> EscalationTask:
    """Read what the judges have to do, and check it before any call is paid for."""
    agreement = options.pop("agree", DEFAULT_AGREEMENT)
    if not 0 < agreement < 1:
        raise DataError(f"agree: expected a share between 0 and 1, got {agreement:g}; {DEFAULT_AGREEMENT} is usual")
    if options.get("shard"):
        raise DataError("shard: expected all cases, because labels of all of them choose a threshold; leave it out")
    second = read_judge(options["escalate"] or "")
    if isinstance(second, Judge):
        check_judge(second)
    loaded = resolve_metrics(metrics)
    asked = get_asked_names(loaded.asked, options)
    judged = [metric for metric in loaded.metrics if isinstance(metric, JudgedMetric)]
    firsts = {metric.name: choose_judge(metric, judge, options.get("judges")) for metric in judged}
    # A metric that is judged only because others need it keeps its judge: nobody labels it.
    both = [metric for metric in judged if metric.name in asked and not is_same_judge(firsts[metric.name], second)]
    if not both:
        raise JudgeError(
            f"escalate: expected a metric with another judge than {JudgeClient(second).label}, found none; name a "
            "cheaper judge (--judge)"
        )
    if options.get("repeats", 1) == 1:
        for metric in both:
            firsts[metric.name] = _ask_for_confidence(metric, firsts[metric.name])
    labels, scales = options.pop("labels", None), {metric.name: metric.scale for metric in both}
    if labels is None and not (folder / ANNOTATIONS_FILE).is_file():
        raise DataError("labels: expected labels of people, found none; name their file (--labels FILE)")
    loaded_labels = load_annotations(folder, labels, scales, metric=both[0].name if len(both) == 1 else None)
    names = tuple(metric.name for metric in both)
    task = EscalationTask(folder, names, firsts, second, *loaded_labels[:2], agreement)
    for name in names:
        given = [row for row in task.labels if row.metric == name and row.status == "submitted"]
        if len({row.weight for row in given}) > 1:
            raise DataError(
                f"{name}: expected labels of a random sample, found items that were drawn with different "
                "probabilities; label the first rows of a sheet (greval results RUN --label-sheet FILE)"
            )
        _check_label_count(name, len({row.sample_id for row in given}), task)
    return task


def _ask_for_confidence(metric: JudgedMetric, judge: JudgeModel) -> JudgeModel:
    """Return a judge that is asked for the probability of its verdicts; both orders of a pair say enough without."""
    if isinstance(judge, Judge):
        return judge.model_copy(update={"confidence": True})
    if metric.preference:
        return judge
    raise _build_unsure_error(metric.name, judge)


def _build_unsure_error(metric: str, judge: JudgeModel) -> JudgeError:
    return JudgeError(
        f"{metric}: expected a first judge that says how sure it is, but {JudgeClient(judge).label} gives no "
        "probability; judge each case several times (--repeats 3), or name a judge whose server returns token "
        "probabilities, in a new run folder if this one was judged without (-o RUN)"
    )


def _check_label_count(metric: str, count: int, task: EscalationTask) -> None:
    """Raise `DataError` if so few questions are labelled that no threshold can pass."""
    needed = count_labels_needed(task.agreement)
    if needed is not None and count < needed:
        places = "".join(f"\n{fault}" for fault in task.unread[:MAX_LISTED])
        raise DataError(
            f"{metric}: expected labels of at least {needed} questions, with which an agreement of {task.agreement:g} "
            f"can be shown if all agree, found {count}; label {needed - count} more, drawn at random{places}"
        )


def _choose_threshold(store: Store, metric: str, task: EscalationTask) -> ThresholdChoice:
    """Choose how certain the first judge has to be about a metric."""
    results = store.results(ResultFilter(metrics=(metric,)))
    certainties: dict[CaseKey, float] = {}
    judged = 0
    for result in results:
        judged += bool(result.judgements)
        if (certainty := compute_certainty(result)) is not None:
            certainties[result.sample_id, result.method] = certainty
    if judged and not certainties:
        raise _build_unsure_error(metric, task.firsts[metric])
    items = _match_labels(store, metric, task)
    drawn = draw_pairs(pair_values(items.matched.things, items.combine))
    labelled = [
        (certainties[pair.thing.key[:2]], agrees_with_people(items.scale, pair.people, pair.judge))
        for pair in drawn
        if pair.thing.key[:2] in certainties
    ]
    _check_label_count(metric, len(labelled), task)
    return choose_threshold([*certainties.values()], labelled, task.agreement)


def _match_labels(store: Store, metric: str, task: EscalationTask) -> MatchedItems:
    """Match the labels with verdicts. A mean of repeats is a number between levels, and a verdict as any other."""
    scale = read_metric(store, metric).scale
    is_binary = isinstance(scale, ValueScale) and scale.size == BINARY_SIZE
    items = match_items(
        store,
        metric,
        task.labels,
        treat_as="numbers" if isinstance(scale, ValueScale) else None,
        combine="majority" if is_binary else None,
    )
    if not items.matched.things:
        raise build_no_match_error(items, store.folder, metric)
    return items


def draw_pairs(pairs: Iterable[ValuePair]) -> list[ValuePair]:
    """Draw one pair of each question: several of one question are not independent, and a test counts them as such.

    The draw depends on nothing but the names of the items, so that it is the same in each command.
    """
    drawn: dict[str, ValuePair] = {}
    for pair in sorted(pairs, key=lambda pair: hash_json([*pair.thing.key])):
        drawn.setdefault(pair.thing.sample_id, pair)
    return [*drawn.values()]


def agrees_with_people(scale: Scale, people: Value, judge: Value) -> bool:
    """Return whether a verdict is that of people: the same category, or a level within half a step of their mean."""
    if isinstance(scale, ValueScale):
        return 2 * abs(float(people) - scale.find_nearest(float(judge))) <= (scale.step or 1)
    return people == judge


def _describe_metric(
    store: Store, task: EscalationTask, metric: str, choice: ThresholdChoice, prices: Prices
) -> EscalatedMetric:
    """Describe what both judges did for a metric, given the first judge's run."""
    first_results = [*store.results(ResultFilter(metrics=(metric,)))]
    with Store.open(task.folder) as final, final.snapshot():
        results = [row for row in final.results(ResultFilter(metrics=(metric,))) if row.outcome.status != "skipped"]
        items = _match_labels(final, metric, task)
        plan = next(plan.fingerprint for plan in final.plans() if plan.metric == metric)
    prints = {result.fingerprint for result in first_results}
    decided = {(result.sample_id, result.method) for result in results if result.fingerprint in prints}
    escalated = {(result.sample_id, result.method) for result in results} - decided
    pairs = pair_values(items.matched.things, items.combine)
    first_label, second_label = JudgeClient(task.firsts[metric]).label, JudgeClient(task.second).label

    def describe_side(judge: str, keys: set[CaseKey]) -> EscalationSide:
        own_pairs = [pair for pair in pairs if pair.thing.key[:2] in keys]
        measured = _measure_agreement(items.scale, own_pairs)
        return EscalationSide(judge=judge, cases=len(keys), labels=len(own_pairs), agreement=measured)

    second_rows = (result for result in results if (result.sample_id, result.method) in escalated)
    second_spending = _sum_usage(second_rows, second_label, prices)
    tried = next((test for test in reversed(choice.tried) if test.threshold == choice.threshold), choice.tried[0])
    return EscalatedMetric(
        metric=metric,
        plan=plan,
        threshold=choice.threshold,
        questions=len(draw_pairs(pairs)),
        sure=tried.labels,
        agreeing=tried.agreeing,
        labels_needed=choice.labels_needed,
        first=describe_side(first_label, decided),
        second=describe_side(second_label, escalated),
        whole=describe_side(f"{first_label}, then {second_label}", decided | escalated),
        first_spending=_sum_usage(first_results, first_label, prices),
        second_spending=second_spending,
        alone=_project_spending(second_spending, len(escalated), len(results)),
        warnings=tuple(_find_warnings(items, task)),
    )


def _measure_agreement(scale: Scale, pairs: Sequence[ValuePair]) -> Measured:
    """Measure the share of labels with which verdicts agree; labels of one question count as correlated."""
    if not pairs:
        return build_measured(None, 0, "no verdict has a label")
    agrees = np.array([float(agrees_with_people(scale, pair.people, pair.judge)) for pair in pairs])
    clusters = sum_by_cluster(agrees, encode_names([pair.thing.sample_id for pair in pairs]))
    return build_measured(clusters.mean, len(pairs), "", interval=mean_interval(*clusters, AGREES))


def _sum_usage(results: Iterable[Result], label: str, prices: Prices) -> RunSpending:
    usage = sum((result.usage for result in results), Usage())
    return RunSpending(calls=usage.calls, cost=prices.cost(label, usage) if usage.calls else 0.0)


def _project_spending(spending: RunSpending, cases: int, all_cases: int) -> RunSpending | None:
    """Return what a judge would spend on all cases, given what it spent on some."""
    if not cases:
        return None
    cost = None if spending.cost is None else spending.cost / cases * all_cases
    return RunSpending(calls=round(spending.calls / cases * all_cases), cost=cost)


def _find_warnings(items: MatchedItems, task: EscalationTask) -> Iterator[str]:
    """Yield what limits the guarantee."""
    if count := sum(item.suggested for item in items.matched.things):
        yield f"{count} labels were given with the judge's verdict in sight, so that people may agree too often"
    if task.unread:
        yield f"{len(task.unread)} rows of the labels could not be read, the first: {task.unread[0]}"
