"""The summary of a run: what its log holds by metric and group, the same for Python, reports and the server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from greval._util.arguments import unknown
from greval.errors import DataError
from greval.records.scale import Scale
from greval.runs.manifest import read_scales
from greval.runs.store import Store
from greval.stats.summary import METHOD, NO_VALUE, Grouping, Summary, Tallies

MOST_GROUPS = 1_024


class RunSummary(NamedTuple):
    """What the summaries are grouped by, the scale of each metric in order, and the summaries."""

    by: tuple[str, ...]
    scales: dict[str, Scale]
    summaries: tuple[Summary, ...]


def summarise_run(store: Store, by: str | Sequence[str] = ()) -> RunSummary:
    """Summarise the results of a run; one row at a time is in memory.

    Args:
        store: The run, opened to read.
        by: `method` or names of tags; without any, by method if there are several.
    """
    scales = read_scales(store.fact("metrics"))
    grouping = Grouping(by)

    @lru_cache(maxsize=MOST_GROUPS)  # few methods and tags come again and again
    def group(method: str, tags: str) -> str:
        return grouping.name(method, json.loads(tags))

    tallies = Tallies(scales)
    for metric, method, tags, outline, *costs in store.outlines():
        tallies.add(metric, group(method, tags), outline, costs)
    return RunSummary(grouping.by, scales, tallies.summaries(grouped=bool(grouping.by)))


def missing_tag(by: Sequence[str], summaries: Sequence[Summary], store: Store) -> DataError | None:
    """Return the error about the first tag that no case of a run has, None if all are there.

    The run is read for it only if the summaries hold no value of a tag.
    """
    for place, name in enumerate(by):
        groups = (summary.group.split(" · ") for summary in summaries)
        if name != METHOD and summaries and all(len(parts) == len(by) and parts[place] == NO_VALUE for parts in groups):
            tags = {tag for _, _, told, *_ in store.outlines() for tag in json.loads(told)}
            if name not in tags:
                return unknown("tag", name, {METHOD, *tags}, store.folder)
    return None
