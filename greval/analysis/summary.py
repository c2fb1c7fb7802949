"""A report as data: the summaries of a run by metric and group, and verdicts with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import assert_never

from pydantic import Field, JsonValue

from greval.analysis.spending import Spending, spendings
from greval.records.consistency import find_contradictions
from greval.records.judgement_text import cited_items
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.records.result import Result
from greval.records.scale import MAX_ENUM_LEVELS, CategoricalScale, MeasureScale, Scale, ValueScale
from greval.runs.run_summary import missing_tag, summarise_run
from greval.runs.share_summary import ShareSummary, summarise_shares
from greval.runs.store import Store
from greval.stats.summary import Summary

MOST_UNREAD = 1_000


class Verdict(Record):
    """One judgement or failure as a line to read.

    `cited_items` are the ids of the items that the judge names by number, `contradictions` say why the value
    contradicts a share among the notes.
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


class Report(Record):
    """What a run found; every renderer reads this and nothing else.

    `by` names what the summaries are grouped by, `columns` the values of each metric's scale in
    their order, `pending` how many cases each metric has not judged yet, `stopped` why commands were
    stopped whose results these are, `others` how many results of other cases, answers, judges or
    definitions the folder holds that are not counted, `unread` the first thousand rows of the input
    that were no cases, `unread_count` how many they were, `spending` what the judge cost, `shares` what
    was counted over the judge's notes.
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
    shares: tuple[ShareSummary, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


def build(store: Store, *, by: Sequence[str] = (), show: int = 0) -> Report:
    """Give the report of a run.

    Args:
        store: The run, opened to read.
        by: `method` or names of tags; without any, by method where there are several.
        show: How many verdicts to show with their reasons, spread over the metrics.

    Returns:
        The report; groups are named by their values, joined by a middle dot.

    Raises:
        DataError: If no case has one of the tags; those that there are are named.
    """
    with store.snapshot():
        found = _built(store, by, show)
        if error := missing_tag(found.by, found.summaries, store):
            raise error
        return found


def _built(store: Store, by: Sequence[str], show: int) -> Report:
    found = summarise_run(store, by)
    unread = store.fact("unread")
    unread = [*map(str, unread)] if isinstance(unread, list) else []
    count = store.fact("unread_count")
    return Report(
        folder=str(store.folder),
        judge=", ".join(store.judges()) or None,
        by=found.by,
        summaries=found.summaries,
        pending=_pending(store.count_planned(), found.summaries),
        stopped=store.stops(),
        others=store.count_others(),
        scales={name: _list_values(scale) for name, scale in found.scales.items()},
        unread=tuple(unread[:MOST_UNREAD]),
        unread_count=max(len(unread), count if isinstance(count, int) else 0),
        spending=spendings(found.summaries, store.fact("price")),
        shares=summarise_shares(store, found.by),
        verdicts=tuple(_spread(store, [*dict.fromkeys(summary.metric for summary in found.summaries)], show)),
    )


def verdicts(result: Result, metric: JudgedMetric | None = None) -> Iterable[Verdict]:
    """Return the verdicts of a result, its failures and its skip among them.

    Args:
        result: The result.
        metric: Its definition, by which contradictions are found; None if it is computed or not known.
    """
    who = {"sample_id": result.sample_id, "method": result.method, "metric": result.metric}
    for judgement in result.judgements:
        told = metric and find_contradictions(metric, judgement.value, judgement.notes, judgement.votes)
        yield Verdict(
            **who,
            item=judgement.item,
            value=str(judgement.value),
            reason=judgement.reason,
            findings=judgement.findings,
            notes=judgement.notes,
            cited_items=cited_items(judgement),
            contradictions=tuple((told or {}).values()),
        )
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
    known = store.layout().metrics if share else {}
    for metric in metrics if share else ():
        results = (Result.model_validate_json(line) for line in store.lines(metric))
        told = (verdict for result in results for verdict in verdicts(result, known.get(metric)))
        yield from islice(told, share)


def _list_values(scale: Scale) -> tuple[str, ...]:
    """Return the values of a scale in their order, none if there are too many to list."""
    match scale:
        case CategoricalScale(names=names):
            return names
        case ValueScale(size=size):
            return tuple(map(str, scale.values)) if size <= MAX_ENUM_LEVELS else ()
        case MeasureScale():
            return ()
        case _:
            assert_never(scale)
