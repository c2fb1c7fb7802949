"""A report as data: the summaries of a run by metric and group, and verdicts with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from greval.record import Record
from greval.result import Result
from greval.stats.summary import Summary, summarise
from greval.store import Store

NOT_TOLD = "(none)"


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
    their order, `pending` how many cases each metric has not judged yet, `unread` the rows of the
    input that were no cases.
    """

    folder: str
    judge: str | None
    by: tuple[str, ...]
    summaries: tuple[Summary, ...]
    scales: dict[str, tuple[str, ...]]
    pending: dict[str, int]
    unread: tuple[str, ...]
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
    results = [*store.results()]
    several = len({result.method for result in results}) > 1
    names = tuple(by) or (("method",) if several else ())
    metrics = _metrics(store.fact("metrics"))
    order = {name: place for place, name in enumerate(metrics)}
    unread = store.fact("unread")
    judge = store.fact("judge")
    summaries = summarise(
        results,
        by=lambda result: " · ".join(_group(result, name) for name in names),
        ends={name: ends for name, scale in metrics.items() if (ends := _ends(scale))},
    )
    return Report(
        folder=str(store.folder),
        judge=str(judge["label"]) if isinstance(judge, dict) else None,
        by=names,
        summaries=tuple(sorted(summaries, key=lambda summary: (order.get(summary.metric, len(order)), summary.group))),
        pending=_pending(store.fact("planned"), results),
        scales={name: _values(scale) for name, scale in metrics.items()},
        unread=tuple(map(str, unread)) if isinstance(unread, list) else (),
        verdicts=tuple(_spread(sorted(results, key=lambda row: order.get(row.metric, len(order))), show)),
    )


def verdicts(result: Result) -> Iterable[Verdict]:
    """Give the verdicts of a result, its failures and its skip among them."""
    who = {"sample_id": result.sample_id, "method": result.method, "metric": result.metric}
    for judgement in result.judgements:
        yield Verdict(**who, item=judgement.item, value=str(judgement.value), reason=judgement.reason)
    for failure in result.failures:
        yield Verdict(**who, item=failure.item, value=f"failed: {failure.kind}", reason=failure.message)
    if result.outcome.status == "skipped":
        yield Verdict(**who, item=None, value="skipped", reason=result.outcome.reason)


def _pending(planned: JsonValue, results: Sequence[Result]) -> dict[str, int]:
    """Give how many cases of a run that was stopped are left, by metric."""
    judged = Counter(result.metric for result in results)
    due = planned if isinstance(planned, dict) else {}
    left = {name: count - judged[name] for name, count in due.items() if isinstance(count, int)}
    return {name: count for name, count in left.items() if count > 0}


def _spread(results: Sequence[Result], show: int) -> Iterable[Verdict]:
    """Take verdicts of each metric in turn, those of one case together."""
    by_metric: dict[str, list[Verdict]] = {}
    for result in results:
        by_metric.setdefault(result.metric, []).extend(verdicts(result))
    share = -(-show // max(1, len(by_metric)))
    for found in by_metric.values():
        yield from found[:share]


def _group(result: Result, name: str) -> str:
    return (result.method if name == "method" else result.tags.get(name)) or NOT_TOLD


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
    return tuple(scale["range"]) if "range" in scale else None
