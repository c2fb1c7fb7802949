"""Check of the tags used for grouping: a misspelt tag would put all cases into one unnamed group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from greval._util.arguments import build_unknown_name_error
from greval.stats.summary import METHOD


def check_tags(by: Sequence[str], tagged: Iterable[Mapping[str, str]], folder: Path) -> None:
    """Raise an error if a tag used for grouping does not exist.

    Raises:
        DataError: If no case has the tag. The message suggests existing tags.
    """
    tags = {METHOD, *(tag for tags in tagged for tag in tags)}
    for name in by:
        if name not in tags:
            raise build_unknown_name_error("tag", name, tags, folder)
