"""Whether the tags that a report is grouped by are there: a misspelt one would make a single group without a name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from greval.arguments import unknown
from greval.errors import DataError
from greval.report.build import NOT_TOLD, Report
from greval.store import Store

METHOD = "method"


def missing_tag(found: Report, store: Store) -> DataError | None:
    """Give the error about the first tag that no case of a report has, None where all are there.

    The run is read for it only where a report holds no value of a tag.
    """
    for place, name in enumerate(found.by):
        groups = (summary.group.split(" · ") for summary in found.summaries)
        if name != METHOD and all(len(parts) == len(found.by) and parts[place] == NOT_TOLD for parts in groups):
            tags = {tag for _, _, told, *_ in store.outlines() for tag in json.loads(told)}
            if tags and name not in tags:
                return unknown("tag", name, {METHOD, *tags}, store.folder)
    return None


def check_tags(by: Sequence[str], tagged: Iterable[Mapping[str, str]], folder: Path) -> None:
    """Refuse to group by a tag that nothing has.

    Raises:
        DataError: With those that are there.
    """
    tags = {METHOD, *(tag for tags in tagged for tag in tags)}
    for name in by:
        if name not in tags:
            raise unknown("tag", name, tags, folder)
