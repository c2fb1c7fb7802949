"""Summaries of results: what was planned, scored, skipped and failed, how values are spread, how sure the mean is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from greval.record import Record
from greval.result import Result, Usage
from greval.stats.interval import Interval, cluster_bootstrap, t_interval, wilson


class Summary(Record):
    """One metric over a group of cases.

    Of the `planned` cases each is `scored` (some items of which may have failed), `skipped` or
    `failed`. `items` is how many judgements were given, `items_failed` how many single items
    failed. `distribution` counts the values; `mean` is over the judgements that read as a number
    (`counted`), None where there is none.
    """

    metric: str
    group: str = ""
    planned: int
    scored: int
    skipped: int
    failed: int
    items: int
    items_failed: int
    distribution: dict[str, int]
    counted: int
    mean: float | None
    interval: Interval | None
    usage: Usage
    failures: dict[str, int]
    skips: dict[str, int]


def summarise(
    results: Iterable[Result],
    *,
    by: Callable[[Result], str] = lambda _: "",
    ends: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[Summary, ...]:
    """Summarise results, one summary for each metric and group, in order of their first result.

    Args:
        results: The rows; each judgement counts once.
        by: Names the group of a row, such as its query type.
        ends: The lowest and highest number of each metric's scale, for the interval of equal values.

    Returns:
        The summaries; a mean over several items of one case has a cluster bootstrap interval.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.metric, by(result)), []).append(result)
    return tuple(
        _summary(rows, metric=metric, group=group, ends=(ends or {}).get(metric))
        for (metric, group), rows in groups.items()
    )


def _summary(rows: Sequence[Result], *, metric: str, group: str, ends: tuple[float, float] | None) -> Summary:
    statuses = Counter(row.outcome.status for row in rows)
    clusters = [[j.number for j in row.judgements if j.number is not None] for row in rows]
    numbers = [number for cluster in clusters for number in cluster]
    return Summary(
        metric=metric,
        group=group,
        planned=len(rows),
        scored=statuses["scored"],
        skipped=statuses["skipped"],
        failed=statuses["failed"],
        items=sum(len(row.judgements) for row in rows),
        items_failed=sum(failure.item is not None for row in rows for failure in row.failures),
        distribution=dict(Counter(str(j.value) for row in rows for j in row.judgements)),
        counted=len(numbers),
        mean=sum(numbers) / len(numbers) if numbers else None,
        interval=_interval([cluster for cluster in clusters if cluster], ends),
        usage=sum((row.usage for row in rows), Usage()),
        failures=dict(Counter(failure.kind for row in rows for failure in row.failures)),
        skips=dict(Counter(row.outcome.reason for row in rows if row.outcome.status == "skipped")),
    )


def _interval(clusters: Sequence[Sequence[float]], ends: tuple[float, float] | None) -> Interval | None:
    """Choose the interval: by clusters where cases have several items, Wilson's for 0/1, else Student's.

    Equal values have no spread to learn from: their interval comes from the scale's ends alone.
    """
    numbers = [number for cluster in clusters for number in cluster]
    if not numbers:
        return None
    clustered = any(len(cluster) > 1 for cluster in clusters)
    if not clustered and set(numbers) <= {0.0, 1.0}:
        return wilson(sum(numbers) / len(numbers), len(numbers))
    found = cluster_bootstrap(clusters) if clustered else t_interval(numbers)
    if found or ends is None:
        return found
    return wilson(sum(numbers) / len(numbers), len(clusters), low=ends[0], high=ends[1])
