"""The summaries of a run by metric and group, and of the shares counted over its notes, such as a coverage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import fsum
from typing import NamedTuple

from pydantic import JsonValue

from greval._util.arguments import build_unknown_name_error
from greval.records.consistency import find_contradictions, read_share
from greval.records.formula import parse_limit
from greval.records.metric import JudgedMetric
from greval.records.note import ShareNote
from greval.records.record import Record
from greval.records.result import Usage, read_outline
from greval.records.scale import MeasureScale, Scale
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import COST_COLUMNS, ResultFilter
from greval.runs.store.plans import COUNTED
from greval.runs.store.reader import NEWEST
from greval.stats.interval import Interval, wilson_interval
from greval.stats.summary import METHOD, Grouping, ResultTallies, Summary

MAX_CACHED_GROUPS = 1_024
SHARE_SCALE = MeasureScale(low=0.0, high=1.0, unit="share")
NO_COST = (None,) * len(Usage.model_fields)
"""The costs of a share: all None, because they are already counted for its verdict."""


class RunSummary(NamedTuple):
    """The grouping of the summaries, the scale of each metric in order, and the summaries."""

    by: tuple[str, ...]
    scales: dict[str, Scale]
    summaries: tuple[Summary, ...]


OUTLINE_COLUMNS = ("metric", "method", "tags", "outline", *COST_COLUMNS)
"""The columns of results that a summary adds up."""


def summarise_run(store: Store, by: str | Sequence[str] = ()) -> RunSummary:
    """Summarise the results of a run by `method` or tags, with one row at a time in memory.

    By default, results are grouped by method if there are several.

    Raises:
        DataError: If no case has one of the tags.
    """
    scales = {name: metric.scale for name, metric in read_metrics(store).items()}
    grouping = Grouping(by)
    tag_names: set[str] = set()

    # Rows share few combinations of method and tags.
    @lru_cache(maxsize=MAX_CACHED_GROUPS)
    def format_group(method: str, tags: str) -> str:
        values = json.loads(tags)
        tag_names.update(values)
        return grouping.name_group(method, values)

    tallies = ResultTallies(scales)
    for metric, method, tags, outline, *costs in store.select(OUTLINE_COLUMNS):
        tallies.add(metric, format_group(method, tags), outline, costs)
    summaries = tallies.build_summaries(grouped=bool(grouping.group_fields))
    names = {METHOD, *tag_names}
    if summaries and (unknown := [name for name in grouping.group_fields if name not in names]):
        raise build_unknown_name_error("tag", unknown[0], names, store.folder)
    return RunSummary(grouping.group_fields, scales, summaries)


def count_others(store: Store) -> int:
    """Count the results that belong to no counted plan: those of other cases, answers, judges or definitions."""
    # In most runs every plan is counted, and no row has to be looked at.
    if store.reads_all or not store.query("SELECT 1 FROM plans WHERE NOT current LIMIT 1").fetchone():
        return 0
    (number,) = store.query(f"SELECT count(*) FROM results WHERE {NEWEST} AND NOT {COUNTED}").fetchone()  # noqa: S608 - constants
    return int(number)


def list_tags(store: Store) -> tuple[str, ...]:
    """List the names of the tags that judged cases have, in the order of the alphabet."""
    # Rows share few combinations of tags, so that most of them need no parsing.
    texts = {text for (text,) in store.select(("tags",))}
    return tuple(sorted({name for text in texts for name in json.loads(text)}))


class ShareSummary(Record):
    """The summary of one share of one metric over a group of cases.

    `counted` is the number of judgements with this share, `empty` the number with nothing to count. `mean`, `median`,
    `minimum`, `maximum` and the 95 % `interval` of the mean are over the counted ones, None if `counted` is 0.
    `contradictions` is the number of verdicts that contradict the share, None if the share has no `better`.
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


def summarise_shares(store: Store, by: Sequence[str] = ()) -> tuple[ShareSummary, ...]:
    """Summarise the shares of a run by `method` or tags, in the order of metrics, notes, and group names.

    Only the results of metrics with shares are parsed, one at a time. By default, there is one group.
    """
    return tuple(
        summary
        for stored in read_metrics(store).values()
        if (metric := stored.judged)
        and (names := [name for name, note in metric.notes.items() if isinstance(note, ShareNote)])
        for summary in _summarise_metric(store, metric, names, by)
    )


class PassSummary(Record):
    """How many cases of one metric and group pass, by `pass` of its definition.

    `counted` is the number of cases with a number, `passed` the number of those that meet `condition`, `share` their
    share, and `interval` its 95 % interval. Both are None if `counted` is 0. Failed and skipped cases do not count.
    """

    metric: str
    condition: str
    group: str = ""
    counted: int
    passed: int
    share: float | None
    interval: Interval | None


def summarise_passes(store: Store, by: Sequence[str] = ()) -> tuple[PassSummary, ...]:
    """Summarise how many cases pass, for each metric with `pass` and each group by `method` or tags.

    A case passes if the mean of its numbers, one for each judged item, meets the condition. By default, there is one
    group.
    """
    conditions = {name: metric.pass_if for name, metric in read_metrics(store).items() if metric.pass_if}
    grouping = Grouping(by)
    passes_by_group: dict[tuple[str, str], list[bool]] = {}
    limited = ResultFilter(metrics=tuple(conditions))
    columns = ("metric", "method", "tags", "outline")
    for metric, method, tags, outline in store.select(columns, limited) if conditions else ():
        group = grouping.name_group(method, json.loads(tags)) if by else ""
        passes = passes_by_group.setdefault((metric, group), [])
        is_pass = is_passed(outline, conditions[metric])
        passes += [] if is_pass is None else [is_pass]
    order = {name: position for position, name in enumerate(conditions)}
    summaries: list[PassSummary] = []
    for metric, group in sorted(passes_by_group, key=lambda key: (order[key[0]], key[1])):
        passes = passes_by_group[metric, group]
        counted, passed = len(passes), sum(passes)
        summaries.append(
            PassSummary(
                metric=metric,
                condition=conditions[metric],
                group=group,
                counted=counted,
                passed=passed,
                share=passed / counted if counted else None,
                interval=wilson_interval(passed / counted, counted) if counted else None,
            )
        )
    return tuple(summaries)


def is_passed(outline: str, condition: str) -> bool | None:
    """Return whether a case passes, by the outline of its result; None if it has no number."""
    numbers = read_outline(outline).numbers
    return parse_limit(condition).is_met(fsum(numbers) / len(numbers)) if numbers else None


def _summarise_metric(
    store: Store, metric: JudgedMetric, names: Sequence[str], by: Sequence[str]
) -> Iterator[ShareSummary]:
    grouping = Grouping(by)
    tallies = ResultTallies(dict.fromkeys(names, SHARE_SCALE))
    # By note and group, as the summaries.
    empty: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for result in store.results(ResultFilter(metrics=(metric.name,))):
        group = grouping.name_group(result.method, result.tags) if by else ""
        for name in names:
            shares = [read_share(verdict.notes.get(name)) for verdict in result.judgements]
            empty[name, group] += shares.count(None)
            if counted := [share for share in shares if share is not None]:
                # In the form of the outline of a result whose values are shares.
                outline: JsonValue = ["scored", [[str(share), share] for share in counted], [], None]
                tallies.add(name, group, json.dumps(outline), NO_COST)
        for judgement in result.judgements:
            contradictions = find_contradictions(metric, judgement.value, judgement.notes, judgement.votes)
            wrong.update((name, group) for name in contradictions)
    summaries = {(summary.metric, summary.group): summary for summary in tallies.build_summaries()}
    order = {name: position for position, name in enumerate(names)}
    for name, group in sorted(empty, key=lambda key: (order[key[0]], key[1])):
        note, summary = metric.notes[name], summaries.get((name, group))
        has_direction = isinstance(note, ShareNote) and note.better is not None
        yield ShareSummary(
            metric=metric.name,
            note=name,
            group=group,
            counted=summary.counted if summary else 0,
            empty=empty[name, group],
            mean=summary and summary.mean,
            median=summary and summary.median,
            minimum=summary and summary.minimum,
            maximum=summary and summary.maximum,
            interval=summary and summary.interval,
            contradictions=wrong[name, group] if has_direction else None,
        )
