"""The judges of a run: the judge of each metric, and the clients and guards that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.language_models import BaseChatModel

from greval._util.wording import did_you_mean, format_names
from greval.errors import JudgeError
from greval.judging.model.budget import RunGuard
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge, build_chosen_judge, read_judge
from greval.judging.model.judge_names import format_key_hint
from greval.judging.model.prices import Prices
from greval.records.metric import JudgedMetric, Metric
from greval.records.result import Usage

JudgeModel = Judge | BaseChatModel
JudgeLike = JudgeModel | str
"""A judge, or the name of its model, such as `openai:gpt-5.4-mini`."""


@dataclass(frozen=True)
class JudgeGroup:
    """One judge of a run, with the names of the metrics that ask it; none if every metric has another one."""

    judge: JudgeModel
    metrics: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of the judge in results."""
        return JudgeClient(self.judge).label


@dataclass(frozen=True)
class RunJudges:
    """The distinct judges of a run, in the order of the metrics that ask them."""

    groups: tuple[JudgeGroup, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the judges in results, each once."""
        return tuple(dict.fromkeys(group.label for group in self.groups))

    def assign(self, clients: Sequence[JudgeClient]) -> dict[str, JudgeClient]:
        """Return the clients of the judges, given in their order, by the names of the metrics that ask them."""
        pairs = zip(self.groups, clients, strict=True)
        return {name: client for group, client in pairs for name in group.metrics}

    def create_clients(self, create: Callable[[JudgeModel], JudgeClient] = JudgeClient) -> dict[str, JudgeClient]:
        """Create a client of each judge, and return them by the names of the metrics that ask them."""
        return self.assign([create(group.judge) for group in self.groups])


def _leave_unknown(_: Usage) -> float | None:
    """Return no cost, because the sum over all judges is not known."""
    return None


def choose_judge(metric: Metric, judge: JudgeLike | None, judges: Mapping[str, JudgeLike] | None = None) -> JudgeModel:
    """Return the judge of a metric: that of `judges`, else the one that the metric names, else `judge`."""
    judge = None if judge is None else read_judge(judge)
    if judges and metric.name in judges:
        return read_judge(judges[metric.name])
    if isinstance(metric, JudgedMetric) and metric.judge:
        return build_chosen_judge(metric.judge, judge if isinstance(judge, Judge) else None)
    if judge is None:
        message = f"{metric.name}: a judged metric needs a judge, such as 'openai:MODEL' or 'local'"
        raise JudgeError(message)
    return judge


def choose_judges(
    metrics: Iterable[Metric], judge: JudgeLike | None, judges: Mapping[str, JudgeLike] | None = None
) -> RunJudges:
    """Choose the judge of each metric, see `choose_judge`; metrics with equal judges share one.

    A judge that no metric asks is only part of the run if no metric is judged at all.
    """
    judged = [metric for metric in metrics if metric.kind == "judged"]
    names = [metric.name for metric in judged]
    if unknown := [name for name in judges or () if name not in names]:
        name = unknown[0]
        raise JudgeError(
            f"a judge is given for {name}, which is no judged metric of the run{did_you_mean(name, names)}"
        )
    groups: list[JudgeGroup] = []
    for metric in judged:
        chosen = choose_judge(metric, judge, judges)
        position = next((n for n, group in enumerate(groups) if is_same_judge(group.judge, chosen)), len(groups))
        same_judge = groups.pop(position) if position < len(groups) else JudgeGroup(chosen)
        groups.insert(position, JudgeGroup(chosen, (*same_judge.metrics, metric.name)))
    return RunJudges(tuple(groups) or ((JudgeGroup(read_judge(judge)),) if judge is not None else ()))


def build_run_guard(
    judges: RunJudges, prices: Prices, *, max_calls: int | None, max_cost: float | None, clock: Callable[[], float]
) -> RunGuard:
    """Build the guard that stops the run at its budget or if a judge is unusable.

    If the price of one of several judges is not known, the cost of the run is not known either.
    """
    if not judges.groups:
        return RunGuard()
    if max_cost is not None and (free := [label for label in judges.labels if prices.of(label) is None]):
        raise JudgeError(
            f"{format_names(free)}: no price is known to cap a cost by; give one (--prices) or cap calls (--max-calls)"
        )
    guard = RunGuard(max_calls=max_calls, max_cost=max_cost, clock=clock)
    if len(judges.groups) == 1:
        (group,) = judges.groups
        guard = replace(
            guard, cost=partial(prices.cost, group.label), hint=format_judge_hint(group.judge), model=group.label
        )
    return guard


def build_judge_guard(guard: RunGuard, group: JudgeGroup, judges: RunJudges, prices: Prices) -> RunGuard:
    """Return the guard of one judge: that of the run if it has no other judge."""
    if len(judges.groups) == 1:
        return guard
    # A sum without the judge whose price is not known would look like the cost of the run.
    priced = all(prices.of(label) is not None for label in judges.labels)
    return build_own_guard(guard, group, partial(prices.cost, group.label) if priced else _leave_unknown)


def build_own_guard(
    guard: RunGuard, group: JudgeGroup, cost: Callable[[Usage], float | None] = _leave_unknown
) -> RunGuard:
    """Return the guard of one of several judges, which counts its failures by themselves."""
    return guard.for_judge(cost=cost, hint=format_judge_hint(group.judge), model=group.label)


def is_same_judge(first: JudgeModel, second: JudgeModel) -> bool:
    """Return whether two judges are one: equal settings, or the same chat model."""
    return first is second or (isinstance(first, Judge) and isinstance(second, Judge) and first == second)


def format_judge_hint(judge: JudgeModel | None) -> str:
    """Format what to check if a judge refuses its key."""
    return format_key_hint(judge.model) if isinstance(judge, Judge) else "check the model's key"
