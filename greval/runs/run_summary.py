"""The summary of a run by metric and group, shared by the Python API, reports and the server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval.errors import DataError
from greval.records.scale import Scale
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.stats.summary import METHOD, NO_VALUE, Grouping, ResultTallies, Summary

MAX_CACHED_GROUPS = 1_024


class RunSummary(NamedTuple):
    """The grouping of the summaries, the scale of each metric in order, and the summaries."""

    by: tuple[str, ...]
    scales: dict[str, Scale]
    summaries: tuple[Summary, ...]


def summarise_run(store: Store, by: str | Sequence[str] = ()) -> RunSummary:
    """Summarise the results of a run with one row at a time in memory.

    Args:
        store: The run, opened for reading.
        by: `method` or names of tags. If it is empty, results are grouped by method if there are several.
    """
    scales = {name: metric.scale for name, metric in read_metrics(store).items()}
    grouping = Grouping(by)

    @lru_cache(maxsize=MAX_CACHED_GROUPS)  # rows share few combinations of method and tags
    def format_group(method: str, tags: str) -> str:
        return grouping.name_group(method, json.loads(tags))

    tallies = ResultTallies(scales)
    for metric, method, tags, outline, *costs in store.outlines():
        tallies.add(metric, format_group(method, tags), outline, costs)
    return RunSummary(grouping.group_fields, scales, tallies.build_summaries(grouped=bool(grouping.group_fields)))


def find_missing_tag(by: Sequence[str], summaries: Sequence[Summary], store: Store) -> DataError | None:
    """Return an error for the first tag that no case of a run has, None if all tags exist.

    The run is read only if the summaries hold no value of a tag.
    """
    for place, name in enumerate(by):
        groups = (summary.group.split(" · ") for summary in summaries)
        if name != METHOD and summaries and all(len(parts) == len(by) and parts[place] == NO_VALUE for parts in groups):
            tags = {tag for _, _, told, *_ in store.outlines() for tag in json.loads(told)}
            if name not in tags:
                return build_unknown_name_error("tag", name, {METHOD, *tags}, store.folder)
    return None
