"""The report of a run as data: summaries by metric and group, their cost, verdicts with reasons, checked conditions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import not_
from typing import Annotated, Literal, assert_never

from pydantic import Field, JsonValue

from greval.judging.model.prices import Price
from greval.records.record import Record
from greval.records.result import IMPORTED, Usage
from greval.records.scale import MAX_ENUM_LEVELS, CategoricalScale, MeasureScale, Scale, ValueScale
from greval.runs.manifest import (
    RunCommand,
    count_replayed,
    count_served_models,
    read_command,
    read_join_remarks,
    read_prices,
    read_spending,
    read_stored_escalation,
)
from greval.runs.run_reader import check_metric_names, read_metrics
from greval.runs.run_summary import (
    PassSummary,
    ShareSummary,
    count_others,
    summarise_passes,
    summarise_run,
    summarise_shares,
)
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.plans import (
    CountedPlan,
    count_planned,
    list_judges,
    list_judges_by_metric,
    list_stop_reasons,
)
from greval.runs.worst_cases import ReportVerdict, WorstCases, list_verdicts, read_worst_cases
from greval.stats.summary import METHOD, ChanceEstimate, Summary

CheckStatus = Literal["passed", "failed", "undecided"]


class GateCheck(Record):
    """The result of one gate condition, with the figures; the gate fails if it is met.

    `undecided` is true if no figure meets the condition, but a figure that it needs is undefined or not complete, or
    two sides were judged differently. It then counts as met: a gate never passes without data.
    """

    condition: str
    metric: str = ""
    met: bool
    undecided: bool = False
    told: tuple[str, ...]

    @property
    def status(self) -> CheckStatus:
        """The result of the condition in one word."""
        if self.undecided:
            return "undecided"
        return "failed" if self.met else "passed"


MAX_UNREAD = 1_000
MAX_TAG_VALUES = 12
"""The number of values up to which a tag divides the cases into groups; one with more is rather an id."""
MAX_TAGS = 8


class MetricSpending(Record):
    """The cost of one metric and group in US dollars; None if the price or the tokens are not known."""

    metric: str
    group: str
    usage: Usage
    cost: float | None


class ImportSource(Record):
    """Verdicts of a metric that were imported: the stated judge, and the file; either is empty if it is not known."""

    metric: str
    judge: str
    file: str


class Report(Record):
    """The report of a run; every renderer reads this and nothing else.

    `judge` is the label of the judge, or of all judges with commas between them, and `judges` those of each metric.
    `by` names what the summaries are grouped by, and `scales` has the values of each metric's scale in their order.
    `pending` is the number of cases that each metric has not judged yet. `stopped` are the reasons why commands on
    this run were stopped. `others` is the number of results in the folder that are not counted, because they are of
    other cases, answers, judges or definitions. `unread` are the first thousand rows of the input that were not
    cases, and `unread_count` is the number of all such rows. `spending` is the cost of the judge, and `shares` are
    the counts over the judge's notes, `passes` those of cases that pass. `worst` are the worst cases of each metric,
    and `gate` are the failure conditions that were checked. `imported` are the verdicts that greval did not judge.
    `replayed` is the number of results of a metric that were read again from stored replies, without a call; metrics
    without such results are left out. `served_by` has, for each judge whose replies name several models or
    fingerprints, the number of results of each. `estimated_calls` is the number of calls whose tokens the provider did
    not report, so that caps counted an estimate and `spending` nothing. `command` are the options of the last command,
    None if they are not known. `warnings` are about ids that did not meet, and stand before all figures. `chance` holds
    what metrics that compare ids would be by chance, if that was asked for. `escalation` says how two judges shared the
    cases, in the form of `Escalation`; JSON omits both without them.
    """

    folder: str
    judge: str | None
    judges: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    by: tuple[str, ...]
    summaries: tuple[Summary, ...]
    scales: dict[str, tuple[str, ...]]
    pending: dict[str, int]
    stopped: tuple[str, ...] = ()
    others: int = 0
    unread: tuple[str, ...]
    unread_count: int = 0
    spending: tuple[MetricSpending, ...] = ()
    shares: tuple[ShareSummary, ...] = ()
    passes: tuple[PassSummary, ...] = ()
    verdicts: tuple[ReportVerdict, ...] = ()
    gate: tuple[GateCheck, ...] = ()
    worst: tuple[WorstCases, ...] = ()
    imported: tuple[ImportSource, ...] = ()
    replayed: dict[str, int] = Field(default_factory=dict)
    served_by: dict[str, dict[str, int]] = Field(default_factory=dict)
    estimated_calls: int = 0
    command: RunCommand | None = None
    warnings: tuple[str, ...] = ()
    chance: Annotated[tuple[ChanceEstimate, ...], Field(exclude_if=not_)] = ()
    escalation: Annotated[JsonValue, Field(exclude_if=not_)] = None

    @property
    def failure_kinds(self) -> list[str]:
        """The kinds of failures of each metric and group."""
        return [kind for summary in self.summaries for kind in summary.failures]


def build_report(
    store: Store,
    *,
    by: Sequence[str] = (),
    show: int = 0,
    worst: int = 0,
    metrics: Sequence[str] = (),
    with_chance: bool = False,
) -> Report:
    """Build the report of a run, grouped by `method` or tags; by default by method if there are several.

    `show` is the number of verdicts with their reasons, spread over the metrics, and `worst` that of the worst cases of
    each metric. Only `metrics` are reported, if any are named; raise `DataError` if the run has none of a name.
    `with_chance` estimates what metrics that compare ids would be by chance.
    """
    with store.snapshot():
        check_metric_names(store, metrics)
        report = _build_from_snapshot(store, by, show)
        worst_cases = read_worst_cases(store, worst, metrics) if worst else ()
        chance = _estimate_chance(store, metrics) if with_chance else ()
    return _select_metrics(report.model_copy(update={"worst": worst_cases, "chance": chance}), metrics)


def _estimate_chance(store: Store, metrics: Sequence[str]) -> tuple[ChanceEstimate, ...]:
    # Imported late: it computes metrics, which most reports do not.
    from greval.analysis.chance import estimate_chance

    return estimate_chance(store, metrics)


def _select_metrics(report: Report, metrics: Sequence[str]) -> Report:
    """Return a report with what it says of some metrics, or of all if none is named."""
    if not metrics:
        return report
    rows = ("summaries", "spending", "shares", "passes", "verdicts", "imported")
    mappings = ("judges", "scales", "pending", "replayed")
    chosen: dict[str, object] = {
        name: tuple(row for row in getattr(report, name) if row.metric in metrics) for name in rows
    }
    chosen |= {
        name: {metric: value for metric, value in getattr(report, name).items() if metric in metrics}
        for name in mappings
    }
    return report.model_copy(update=chosen)


def _build_from_snapshot(store: Store, by: Sequence[str], show: int) -> Report:
    run_summary = summarise_run(store, by)
    unread = store.fact("unread")
    unread = [*map(str, unread)] if isinstance(unread, list) else []
    count = store.fact("unread_count")
    plans = store.plans()
    judges = list_judges_by_metric(plans)
    judged = dict.fromkeys(summary.metric for summary in run_summary.summaries)
    return Report(
        folder=str(store.folder),
        judge=", ".join(list_judges(plans)) or None,
        by=run_summary.by,
        summaries=run_summary.summaries,
        pending=_count_pending(count_planned(plans), run_summary.summaries),
        stopped=list_stop_reasons(plans),
        others=count_others(store),
        scales={name: _list_values(scale) for name, scale in run_summary.scales.items()},
        unread=tuple(unread[:MAX_UNREAD]),
        unread_count=max(len(unread), count if isinstance(count, int) else 0),
        judges=judges,
        spending=compute_spending(run_summary.summaries, judges, read_prices(store)),
        shares=summarise_shares(store, run_summary.by),
        passes=summarise_passes(store, run_summary.by),
        imported=tuple(_list_imports(plans)),
        replayed=count_replayed(store),
        served_by=count_served_models(store),
        estimated_calls=read_spending(store).estimated,
        command=read_command(store),
        warnings=read_join_remarks(store, judged),
        escalation=read_stored_escalation(store),
        verdicts=tuple(
            _sample_verdicts(store, [*dict.fromkeys(summary.metric for summary in run_summary.summaries)], show)
        ),
    )


def compute_spending(
    summaries: Sequence[Summary], judges: Mapping[str, Sequence[str]], prices: Mapping[str, Price]
) -> tuple[MetricSpending, ...]:
    """Return the cost of each group with calls, by the judges of its metric and the prices in the run's manifest.

    The cost is None if a price is not known, or if several judges of a metric have different prices.
    """

    def find_price(metric: str) -> Price | None:
        judge_prices = [prices.get(judge) for judge in judges.get(metric, ())]
        # How many tokens each of several judges took is not known, so that only one price for all gives a cost.
        return judge_prices[0] if judge_prices and all(price == judge_prices[0] for price in judge_prices) else None

    return tuple(
        MetricSpending(
            metric=summary.metric,
            group=summary.group,
            usage=summary.usage,
            cost=price.cost(summary.usage) if (price := find_price(summary.metric)) else summary.usage.cost,
        )
        for summary in summaries
        if summary.usage.calls or summary.usage.hits
    )


def _list_imports(plans: Iterable[CountedPlan]) -> Iterator[ImportSource]:
    """Yield the counted verdicts that were imported, by metric, judge and file."""
    for metric, judge, source in dict.fromkeys((plan.metric, plan.judge, plan.case_source) for plan in plans):
        prefix, _, stated_judge = judge.partition(":")
        if prefix == IMPORTED:
            yield ImportSource(metric=metric, judge=stated_judge, file=source.path)


def _count_pending(planned: Mapping[str, int], summaries: Sequence[Summary]) -> dict[str, int]:
    """Count the judgements of each metric that are planned but not done yet."""
    judged: Counter[str] = Counter()
    for summary in summaries:
        judged[summary.metric] += summary.planned
    pending = {name: count - judged[name] for name, count in planned.items()}
    return {name: count for name, count in pending.items() if count > 0}


def _sample_verdicts(store: Store, metrics: Sequence[str], show: int) -> Iterator[ReportVerdict]:
    """Yield some verdicts of each metric in turn, keeping those of one case together."""
    # Rounded up, so that each metric has a verdict if any is shown.
    share = -(-show // max(1, len(metrics)))
    stored_metrics = read_metrics(store) if share else {}
    for metric in metrics if share else ():
        results = store.results(ResultFilter(metrics=(metric,)))
        judged = stored_metrics[metric].judged if metric in stored_metrics else None
        verdicts = (verdict for result in results for verdict in list_verdicts(result, judged))
        yield from islice(verdicts, share)


def _list_values(scale: Scale) -> tuple[str, ...]:
    """Return the values of a scale in their order; empty if there are too many to list."""
    match scale:
        case CategoricalScale(names=names):
            return names
        case ValueScale(size=size):
            return tuple(map(str, scale.values)) if size <= MAX_ENUM_LEVELS else ()
        case MeasureScale():
            return ()
        case _:
            assert_never(scale)


class TagFigures(Record):
    """The summaries by the values of a tag, and by method first if there are several methods."""

    tag: str
    by: tuple[str, ...]
    summaries: tuple[Summary, ...]


def summarise_by_tags(store: Store, without: Iterable[str] = ()) -> tuple[TagFigures, ...]:
    """Summarise a run by each tag with two to twelve values, for at most eight tags in the order of their names."""
    values: dict[str, set[str]] = defaultdict(set)
    methods: set[str] = set()
    # Distinct texts only: rows share few combinations of tags, so that few are parsed.
    for text, method in {*store.select(("tags", "method"))}:
        methods.add(method)
        for name, value in json.loads(text).items():
            values[name].add(value)
    # A tag with one value divides nothing, and one with very many is rather an id.
    usable = sorted(name for name, tag_values in values.items() if 1 < len(tag_values) <= MAX_TAG_VALUES)
    first = (METHOD,) if len(methods) > 1 else ()
    return tuple(
        TagFigures(tag=tag, by=(*first, tag), summaries=summarise_run(store, (*first, tag)).summaries)
        for tag in [tag for tag in usable if tag not in without][:MAX_TAGS]
    )
