"""Shares counted over notes, such as a coverage: their means over a run, and the verdicts that contradict them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from greval.records.consistency import find_contradictions, read_share
from greval.records.metric import JudgedMetric
from greval.records.note import ShareNote
from greval.records.record import Record
from greval.records.result import Result
from greval.records.scale import MeasureScale
from greval.runs.store import Store
from greval.stats.interval import Interval
from greval.stats.summary import Grouping, Summary, Tallies

SHARE = MeasureScale(low=0.0, high=1.0, unit="share")
NO_COST = (None,) * 5
"""What a share costs beside its verdict: nothing that is not counted there."""


class ShareSummary(Record):
    """One share of one metric over a group of cases.

    `counted` is how many judgements have such a share, `empty` how many had nothing to count. `mean`, `median`,
    `minimum`, `maximum` and the 95 % `interval` of the mean are over the counted ones, None if there is none.
    `contradictions` is how many verdicts contradict the share; None if the metric does not hold them against it.
    """

    metric: str
    note: str
    group: str = ""
    counted: int
    empty: int
    mean: float | None
    median: float | None
    minimum: float | None
    maximum: float | None
    interval: Interval | None
    contradictions: int | None


class _Key(NamedTuple):
    """Which share of which group."""

    metric: str
    note: str
    group: str


def summarise_shares(store: Store, by: Sequence[str] = ()) -> tuple[ShareSummary, ...]:
    """Summarise the shares of a run: in the order of the metrics, their notes, and groups by name.

    The results of metrics with shares are read in full, one at a time; those of other metrics are not.

    Args:
        store: The run, opened to read.
        by: `method` or names of tags; without any, one group.
    """
    return tuple(
        summary
        for metric in store.layout().metrics.values()
        if (names := [name for name, note in metric.notes.items() if isinstance(note, ShareNote)])
        for summary in _summarise(store, metric, names, by)
    )


def _summarise(store: Store, metric: JudgedMetric, names: Sequence[str], by: Sequence[str]) -> Iterator[ShareSummary]:
    """Summarise the shares of one metric."""
    grouping = Grouping(by)
    tallies = Tallies(dict.fromkeys(names, SHARE))
    empty: Counter[_Key] = Counter()
    wrong: Counter[_Key] = Counter()
    for line in store.lines(metric.name):
        result = Result.model_validate_json(line)
        group = grouping.name(result.method, result.tags) if by else ""
        for name in names:
            key = _Key(metric.name, name, group)
            shares = [read_share(one.notes.get(name)) for one in result.judgements]
            empty[key] += shares.count(None)
            if found := [share for share in shares if share is not None]:
                tallies.add(name, group, _outline(found), NO_COST)
        for judgement in result.judgements:
            told = find_contradictions(metric, judgement.value, judgement.notes, judgement.votes)
            wrong.update(_Key(metric.name, name, group) for name in told)
    summaries = {(one.metric, one.group): one for one in tallies.summaries()}
    order = {name: place for place, name in enumerate(names)}
    for key in sorted(empty, key=lambda key: (order[key.note], key.group)):
        note = metric.notes[key.note]
        held = isinstance(note, ShareNote) and note.better is not None
        yield _row(key, summaries.get((key.note, key.group)), empty[key], wrong[key] if held else None)


def _outline(shares: Sequence[float]) -> str:
    """Return the outline of a result whose values are shares, as `greval.records.outline` writes it."""
    outline: JsonValue = ["scored", [[str(share), share] for share in shares], [], None]
    return json.dumps(outline)


def _row(key: _Key, found: Summary | None, empty: int, contradictions: int | None) -> ShareSummary:
    return ShareSummary(
        **key._asdict(),
        counted=found.counted if found else 0,
        empty=empty,
        mean=found and found.mean,
        median=found and found.median,
        minimum=found and found.minimum,
        maximum=found and found.maximum,
        interval=found and found.interval,
        contradictions=contradictions,
    )
