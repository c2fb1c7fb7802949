"""A report as data: the summaries of a run by metric and group, and verdicts with their reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic import JsonValue

from greval.record import Record
from greval.report.spending import Spending, spendings
from greval.result import Result
from greval.stats.summary import Summary, Tallies
from greval.store import Store

NOT_TOLD = "(none)"
MOST_UNREAD = 1_000
MOST_GROUPS = 1_024


class Verdict(Record):
    """One judgement or failure as a line to read."""

    sample_id: str
    method: str
    metric: str
    item: str | None
    value: str
    reason: str


class Report(Record):
    """What a run found; every renderer reads this and nothing else.

    `by` names what the summaries are grouped by, `columns` the values of each metric's scale in
    their order, `pending` how many cases each metric has not judged yet, `stopped` why commands were
    stopped whose results these are, `others` how many results of other cases, answers, judges or
    definitions the folder holds that are not counted, `unread` the first thousand rows of the input
    that were no cases, `unread_count` how many they were, `spending` what the judge cost.
    """

    folder: str
    judge: str | None
    by: tuple[str, ...]
    summaries: tuple[Summary, ...]
    scales: dict[str, tuple[str, ...]]
    pending: dict[str, int]
    stopped: tuple[str, ...] = ()
    others: int = 0
    unread: tuple[str, ...]
    unread_count: int = 0
    spending: tuple[Spending, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


def build(store: Store, *, by: Sequence[str] = (), show: int = 0) -> Report:
    """Give the report of a run.

    Args:
        store: The run, opened to read.
        by: `method` or names of tags; without any, by method where there are several.
        show: How many verdicts to show with their reasons, spread over the metrics.

    Returns:
        The report; groups are named by their values, joined by a middle dot.
    """
    with store.snapshot():
        return _built(store, by, show)


def _built(store: Store, by: Sequence[str], show: int) -> Report:
    metrics = _metrics(store.fact("metrics"))
    order = {name: place for place, name in enumerate(metrics)}
    ends = {name: ends for name, scale in metrics.items() if (ends := _ends(scale))}
    names, summaries = _summarised(store, tuple(by), ends, [name for name, scale in metrics.items() if _open(scale)])
    found = sorted(dict.fromkeys(summary.metric for summary in summaries), key=lambda name: order.get(name, len(order)))
    ranked = tuple(sorted(summaries, key=lambda summary: (order.get(summary.metric, len(order)), summary.group)))
    unread = store.fact("unread")
    unread = [*map(str, unread)] if isinstance(unread, list) else []
    count = store.fact("unread_count")
    return Report(
        folder=str(store.folder),
        judge=", ".join(store.judges()) or None,
        by=names,
        summaries=ranked,
        pending=_pending(store.count_planned(), summaries),
        stopped=store.stops(),
        others=store.count_others(),
        scales={name: _values(scale) for name, scale in metrics.items()},
        unread=tuple(unread[:MOST_UNREAD]),
        unread_count=max(len(unread), count if isinstance(count, int) else 0),
        spending=spendings(ranked, store.fact("price")),
        verdicts=tuple(_spread(store, found, show)),
    )


def _summarised(
    store: Store, by: tuple[str, ...], ends: Mapping[str, tuple[float, float]], unbounded: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Summary, ...]]:
    """Give the names of the groups, and the summaries; one row at a time is in memory."""
    names = by or ("method",)
    methods: set[str] = set()

    @lru_cache(maxsize=MOST_GROUPS)  # few methods and tags come again and again
    def group(method: str, tags: str) -> str:
        methods.add(method)
        told = json.loads(tags)
        return " · ".join((method if name == "method" else told.get(name)) or NOT_TOLD for name in names)

    tallies = Tallies(unbounded)
    for metric, method, tags, outline, *costs in store.outlines():
        tallies.add(metric, group(method, tags), outline, costs)
    summaries = tallies.summaries(ends)
    if by or len(methods) > 1:
        return names, summaries
    return (), tuple(summary.model_copy(update={"group": ""}) for summary in summaries)


def verdicts(result: Result) -> Iterable[Verdict]:
    """Give the verdicts of a result, its failures and its skip among them."""
    who = {"sample_id": result.sample_id, "method": result.method, "metric": result.metric}
    for judgement in result.judgements:
        yield Verdict(**who, item=judgement.item, value=str(judgement.value), reason=judgement.reason)
    for failure in result.failures:
        yield Verdict(**who, item=failure.item, value=f"failed: {failure.kind}", reason=failure.message)
    if result.outcome.status == "skipped":
        yield Verdict(**who, item=None, value="skipped", reason=result.outcome.reason)


def _pending(planned: Mapping[str, int], summaries: Sequence[Summary]) -> dict[str, int]:
    """Count the judgements of each metric that are planned and not there yet."""
    judged: Counter[str] = Counter()
    for summary in summaries:
        judged[summary.metric] += summary.planned
    left = {name: count - judged[name] for name, count in planned.items()}
    return {name: count for name, count in left.items() if count > 0}


def _spread(store: Store, metrics: Sequence[str], show: int) -> Iterator[Verdict]:
    """Take verdicts of each metric in turn, those of one case together."""
    share = -(-show // max(1, len(metrics)))
    for metric in metrics if share else ():
        results = (Result.model_validate_json(line) for line in store.lines(metric))
        yield from islice((verdict for result in results for verdict in verdicts(result)), share)


def _metrics(fact: JsonValue) -> dict[str, Mapping[str, Any]]:
    """Give the scale of each metric of the run, in the file form."""
    found: dict[str, Mapping[str, Any]] = {}
    for metric in fact if isinstance(fact, list) else []:
        if isinstance(metric, dict) and isinstance(metric.get("scale"), dict):
            found[str(metric["name"])] = metric["scale"]  # type: ignore[assignment]
    return found


def _values(scale: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the values of a scale in their order, none where there are too many to list."""
    if "categories" in scale:
        return tuple(scale["categories"])
    low, high = scale.get("range", (0, -1))
    return tuple(str(value) for value in range(low, high + 1)) if high - low <= 10 else ()  # noqa: PLR2004


def _ends(scale: Mapping[str, Any]) -> tuple[float, float] | None:
    """Give the lowest and highest number that a scale can give."""
    if "categories" in scale:
        scores = [content["score"] for content in scale["categories"].values() if "score" in content]
        return (min(scores), max(scores)) if len(set(scores)) > 1 else None
    if "range" in scale:
        return tuple(scale["range"])
    return None if scale.get("high") is None else (scale["low"], scale["high"])


def _open(scale: Mapping[str, Any]) -> bool:
    """Say whether a scale is a measure without an upper end."""
    return "unit" in scale and scale.get("high") is None
