"""Outlines: the part of a result that statistics need, short enough to read a million of them in seconds."""

from __future__ import annotations

import json
from functools import lru_cache
from math import fsum
from typing import NamedTuple

from greval.records.result import Result


class Outline(NamedTuple):
    """A result without its reasons.

    `values` are the values of its judgements as text, `numbers` those that read as a number and
    `total` is their sum. `kinds` are the kinds of its failures, `items_failed` is how many of them are of
    single items, `skip` is why it was skipped.
    """

    status: str
    values: tuple[str, ...]
    numbers: tuple[float, ...]
    total: float
    kinds: tuple[str, ...]
    items_failed: int
    skip: str | None


def format_outline(result: Result) -> str:
    """Return the outline of a result as JSON, to store with the result; `read_outline` parses it."""
    judgements = [[str(judgement.value), judgement.number] for judgement in result.judgements]
    failures = [[failure.kind, failure.item is not None] for failure in result.failures]
    skip = result.outcome.reason if result.outcome.status == "skipped" else None
    return json.dumps([result.outcome.status, judgements, failures, skip], ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)  # most results of a run have one of a few outlines
def read_outline(text: str) -> Outline:
    """Parse an outline that `format_outline` wrote.

    Example:
        >>> read_outline('["scored",[["Yes",1.0]],[],null]').numbers
        (1.0,)
    """
    status, judgements, failures, skip = json.loads(text)
    numbers = tuple(number for _, number in judgements if number is not None)
    return Outline(
        status=status,
        values=tuple(value for value, _ in judgements),
        numbers=numbers,
        total=fsum(numbers),
        kinds=tuple(kind for kind, _ in failures),
        items_failed=sum(of_item for _, of_item in failures),
        skip=skip,
    )
