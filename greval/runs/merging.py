"""Merging of runs: combine the logs of shards, or of several machines, into one run folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from greval._util.row_index import format_key
from greval.datasets.case_records import MAX_LISTED_ROWS
from greval.errors import StoreError
from greval.records.record import Record
from greval.records.result import Result, Usage
from greval.runs.manifest import JUDGES, ORIGIN, PRICES, REPEATED_BY, REPLAYED, store_metrics
from greval.runs.store import Store
from greval.runs.store.disk import COST_COLUMNS
from greval.runs.store.plans import NO_PLAN, RESULT_PLAN
from greval.runs.store.reader import NEWEST
from greval.runs.store.writer import StoreWriter


class MergeSummary(Record):
    """The result of a merge: the number of copied rows, and of rows that were already present."""

    folder: str
    rows: int
    known: int


class StoredRow(NamedTuple):
    """A row of the log. `newest` is true if no other row replaced it.

    `cost` includes the rows of the same content that it replaced. It is zero if a later row includes it.
    """

    key: str
    content: str
    result: Result
    cost: Usage
    newest: bool
    plan: int


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
        target = opened.enter_context(StoreWriter.create(Path(out)))
        target.plans.retire_metrics(metrics)
        missing = _count_missing(target.reader)
        copied = [_copy_rows(target, store, missing) for store in stores]
        counts = _count_by_plan(target.reader)
        for plan, lacking in missing.items():
            target.plans.set_planned(plan, None if lacking is None else counts.get(plan, 0) + lacking)
        _merge_metadata(target, stores)
    return MergeSummary(
        folder=str(out), rows=sum(new for new, _ in copied), known=sum(present for _, present in copied)
    )


def _copy_rows(target: StoreWriter, store: Store, missing: dict[int, int | None]) -> tuple[int, int]:
    """Append the missing rows of a run; return the number of new rows and of rows already present.

    The number of judgements that each plan of the run lacks is added to `missing`, by the plan's id in the merged run.
    """
    plans = target.plans.copy_plans(store.folder, (plan for plan in store.plans() if plan.method is not None))
    missing |= {plans[plan]: count for plan, count in _count_missing(store).items()}
    counting = {plan.id for plan in target.reader.plans()}
    find_plan = target.reader.index.find_plan
    new = present = 0
    for row in read_rows(store):
        result = row.result
        result_of = (result.sample_id, result.method, result.metric)
        existing = target.get(row.key, result_of, result.repeat)
        plan = plans.get(row.plan) if row.newest else None
        if existing and (existing.finished or existing == result):
            present += 1
            if plan and find_plan(result_of, result.repeat) not in counting:
                target.keep(result_of, plan=plan, repeat=result.repeat)
        elif plan:
            target.append(row.key, result, content=row.content, plan=plan, cost=row.cost)
            new += 1
        elif _is_missing(target, row, find_plan(result_of, result.repeat)):
            target.append(row.key, result, content=row.content, plan=NO_PLAN, cost=row.cost)
            new += 1
    target.keep_cases(store.cases())
    target.copy_calls(store)
    return new, present


def read_rows(store: Store) -> Iterator[StoredRow]:
    """Yield every row that was ever written to a log, oldest first."""
    columns = ", ".join(("key", "content", "row", *COST_COLUMNS, NEWEST, f"EXISTS ({REPEATED_BY})", RESULT_PLAN))
    query = f"SELECT {columns} FROM results ORDER BY rowid"  # noqa: S608 - constants
    for key, content, row, *costs, newest, repeated, plan in store.query(query):
        cost = Usage() if repeated else Usage(**dict(zip(COST_COLUMNS, costs, strict=True)))
        content_key = "" if content is None else format_key(content)
        yield StoredRow(format_key(key), content_key, Result.model_validate_json(row), cost, bool(newest), plan)


def _count_missing(store: Store) -> dict[int, int | None]:
    """Count the missing judgements of each counted plan by its id; None if the planned number is unknown."""
    counts = _count_by_plan(store)
    return {
        plan.id: None if plan.planned is None else plan.planned - counts.get(plan.id, 0)
        for plan in store.plans()
        if plan.method is not None
    }


def _count_by_plan(store: Store) -> dict[int, int]:
    query = f"SELECT {RESULT_PLAN} AS of_plan, count(*) FROM results WHERE {NEWEST} GROUP BY of_plan"  # noqa: S608 - constants
    return dict(store.query(query).fetchall())


def _is_missing(target: StoreWriter, row: StoredRow, plan: int | None) -> bool:
    """Return whether a row that counts in no plan is to be kept: a verdict, or else the cost of a failure.

    `plan` is that of the newest row in its place. A row that counts is never replaced.
    """
    if row.result.finished:
        return plan in {None, NO_PLAN} and not target.same(row.content)
    return plan is None and bool(row.cost.calls)


def _merge_metadata(target: StoreWriter, stores: Sequence[Store]) -> None:
    """Merge the metadata of the runs: union of metrics and unreadable rows, and judge and price of the first run."""
    # In reverse, so that the definitions of the first run replace those of the others.
    for store in reversed(stores):
        metrics = store.fact("metrics")
        store_metrics(target, metrics if isinstance(metrics, list) else ())
    facts = (store.fact("judge") for store in stores)
    target.put_fact("judge", next((fact for fact in facts if fact), None))
    for name in (JUDGES, ORIGIN, PRICES, REPLAYED):
        mappings = [fact for store in reversed(stores) if isinstance(fact := store.fact(name), dict)]
        target.put_fact(name, {key: part for fact in mappings for key, part in fact.items()})
    unread: dict[JsonValue, None] = {}
    count = 0
    for store in stores:
        rows = store.fact("unread")
        unread |= dict.fromkeys(map(str, rows if isinstance(rows, list) else []))
        counts = store.fact("unread_count")
        # Each shard reads all rows.
        count = max(count, counts if isinstance(counts, int) else 0)
    target.put_fact("unread", [*unread][:MAX_LISTED_ROWS])
    target.put_fact("unread_count", max(count, len(unread)))
