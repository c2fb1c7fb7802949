"""The worst cases of a run by metric, with the texts that they were judged by."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import not_
from statistics import fmean
from typing import Annotated

from pydantic import Field

from greval.analysis.verdicts import ReportVerdict, list_verdicts
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.records.result import Judgement, Result, Scored
from greval.records.scale import Scale
from greval.runs.run_reader import (
    CaseFinder,
    check_metric_names,
    read_known_scales,
    read_lines,
    read_metrics,
    read_texts,
)
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter
from greval.runs.worst_cases import build_rank, find_worst_rows


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


class WorstCases(Record):
    """The worst cases of a metric, worst first.

    They are the worst of `ordered` cases, whose values have an order. `statuses` is the number of cases by status:
    failed and skipped ones are not among the worst.
    """

    metric: str
    ordered: int
    statuses: dict[str, int]
    cases: tuple[WorstCase, ...]


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
                _build_case(
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


def _build_case(result: Result, finder: CaseFinder, scale: Scale, metric: JudgedMetric | None) -> WorstCase:
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
        verdicts=tuple(list_verdicts(result.replace(outcome=Scored(judgements=order)), metric)),
        item_texts={
            verdict.item: items[verdict.item] for verdict in order if verdict.item is not None and verdict.item in items
        },
    )
