"""The figures of a run by each of its tags that divides the cases into a few groups."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from greval.records.record import Record
from greval.runs.run_summary import summarise_run
from greval.runs.store import Store
from greval.stats.summary import METHOD, Summary

MAX_TAG_VALUES = 12
"""The number of values up to which a tag divides the cases into groups; one with more is rather an id."""
MAX_TAGS = 8


class TagFigures(Record):
    """The summaries by the values of a tag, and by method first if there are several methods."""

    tag: str
    by: tuple[str, ...]
    summaries: tuple[Summary, ...]


def summarise_by_tags(store: Store, without: Iterable[str] = ()) -> tuple[TagFigures, ...]:
    """Summarise a run by each tag with two to twelve values, for at most eight tags in the order of their names.

    Args:
        store: The run, opened for reading.
        without: Tags to leave out, such as those by which a report is grouped already.
    """
    values: dict[str, set[str]] = defaultdict(set)
    methods: set[str] = set()
    for text, method in {*store.select(("tags", "method"))}:
        methods.add(method)
        for name, value in json.loads(text).items():
            values[name].add(value)
    usable = sorted(name for name, held in values.items() if 1 < len(held) <= MAX_TAG_VALUES)
    first = (METHOD,) if len(methods) > 1 else ()
    return tuple(
        TagFigures(tag=tag, by=(*first, tag), summaries=summarise_run(store, (*first, tag)).summaries)
        for tag in [tag for tag in usable if tag not in without][:MAX_TAGS]
    )
