"""Merging runs: the logs of shards, or of other machines, become one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pydantic import JsonValue

from greval.errors import StoreError
from greval.facts import put_metrics
from greval.record import Record
from greval.store import Store
from greval.work import MOST_TOLD


class Merged(Record):
    """What a merge did: rows that were taken over, and rows that were there already."""

    folder: str
    rows: int
    known: int


def merge(out: str | Path, runs: Sequence[str | Path]) -> Merged:
    """Take the rows and cases of runs over into one run folder; doing it again changes nothing.

    Args:
        out: The folder of the merged run; made where it is missing.
        runs: Folders of runs, such as the shards of one.

    Returns:
        How many rows were taken over.

    Raises:
        StoreError: Where a folder is no run, cannot be used, or is given twice.
    """
    folders = [Path(run) for run in runs]
    if len({folder.resolve() for folder in (*folders, Path(out))}) <= len(folders):
        message = f"{out}: give each run once, and another folder for the merged one"
        raise StoreError(message)
    with ExitStack() as opened:
        stores = [opened.enter_context(Store.open(folder)) for folder in folders]
        target = opened.enter_context(Store.create(Path(out)))
        counts = [_take_over(target, store) for store in stores]
        _facts(target, stores)
    return Merged(folder=str(out), rows=sum(new for new, _ in counts), known=sum(old for _, old in counts))


def _take_over(target: Store, store: Store) -> tuple[int, int]:
    """Append the rows of a run that are not there; give how many were not, and how many were."""
    new = known = 0
    for key, content, result in store.rows():
        there = target.get(key, (result.sample_id, result.method, result.metric), result.repeat)
        if there and (there.finished or there == result):
            known += 1
        else:
            target.append(key, result, content=content)
            new += 1
    if new:
        target.keep_cases(store.cases())
    return new, known


def _facts(target: Store, stores: Sequence[Store]) -> None:
    """Put together what the runs tell of themselves: plans add up, the rest is that of the first."""
    for store in reversed(stores):
        metrics = store.fact("metrics")
        put_metrics(target, metrics if isinstance(metrics, list) else ())
    for name in ("judge", "price"):
        facts = (store.fact(name) for store in stores)
        target.put_fact(name, next((fact for fact in facts if fact), None))
    planned: dict[str, int] = {}
    unread: dict[JsonValue, None] = {}
    count = 0
    for store in stores:
        plan, rows = store.fact("planned"), store.fact("unread")
        for metric, due in plan.items() if isinstance(plan, dict) else ():
            planned[metric] = planned.get(metric, 0) + (due if isinstance(due, int) else 0)
        unread |= dict.fromkeys(map(str, rows if isinstance(rows, list) else []))
        told = store.fact("unread_count")
        count = max(count, told if isinstance(told, int) else 0)  # each shard reads all rows
    target.put_fact("planned", {**planned})
    target.put_fact("unread", [*unread][:MOST_TOLD])
    target.put_fact("unread_count", max(count, len(unread)))
