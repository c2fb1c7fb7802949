"""Summaries of results: what was planned, scored, skipped and failed, how values are spread, how sure the mean is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from greval.arguments import several
from greval.record import Record
from greval.result import Result, Usage
from greval.stats.interval import Interval
from greval.stats.outline import outline
from greval.stats.tally import Tally


class Summary(Record):
    """One metric over a group of cases.

    Of the `planned` cases each is `scored` (some items of which may have failed), `skipped` or
    `failed`. `items` is how many judgements were given, `items_failed` how many single items
    failed. `distribution` counts the values; `mean` is over the judgements that read as a number
    (`counted`), None where there is none. Of a measure without an upper end, such as a latency,
    `p50` and `p95` tell the spread (half and 95 % of the numbers are at most this), and
    `distribution` is empty.
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
    p50: float | None = None
    p95: float | None = None
    interval: Interval | None
    usage: Usage
    failures: dict[str, int]
    skips: dict[str, int]


class Tallies:
    """Tallies of results by metric and group, in order of their first result.

    Example:
        >>> tallies = Tallies()
        >>> tallies.add("tone", "", '["scored",[["Polite",1.0]],[],null]', (1, 10, 5, None, 0))
        >>> [(summary.metric, summary.mean) for summary in tallies.summaries()]
        [('tone', 1.0)]
    """

    def __init__(self, unbounded: Collection[str] = ()) -> None:
        """Begin with nothing; `unbounded` names the metrics whose scale has no upper end."""
        self._unbounded = frozenset(unbounded)
        self._tallies: dict[tuple[str, str], Tally] = {}

    def add(self, metric: str, group: str, outline: str, costs: Sequence[int | None]) -> None:
        """Take a result by its outline and the fields of its usage."""
        tally = self._tallies.get((metric, group))
        if tally is None:
            tally = self._tallies[metric, group] = Tally(unbounded=metric in self._unbounded)
        tally.add(outline, costs)

    def summaries(self, ends: Mapping[str, tuple[float, float]] | None = None) -> tuple[Summary, ...]:
        """Give one summary for each metric and group; `ends` are the lowest and highest number of each scale."""
        return tuple(
            _summary(tally, metric=metric, group=group, ends=(ends or {}).get(metric))
            for (metric, group), tally in self._tallies.items()
        )


def summarise(
    results: Iterable[Result],
    *,
    by: Callable[[Result], str] = lambda _: "",
    ends: Mapping[str, tuple[float, float]] | None = None,
    unbounded: Collection[str] = (),
) -> tuple[Summary, ...]:
    """Summarise results, one summary for each metric and group, in order of their first result.

    Args:
        results: The rows; each judgement counts once.
        by: Names the group of a row, such as its query type.
        ends: The lowest and highest number of each metric's scale, for the interval of equal values.
        unbounded: Names of metrics whose scale has no upper end: `p50` and `p95` instead of counted values.

    Returns:
        The summaries; a mean over several items of one case has a cluster bootstrap interval.

    Raises:
        DataError: Where the results are no rows but the run that holds them.
    """
    several(results, "results", "run.results() or Store.open('runs/first').results()")
    tallies = Tallies(unbounded)
    for result in results:
        costs = tuple(getattr(result.usage, name) for name in Usage.model_fields)
        tallies.add(result.metric, by(result), outline(result), costs)
    return tallies.summaries(ends)


def _summary(tally: Tally, *, metric: str, group: str, ends: tuple[float, float] | None) -> Summary:
    tally.settle()
    return Summary(
        metric=metric,
        group=group,
        planned=tally.statuses.total(),
        scored=tally.statuses["scored"],
        skipped=tally.statuses["skipped"],
        failed=tally.statuses["failed"],
        items=tally.items,
        items_failed=tally.items_failed,
        distribution=dict(tally.distribution),
        counted=tally.counted,
        mean=tally.mean,
        p50=tally.quantile(0.5),
        p95=tally.quantile(0.95),
        interval=tally.interval(ends),
        usage=tally.usage,
        failures=dict(tally.failures),
        skips=dict(tally.skips),
    )
