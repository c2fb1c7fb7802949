"""Compilation of a metric and a judge into a LangChain runnable from a case to a result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from greval.datasets.case_records import CaseLike, as_case
from greval.errors import JudgeError, StoppedError
from greval.judging.metric_judge import MetricJudge, gather_all
from greval.judging.metric_runnable import CaseOutcome, JudgeFunction, MetricRunnable
from greval.judging.model.budget import CallMeter, RunGuard
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.prompt import PROMPT_VERSION
from greval.judging.repeats import merge_orders, merge_repeats
from greval.metrics.dependencies import list_dependency_names as built_on_by
from greval.metrics.library import find_dependencies, require_metric
from greval.records.case import Case, swap_responses
from greval.records.metric import FunctionMetric, JudgedMetric, Metric
from greval.records.metric_input import compute_fingerprint
from greval.records.result import Result, Usage
from greval.runs.judges import JudgeLike, choose_judges
from greval.runs.worker import JudgingLoop, MemoryLog


def compile_metric(
    metric: Metric | str | Path,
    model: JudgeLike | JudgeClient | None = None,
    *,
    repeats: int = 1,
    built_on: Iterable[Metric] = (),
    judges: Mapping[str, JudgeLike | JudgeClient] | None = None,
    meter: CallMeter | None = None,
) -> MetricRunnable:
    """Compile a metric and a judge into a runnable, which can judge any number of cases.

    If the metric builds on others, those are judged first, concurrently, and then the case as narrowed by their
    verdicts. Calls, fingerprints and verdicts are the same as in `evaluate`. The result carries the results of the
    other metrics in `built_on`.

    Args:
        metric: A definition, judged or computed, or its name or file as in `load_metric`.
        model: Settings of a judge, the name of its model, any chat model of LangChain, or a client shared by several
            metrics. A computed metric needs none, and neither does one that names its judge.
        repeats: How often each case is judged. The result is the majority (categories) or the mean (values),
            with the votes and the flip rate.
        built_on: Definitions of the metrics that this one builds on. Missing ones are looked up among the
            predefined metrics.
        judges: Judges of single metrics by name, which go before those that the metrics name and before `model`.
        meter: Counts the calls of several runs and runnables together and may refuse further ones, as in `evaluate`.

    Returns:
        A runnable from a case (or a mapping of its fields) to a `Result`, with `invoke`, `ainvoke`,
        `batch`, `abatch`, `stream` and callbacks like any runnable. The same object can be used from threads,
        scripts and running event loops.

    Raises:
        DefinitionError: If `metric` is not a metric, or if a metric that it builds on is not found or does not fit its
            use.
        JudgeError: If the metric is judged and `model` is None.

    Example:
        >>> from greval.testing import ScriptedJudge
        >>> from greval import CategoricalMetric
        >>> metric = CategoricalMetric(name="tone", description="The tone.", needs=["answer"], steps=["Read."],
        ...                            categories={"Polite": "Courteous.", "Rude": "Insults."})
        >>> judge = ScriptedJudge([{"reason": "It thanks.", "value": "Polite"}])
        >>> compile_metric(metric, judge).invoke({"question": "Hi?", "answer": "Thank you."}).judgements[0].value
        'Polite'
    """
    metric = require_metric(metric)
    metrics = find_dependencies(metric, built_on)
    clients = _create_clients(metrics, model, judges or {})
    parts = compile_metrics(metrics, clients, repeats=repeats)
    runnable = parts[metric.name] if len(parts) == 1 else ComposedRunnable(parts)
    runnable.meter = meter
    return runnable


def _create_clients(
    metrics: Collection[Metric],
    model: JudgeLike | JudgeClient | None,
    judges: Mapping[str, JudgeLike | JudgeClient],
) -> dict[str, JudgeClient]:
    """Return the client of each judged metric: a given one, or one for each judge."""
    ready = {name: judge for name, judge in judges.items() if isinstance(judge, JudgeClient)}
    named_judges = {name: judge for name, judge in judges.items() if not isinstance(judge, JudgeClient)}
    if isinstance(model, JudgeClient):
        # A client that several metrics share is for those that name no judge of their own.
        sharing = (metric for metric in metrics if isinstance(metric, JudgedMetric) and not metric.judge)
        ready = {**{metric.name: model for metric in sharing if metric.name not in named_judges}, **ready}
        model = model.judge
    unassigned = [metric for metric in metrics if metric.name not in ready]
    return {**ready, **choose_judges(unassigned, model, named_judges).create_clients()}


def compile_metrics(
    metrics: Iterable[Metric],
    clients: Mapping[str, JudgeClient],
    *,
    repeats: int | Mapping[str, int] = 1,
) -> dict[str, MetricRunnable]:
    """Compile metrics, each after those that it builds on, separately for a worker; return them by their names.

    Each runnable judges a case as it is passed, without its dependencies; its fingerprint covers them. The judge of
    each judged metric is found by its name, and so are the repeats, unless all metrics share them.
    """
    compiled: dict[str, MetricRunnable] = {}
    for metric in metrics:
        marks = {name: compiled[name].fingerprint for name in built_on_by(metric)}
        if isinstance(metric, FunctionMetric):
            compiled[metric.name] = _compile_function(metric, marks)
        elif isinstance(metric, JudgedMetric):
            times = repeats[metric.name] if isinstance(repeats, Mapping) else repeats
            compiled[metric.name] = _compile_judged(metric, clients[metric.name], times, marks)
    return compiled


class ComposedRunnable(MetricRunnable):
    """A compiled metric together with the compiled metrics that it builds on; see `compile_metric`.

    Args:
        parts: The compiled metrics in order, the one that builds on the others last.
        loop: The judging loop of all cases; by default each case has its own.
    """

    def __init__(self, parts: Mapping[str, MetricRunnable], loop: JudgingLoop | None = None) -> None:
        *_, last = parts.values()
        super().__init__(last.metric, last.judging, mark=last.fingerprint, client=last.client)
        self._parts = parts
        self._loop = loop

    def for_batch(self) -> MetricRunnable:
        """Return a runnable that judges cases of equal content only once."""
        return ComposedRunnable(self._parts, self._begin_loop(self.meter))

    async def _judge(self, fields: CaseLike, context: CallContext) -> Result:
        """Judge a case as a run does, and attach the results of the other metrics as `built_on`."""
        loop = self._loop or self._begin_loop(context.meter)
        (results,) = await loop.judge_cases([as_case(fields)], context.config)
        result = results.pop(self.metric.name, None)
        if result is None:
            raise StoppedError("no further call is made")
        return result.replace(built_on=tuple(results.values()))

    def _begin_loop(self, meter: CallMeter | None) -> JudgingLoop:
        # Failures stop nothing outside a run.
        guard = RunGuard(watchful=False)
        return JudgingLoop(MemoryLog(), self._parts, guard, meter=meter, asked={self.metric.name})


def _compile_function(metric: FunctionMetric, fingerprints: Mapping[str, str]) -> MetricRunnable:
    """Compile a computed metric. An exception of its function becomes a failure of the case."""
    from greval.metrics.computed.outcomes import compute_outcome

    async def compute(case: Case, context: CallContext) -> CaseOutcome:
        return CaseOutcome(compute_outcome(metric, case, context.verdicts))

    mark = compute_fingerprint(metric, {}, fingerprints)
    return MetricRunnable(metric, compute, mark=mark)


def _compile_judged(
    metric: JudgedMetric, client: JudgeClient, repeats: int, fingerprints: Mapping[str, str]
) -> MetricRunnable:
    """Compile a judged metric without its dependencies. `fingerprints` holds those of the metrics that it builds on."""
    if repeats < 1:
        raise JudgeError(f"{metric.name}: repeats must be 1 or more, got {repeats}")
    asking = MetricJudge(metric, client)
    settings = {**asking.settings, "prompt": PROMPT_VERSION, "tier": client.tier}
    return MetricRunnable(
        metric,
        asking if repeats == 1 and not metric.preference else _repeat_judging(asking, repeats),
        mark=compute_fingerprint(metric, {**settings, "repeats": repeats}, fingerprints),
        client=client,
        prompt_group=asking.prompt_group,
    )


def _repeat_judging(asking: MetricJudge, repeats: int) -> JudgeFunction:
    """Judge each case several times, a pair in both orders each time, and merge the outcomes."""
    metric = asking.metric

    async def judge(case: Case, context: CallContext) -> CaseOutcome:
        views = (case, swap_responses(case)) if metric.preference else (case,)
        contexts = [context._replace(repeat=number, one_of_many=True) for number in range(repeats)]
        rounds = await gather_all(asking(view, repeated) for view in views for repeated in contexts)
        outcomes = [judged.outcome for judged in rounds]
        if metric.preference:
            merged = merge_orders(metric, outcomes[:repeats], outcomes[repeats:])
        else:
            merged = merge_repeats(metric, outcomes)
        served_by = tuple(dict.fromkeys(model for judged in rounds for model in judged.served_by))
        return CaseOutcome(merged, sum((judged.usage for judged in rounds), Usage()), served_by)

    return judge
