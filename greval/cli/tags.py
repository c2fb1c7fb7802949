"""Whether the tags that a report is grouped by are there: a misspelt one would make a single group without a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from greval._util.arguments import unknown
from greval.stats.summary import METHOD


def check_tags(by: Sequence[str], tagged: Iterable[Mapping[str, str]], folder: Path) -> None:
    """Refuse to group by a tag that nothing has.

    Raises:
        DataError: With those that are there.
    """
    tags = {METHOD, *(tag for tags in tagged for tag in tags)}
    for name in by:
        if name not in tags:
            raise unknown("tag", name, tags, folder)
