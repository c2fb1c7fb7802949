"""The verdicts of results as rows of a report, and the worst cases of a run by metric with their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from heapq import heappush, heappushpop
from math import fsum, inf
from operator import not_
from statistics import fmean
from typing import Annotated, NamedTuple

from pydantic import Field, JsonValue

from greval._util.notebook_display import PrintedFinding
from greval.records.consistency import find_contradictions
from greval.records.judgement_text import list_cited_items
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.records.result import Judgement, Result, Scored, read_outline
from greval.records.scale import CategoricalScale, Scale, find_direction
from greval.runs.run_reader import (
    CaseFinder,
    check_metric_names,
    read_known_scales,
    read_lines,
    read_metrics,
    read_texts,
)
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter


class ReportVerdict(Record):
    """One judgement or failure as a row of the report.

    `cited_items` are the ids of the items that the judge cites by number. `contradictions` are the reasons why the
    value contradicts a share among the notes.
    """

    sample_id: str
    method: str
    metric: str
    item: str | None
    value: str
    reason: str
    findings: tuple[str, ...] = ()
    notes: dict[str, JsonValue] = Field(default_factory=dict)
    cited_items: dict[str, str] = Field(default_factory=dict)
    contradictions: tuple[str, ...] = ()


def list_verdicts(result: Result, metric: JudgedMetric | None = None) -> Iterable[ReportVerdict]:
    """Yield the verdicts of a result, including its failures and skip; contradictions are found by the definition."""
    who = {"sample_id": result.sample_id, "method": result.method, "metric": result.metric}
    for judgement in result.judgements:
        wrong = metric and find_contradictions(metric, judgement.value, judgement.notes, judgement.votes)
        yield ReportVerdict(
            **who,
            item=judgement.item,
            value=str(judgement.value),
            reason=judgement.reason,
            findings=judgement.findings,
            notes=judgement.notes,
            cited_items=list_cited_items(judgement),
            contradictions=tuple((wrong or {}).values()),
        )
    for failure in result.failures:
        yield ReportVerdict(**who, item=failure.item, value=f"failed: {failure.kind}", reason=failure.message)
    for item in result.outcome.skipped_items if result.outcome.status == "scored" else ():
        yield ReportVerdict(**who, item=item.item, value="skipped", reason=item.reason)
    if result.outcome.status == "skipped":
        yield ReportVerdict(**who, item=None, value="skipped", reason=result.outcome.reason)


Rank = Callable[[tuple[str, ...], tuple[float, ...]], float | None]
"""A function of values and their numbers that returns how good they are; None if they have no order."""


class WorstRows(NamedTuple):
    """The rows of the worst results of a metric, worst first.

    `ordered` is the number of scored results whose values have an order, `statuses` the number of results by status.
    """

    metric: str
    rows: tuple[int, ...]
    ordered: int
    statuses: dict[str, int]


def find_worst_rows(store: Store, count: int, result_filter: ResultFilter) -> list[WorstRows]:
    """Find the worst results of each metric among those that meet a filter.

    The mean of a result's values counts, by the direction of the scale. Without scores, the categories of an ordered
    scale count by their place. Ties are in the order of the run. Failed and skipped results are only counted.
    """
    scales = read_known_scales(store)
    # Few distinct values occur, many times.
    ranks = {name: lru_cache(build_rank(scale)) for name, scale in scales.items()}
    order = {name: position for position, name in enumerate(read_metrics(store))}
    heaps: dict[str, list[tuple[float, int]]] = {}
    ordered: Counter[str] = Counter()
    statuses: dict[str, Counter[str]] = {}
    for number, metric, text in store.select(("rowid", "metric", "outline"), result_filter):
        outline = read_outline(text)
        heap = heaps.setdefault(metric, [])
        statuses.setdefault(metric, Counter())[outline.status] += 1
        rank = ranks[metric](outline.values, outline.numbers) if metric in ranks else None
        if rank is None:
            continue
        ordered[metric] += 1
        if len(heap) < count:
            # The heap holds negated ranks, so that its first entry is the best one, which a worse result replaces. Of
            # equal ones, the last of the run is replaced first.
            heappush(heap, (-rank, -number))
        elif count:
            heappushpop(heap, (-rank, -number))
    return [
        WorstRows(
            metric,
            tuple(-number for _, number in sorted(heaps[metric], reverse=True)),
            ordered[metric],
            dict(statuses[metric]),
        )
        for metric in sorted(heaps, key=lambda name: order.get(name, len(order)))
    ]


def build_rank(scale: Scale) -> Rank:
    """Return the function that computes how good values on a scale are: the higher, the better."""
    sign = 1.0 if find_direction(scale).better == "higher" else -1.0
    if isinstance(scale, CategoricalScale) and any(category.score is None for category in scale.categories):
        places = {name: -float(position) for position, name in enumerate(scale.names)} if scale.ordered else {}
        return lambda values, _: _compute_mean([places[value] for value in values if value in places])
    return lambda _, numbers: _compute_mean([sign * number for number in numbers])


def _compute_mean(numbers: list[float]) -> float | None:
    return fsum(numbers) / len(numbers) if numbers else None


class WorstCase(Record):
    """A case with the verdicts of one metric on it, the worst first.

    `mean` is the mean of its values, None if they are not numbers. `item_texts` are the texts of the judged chunks or
    triples by their ids.
    """

    sample_id: str
    method: str
    question: str | None
    answer: str | None
    expected_answer: str | None
    mean: float | None
    verdicts: tuple[ReportVerdict, ...]
    item_texts: dict[str, str] = Field(default_factory=dict)
    history: Annotated[str | None, Field(exclude_if=not_)] = None

    @property
    def metric(self) -> str:
        """The metric whose verdicts these are."""
        return self.verdicts[0].metric

    @property
    def value(self) -> str:
        """The value of the worst verdict."""
        return self.verdicts[0].value

    @property
    def reason(self) -> str:
        """The reason of the worst verdict."""
        return self.verdicts[0].reason


class WorstCases(Record):
    """The worst cases of a metric, worst first.

    They are the worst of `ordered` cases, whose values have an order. `statuses` is the number of cases by status:
    failed and skipped ones are not among the worst.
    """

    metric: str
    ordered: int
    statuses: dict[str, int]
    cases: tuple[WorstCase, ...]


class WorstCaseList(PrintedFinding, list[WorstCase]):
    """The worst cases of the metrics of a run, one metric after the other; it is printed as `greval report --worst`."""

    def __init__(self, by_metric: Iterable[WorstCases]) -> None:
        """List the cases of all metrics."""
        self.by_metric = tuple(by_metric)
        super().__init__(case for worst_cases in self.by_metric for case in worst_cases.cases)


def read_worst_cases(store: Store, count: int, metrics: Sequence[str] = ()) -> tuple[WorstCases, ...]:
    """Read the worst cases of each metric; only their texts are in memory."""
    check_metric_names(store, metrics)
    stored_metrics, scales = read_metrics(store), read_known_scales(store)
    finder = CaseFinder(store)
    return tuple(
        WorstCases(
            metric=worst.metric,
            ordered=worst.ordered,
            statuses=worst.statuses,
            cases=tuple(
                build_judged_case(
                    Result.model_validate_json(line),
                    finder,
                    scales[worst.metric],
                    stored_metrics[worst.metric].judged if worst.metric in stored_metrics else None,
                )
                for line in read_lines(store, worst.rows)
            ),
        )
        for worst in find_worst_rows(store, count, ResultFilter(metrics=tuple(metrics)))
    )


def build_judged_case(result: Result, finder: CaseFinder, scale: Scale, metric: JudgedMetric | None) -> WorstCase:
    """Build the case of a result with its verdicts, the worst first; a failure or a skip is its only one."""
    rank = build_rank(scale)

    def rank_judgement(judgement: Judgement) -> float:
        numbers = () if judgement.number is None else (judgement.number,)
        rank_value = rank((str(judgement.value),), numbers)
        # Values without an order come last.
        return inf if rank_value is None else rank_value

    order = tuple(sorted(result.judgements, key=rank_judgement))
    texts = read_texts(finder.find_case(result), metric.over if metric else None)
    items = texts.items or {}
    numbers = [judgement.number for judgement in order if judgement.number is not None]
    return WorstCase(
        sample_id=result.sample_id,
        method=result.method,
        question=texts.question,
        history=texts.history,
        answer=texts.answer,
        expected_answer=texts.expected_answer,
        mean=fmean(numbers) if numbers else None,
        verdicts=tuple(list_verdicts(result.replace(outcome=Scored(judgements=order)) if order else result, metric)),
        item_texts={
            verdict.item: items[verdict.item] for verdict in order if verdict.item is not None and verdict.item in items
        },
    )
