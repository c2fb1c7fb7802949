"""Compilation of a metric and a judge into a LangChain runnable from a case to a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from greval.datasets.case_records import CaseLike, as_case
from greval.errors import JudgeError, StoppedError
from greval.judging.metric_judge import MetricJudge, gather_all
from greval.judging.metric_runnable import CaseOutcome, JudgeFunction, MetricRunnable
from greval.judging.model.budget import RunGuard
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.orders import merge_orders
from greval.judging.prompt import PROMPT_VERSION
from greval.judging.repeats import merge_repeats
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.dependencies import list_dependency_names as built_on_by
from greval.metrics.library import find_dependencies
from greval.records.case import Case, swap_responses
from greval.records.metric import FunctionMetric, JudgedMetric, Metric, Verdicts
from greval.records.metric_input import compute_fingerprint
from greval.records.result import Result, Tier, Usage
from greval.runs.judges import choose_judges
from greval.runs.worker import JudgingLoop, MemoryLog


def compile_metric(
    metric: Metric,
    model: Judge | BaseChatModel | JudgeClient | None = None,
    *,
    repeats: int = 1,
    built_on: Iterable[Metric] = (),
    judges: Mapping[str, Judge | BaseChatModel | JudgeClient] | None = None,
) -> MetricRunnable:
    """Compile a metric and a judge into a runnable, which can judge any number of cases.

    If the metric builds on others, those are judged first, concurrently, and then the case as narrowed by their
    verdicts. Calls, fingerprints and verdicts are the same as in `evaluate`. The result carries the results of the
    other metrics in `built_on`.

    Args:
        metric: A definition, judged or computed.
        model: Settings of a judge, any chat model of LangChain, or a client shared by several
            metrics. A computed metric needs none, and neither does one that names its judge.
        repeats: How often each case is judged. The result is the majority (categories) or the mean (values),
            with the votes and the flip rate.
        built_on: Definitions of the metrics that this one builds on. Missing ones are looked up among the
            predefined metrics.
        judges: Judges of single metrics by name, which go before those that the metrics name and before `model`.

    Returns:
        A runnable from a case (or a mapping of its fields) to a `Result`, with `invoke`, `ainvoke`,
        `batch`, `abatch`, `stream` and callbacks like any runnable. The same object can be used from threads,
        scripts and running event loops.

    Raises:
        DefinitionError: If `metric` is not a metric, such as a name, or if a metric that it builds on is not found
            or does not fit its use.
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
    metrics = find_dependencies(metric, built_on)
    clients = _create_clients(metrics, model, judges or {})
    parts = compile_metrics(metrics, clients, repeats=repeats)
    if len(parts) == 1:
        return parts[metric.name]
    guard = next(iter(clients.values())).guard if clients else RunGuard(watchful=False)
    return ComposedRunnable(parts, guard.run)


def _create_clients(
    metrics: Iterable[Metric],
    model: Judge | BaseChatModel | JudgeClient | None,
    judges: Mapping[str, Judge | BaseChatModel | JudgeClient],
) -> dict[str, JudgeClient]:
    """Return the client of each judged metric: a given one, or one for each judge, all with one guard."""
    ready = {name: judge for name, judge in judges.items() if isinstance(judge, JudgeClient)}
    plain = {name: judge for name, judge in judges.items() if not isinstance(judge, JudgeClient)}
    left = [metric for metric in metrics if metric.name not in ready]
    default: Judge | BaseChatModel | None
    if isinstance(model, JudgeClient):
        named = {*plain, *(one.name for one in left if isinstance(one, JudgedMetric) and one.judge)}
        ready |= {metric.name: model for metric in left if metric.kind == "judged" and metric.name not in named}
        left, default = [metric for metric in left if metric.name in named], model.judge
    else:
        default = model
    guard = model.guard if isinstance(model, JudgeClient) else RunGuard(watchful=False)
    chosen = choose_judges(left, default, plain)
    return {**ready, **chosen.assign([JudgeClient(group.judge, guard=guard) for group in chosen.groups])}


def compile_metrics(
    metrics: Iterable[Metric],
    clients: JudgeClient | Mapping[str, JudgeClient] | None,
    *,
    repeats: int | Mapping[str, int] = 1,
) -> dict[str, MetricRunnable]:
    """Compile metrics separately for a worker. Each runnable judges a case as it is passed, without its dependencies.

    Args:
        metrics: Definitions, each after those that it builds on.
        clients: The judge that they share, or that of each judged metric by its name, or None if all are computed.
        repeats: How often each case is judged, or that of each metric by its name.

    Returns:
        The runnables by name in the same order. The fingerprint of each covers the metrics that it builds on.

    Raises:
        JudgeError: If a judged metric has no client.
    """
    compiled: dict[str, MetricRunnable] = {}
    for metric in metrics:
        marks = {name: compiled[name].fingerprint for name in built_on_by(metric)}
        client = clients.get(metric.name) if isinstance(clients, Mapping) else clients
        times = repeats[metric.name] if isinstance(repeats, Mapping) else repeats
        compiled[metric.name] = _compile_one(metric, client, times, marks)
    return compiled


def replace_clients(
    compiled: Mapping[str, MetricRunnable], clients: Mapping[str, JudgeClient]
) -> dict[str, MetricRunnable]:
    """Return metrics compiled by `compile_metrics` that ask other clients of the same judges, by the metrics' names.

    What was built for them is shared. A server compiles its metrics once, and each request has a guard of its own.
    """
    return {
        name: runnable.with_judging(runnable.judging.with_client(clients[name]), clients[name].prepare)
        if isinstance(runnable.judging, MetricJudge | RepeatedJudge)
        else runnable
        for name, runnable in compiled.items()
    }


class ComposedRunnable(MetricRunnable):
    """A compiled metric together with the compiled metrics that it builds on; see `compile_metric`.

    Args:
        parts: The compiled metrics in order, the one that builds on the others last.
        guard: Decides whether calls may be made.
    """

    def __init__(self, parts: Mapping[str, MetricRunnable], guard: RunGuard) -> None:
        """Store the compiled metrics."""
        *_, own = parts.values()
        super().__init__(own.metric, own.judging, judge=own.judge, tier=own.tier, mark=own.fingerprint)
        self._parts = parts
        self._guard = guard
        self._work: JudgingLoop | None = None

    def for_batch(self) -> MetricRunnable:
        """Return a runnable that judges cases of equal content only once."""
        shared = copy(self)
        shared._work = self._begin_work()  # noqa: SLF001 - its own copy
        return shared

    async def _judge_case(self, given: CaseLike, run_manager: object, config: RunnableConfig) -> Result:  # noqa: ARG002
        """Judge a case as a run does, and attach the results of the other metrics as `built_on`."""
        work = self._work or self._begin_work()
        (found,) = await work.judge_cases([as_case(given)], config)
        result = found.pop(self.metric.name, None)
        if result is None:
            raise StoppedError(self._guard.why or "no further call is made")
        return result.replace(built_on=tuple(found.values()))

    def _begin_work(self) -> JudgingLoop:
        return JudgingLoop(MemoryLog(), self._parts, self._guard, asked={self.metric.name})


class FunctionRunnable(MetricRunnable):
    """A compiled metric that is a function of a case and of the verdicts of the metrics that it builds on, if any."""

    def __init__(self, metric: FunctionMetric, fingerprint: str) -> None:
        """Store the metric."""
        super().__init__(metric, _create_compute_function(metric, {}), judge="", tier="computed", mark=fingerprint)
        self._function = metric

    def with_verdicts(self, verdicts: Verdicts) -> MetricRunnable:
        """Return a copy that computes from these verdicts; an exception of its function is a failure of the case."""
        if not verdicts:
            return self
        other = copy(self)
        other.judging = _create_compute_function(self._function, verdicts)
        return other


def _compile_one(
    metric: Metric, client: JudgeClient | None, repeats: int, fingerprints: Mapping[str, str]
) -> MetricRunnable:
    """Compile a metric without its dependencies. `fingerprints` holds those of the metrics that it builds on."""
    if isinstance(metric, FunctionMetric):
        return FunctionRunnable(metric, compute_fingerprint(metric, {}, fingerprints))
    if client is None or not isinstance(metric, JudgedMetric):
        message = f"{metric.name}: a judged metric needs a judge, such as Judge('openai:MODEL') or Judge('local')"
        raise JudgeError(message)
    if repeats < 1:
        raise JudgeError(f"{metric.name}: repeats must be 1 or more, got {repeats}")
    asking = MetricJudge(metric, client)
    settings = {**asking.settings, "prompt": PROMPT_VERSION, "tier": client.tier}
    mark = compute_fingerprint(metric, {**settings, "repeats": repeats}, fingerprints)
    judging = asking if repeats == 1 and not metric.preference else RepeatedJudge(asking, repeats)
    compiled = MetricRunnable(metric, judging, judge=client.label, tier=client.tier, mark=mark, prepare=client.prepare)
    compiled.prompt_group = asking.prompt_group
    return compiled


def _create_compute_function(metric: FunctionMetric, verdicts: Verdicts) -> JudgeFunction:
    """Create the judging function of a computed metric. An exception of its function becomes a failure of the case."""

    async def compute(case: Case, _: RunnableConfig) -> CaseOutcome:
        return CaseOutcome(compute_outcome(metric, case, verdicts))

    return compute


class RepeatedJudge:
    """A judge that judges each case several times, a pair in both orders each time, and merges the outcomes."""

    def __init__(self, asking: MetricJudge, repeats: int) -> None:
        """Store the judge of one time, and how often it is asked."""
        self._asking = asking
        self._repeats = repeats

    @property
    def asked_tier(self) -> Tier:
        """The tier by which the judge is really asked."""
        return self._asking.asked_tier

    def with_client(self, client: JudgeClient) -> RepeatedJudge:
        """Return a copy that asks another client of the same judge."""
        return RepeatedJudge(self._asking.with_client(client), self._repeats)

    async def __call__(self, case: Case, config: RunnableConfig) -> CaseOutcome:
        """Judge a case, and return the merged outcome with the usage of all times and all who answered."""
        metric = self._asking.metric
        views = (case, swap_responses(case)) if metric.preference else (case,)
        rounds = await gather_all(
            self._asking(view, config, repeat=n, repeats=self._repeats * len(views))
            for view in views
            for n in range(self._repeats)
        )
        outcomes = [judged.outcome for judged in rounds]
        if metric.preference:
            merged = merge_orders(metric, outcomes[: self._repeats], outcomes[self._repeats :])
        else:
            merged = merge_repeats(metric, outcomes)
        served_by = tuple(dict.fromkeys(model for judged in rounds for model in judged.served_by))
        return CaseOutcome(merged, sum((judged.usage for judged in rounds), Usage()), served_by)
