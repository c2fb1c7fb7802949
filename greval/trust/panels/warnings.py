"""Warnings about a panel of judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from greval._util.wording import format_count
from greval.trust.agreement.warnings import find_join_warnings, find_left_out_warnings, find_sample_warnings
from greval.trust.annotations.matching import MatchedAnnotations, format_item_key
from greval.trust.panels.runs import PanelItems

MIN_ITEMS = 30
MAX_LISTED = 3


def find_warnings(items: PanelItems, ties: int) -> Iterator[str]:
    """Yield the warnings of a panel; `ties` is the number of items without a verdict of the panel."""
    remarks = (join.find_remark("an item counts only if all judged it under one id") for join in items.joins)
    yield from filter(None, remarks)
    for label, run in items.runs.items():
        if len(run.judges) > 1 or len(run.fingerprints) > 1:
            yield (
                f"MIXED: {run.folder} holds verdicts of {len(run.judges)} judges and {len(run.fingerprints)} "
                f"definitions as one ({label}); run its command of greval evaluate again, so that all are of one"
            )
    first, *later_runs = items.runs.values()
    if any(run.metric != first.metric for run in later_runs):
        yield "the definitions differ between the runs, so judges also differ by what they were asked"
    if count := len(items.differing):
        names = ", ".join(map(format_item_key, items.differing[:MAX_LISTED]))
        more = f" and {count - MAX_LISTED} more" if count > MAX_LISTED else ""
        yield f"{count} left out, as the runs judged different texts: {names}{more}"
    for label, unknown in items.unknown.items():
        if unknown:
            yield f"{label}: what it judged is not known for {format_count(unknown, 'item')}; they are matched by id"
    if items.between:
        yield f"{items.between} left out: a verdict is a mean of repeats between two levels"
    if ties:
        yield f"{ties} of {len(items.things)} items have no verdict of the panel, which is tied on them"
    if len(items.things) < MIN_ITEMS:
        what = "item" if len(items.things) == 1 else "items"
        yield f"only {len(items.things)} {what}: with fewer than {MIN_ITEMS}, intervals are approximate"


def find_people_warnings(
    matched: MatchedAnnotations, unread: Sequence[str], *, tied: int, matching: int
) -> Iterator[str]:
    """Yield the warnings about the annotations of people, who are tied on `tied` items and not on `matching` ones."""
    yield from find_join_warnings(matched, unread)
    yield from find_sample_warnings(matched)
    if tied:
        yield f"{format_count(tied, 'item')} not compared with people, who are tied"
    if not matching:
        yield "no annotation of people matches a verdict of the panel"
    yield from find_left_out_warnings(matched, unread)
