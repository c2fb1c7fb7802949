"""Merging of runs: combine the logs of shards, or of several machines, into one run folder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from pydantic import JsonValue

from greval.datasets.case_records import MAX_LISTED_ROWS
from greval.errors import StoreError
from greval.records.record import Record
from greval.runs.manifest import JUDGES, PRICES, REPLAYED, store_metrics
from greval.runs.store import Store
from greval.runs.store.log import StoredRow
from greval.runs.store.plans import NO_PLAN


class MergeSummary(Record):
    """The result of a merge: the number of copied rows, and of rows that were already present."""

    folder: str
    rows: int
    known: int


def merge_runs(out: str | Path, runs: Sequence[str | Path], *, metrics: Collection[str] = ()) -> MergeSummary:
    """Copy the rows and cases of several runs into one run folder. Merging the same runs again changes nothing.

    The results that count in each run also count in the merged run, together with those of earlier merges. If a run
    is merged again, it replaces its earlier merge.

    Args:
        out: The folder of the merged run. It is created if it does not exist.
        runs: Run folders, such as the shards of one run.
        metrics: Metrics whose earlier results in `out` no longer count.

    Returns:
        The number of copied rows and of rows that were already present.

    Raises:
        StoreError: If a folder is not a run folder, cannot be used, or is given twice.
    """
    folders = [Path(run) for run in runs]
    if len({folder.resolve() for folder in (*folders, Path(out))}) <= len(folders):
        message = f"{out}: expected each run once, and another folder for the merged run"
        raise StoreError(message)
    with ExitStack() as opened:
        stores = [opened.enter_context(Store.open(folder)) for folder in folders]
        target = opened.enter_context(Store.create(Path(out)))
        target.plans.retire_metrics(metrics)
        missing = target.count_missing()
        counts = [_copy_rows(target, store, missing) for store in stores]
        target.set_planned(missing)
        _merge_metadata(target, stores)
    return MergeSummary(folder=str(out), rows=sum(new for new, _ in counts), known=sum(old for _, old in counts))


def _copy_rows(target: Store, store: Store, missing: dict[int, int | None]) -> tuple[int, int]:
    """Append the missing rows of a run; return the number of new rows and of rows already present.

    The number of judgements that each plan of the run lacks is added to `missing`, by the plan's id in the merged run.
    """
    plans = target.plans.copy_plans(store.folder, store.taken_plans())
    missing |= {plans[plan]: count for plan, count in store.count_missing().items()}
    counting = {plan.id for plan in target.taken_plans()}
    new = known = 0
    for row in store.rows():
        result = row.result
        place = (result.sample_id, result.method, result.metric)
        there = target.get(row.key, place, result.repeat)
        plan = plans.get(row.plan) if row.newest else None
        if there and (there.finished or there == result):
            known += 1
            if plan and target.plan_of(place, result.repeat) not in counting:
                target.keep(place, plan=plan, repeat=result.repeat)
        elif plan:
            target.append(row.key, result, content=row.content, plan=plan, cost=row.cost)
            new += 1
        elif _is_missing(target, row, target.plan_of(place, result.repeat)):
            target.append(row.key, result, content=row.content, plan=NO_PLAN, cost=row.cost)
            new += 1
    target.keep_cases(store.cases())
    target.copy_calls(store)
    return new, known


def _is_missing(target: Store, row: StoredRow, plan: int | None) -> bool:
    """Return whether a row that counts in no plan is to be kept: a verdict, or else the cost of a failure.

    `plan` is that of the newest row in its place. A row that counts is never replaced.
    """
    if row.result.finished:
        return plan in {None, NO_PLAN} and not target.same(row.content)
    return plan is None and bool(row.cost.calls)


def _merge_metadata(target: Store, stores: Sequence[Store]) -> None:
    """Merge the metadata of the runs: union of metrics and unreadable rows, and judge and price of the first run."""
    for store in reversed(stores):
        metrics = store.fact("metrics")
        store_metrics(target, metrics if isinstance(metrics, list) else ())
    facts = (store.fact("judge") for store in stores)
    target.put_fact("judge", next((fact for fact in facts if fact), None))
    for name in (JUDGES, PRICES, REPLAYED):
        found = [fact for store in reversed(stores) if isinstance(fact := store.fact(name), dict)]
        target.put_fact(name, {key: part for fact in found for key, part in fact.items()})
    unread: dict[JsonValue, None] = {}
    count = 0
    for store in stores:
        rows = store.fact("unread")
        unread |= dict.fromkeys(map(str, rows if isinstance(rows, list) else []))
        counts = store.fact("unread_count")
        count = max(count, counts if isinstance(counts, int) else 0)  # each shard reads all rows
    target.put_fact("unread", [*unread][:MAX_LISTED_ROWS])
    target.put_fact("unread_count", max(count, len(unread)))
