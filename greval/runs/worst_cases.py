"""The worst results of a run by metric, found with one outline at a time in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from heapq import heappush, heappushpop
from math import fsum
from typing import NamedTuple

from greval.records.result import read_outline
from greval.records.scale import CategoricalScale, Scale, find_direction
from greval.runs.run_reader import read_known_scales, read_metrics
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter

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
