"""The log of results, opened to write: append-only and crash-safe (kill -9); a run resumes from it.

It is an SQLite database in WAL mode. A row is handed to the operating system before it counts as done, and is on disk
after the next `flush` (measurements: docs/design/decisions/0001-result-log.md). Results that can be computed again at
no cost are written in groups.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import IO, Self

from pydantic import JsonValue
from pydantic_core import to_json

from greval._util.files import CloseOnExit
from greval._util.row_index import RowIndex, hash_key
from greval.errors import StoreError
from greval.judging.model.call_context import CallRecord
from greval.records.case import Case
from greval.records.metric_input import hash_json
from greval.records.result import Result, Usage, format_outline
from greval.runs.store.calls import CallTable
from greval.runs.store.disk import (
    COST_COLUMNS,
    FILE,
    SERVED_MODELS,
    LogSync,
    RowInserter,
    connect_log,
    list_costs,
    lock_folder,
    translate_errors,
)
from greval.runs.store.plans import CASE_SOURCE, PlanTable
from greval.runs.store.reader import ResultIndex, Store, hash_result_place

MAX_BUFFERED_ROWS = 4_096
"""The maximum number of kept rows that are buffered in memory before they are written."""
MAX_GROUP_ROWS = 256
"""The maximum number of recomputable results that are written together."""
MAX_UNSYNCED_COMMITS = 20_000
"""The number of commits after which a writer syncs the log itself. Normally the flushing thread has done it before."""


class StoreWriter(CloseOnExit):
    """A run folder, opened to write; a context manager. Only one process writes to a folder at a time.

    Attributes:
        folder: The run folder.
        plans: The plans of the log.
        reader: The same log to read from. It sees all that was appended.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: IO[str]) -> None:
        """Wrap an open connection; use `create` instead."""
        self.folder = folder
        self.plans = PlanTable(connection, folder)
        self._index = ResultIndex(connection, self.commit, all_rows=True)
        self.reader = Store(folder, connection, index=self._index, commit=self.commit)
        self._inserter = RowInserter(connection)
        self._calls = CallTable(connection, self._inserter)
        self._connection = connection
        self._lock = lock
        self._disk = LogSync(folder)
        self._kept_results: dict[int, int] = {}
        self._kept_cases: dict[int, int] = {}
        self._is_group_lost = False
        self._unsynced_commits = 0

    @classmethod
    def create(cls, folder: str | Path) -> Self:
        """Open a run folder to write, and create it if it does not exist."""
        folder = Path(folder)
        with translate_errors(folder), ExitStack() as opened:
            lock = opened.enter_context(lock_folder(folder))
            connection = connect_log(folder, write=True)
            opened.callback(connection.close)
            writer = cls(folder, connection, lock)
            opened.pop_all()
            return writer

    def append(  # noqa: PLR0913 - what a row has
        self,
        key: str,
        result: Result,
        *,
        content: str = "",
        case: str = "",
        plan: int | None = None,
        cost: Usage | None = None,
        calls: Sequence[CallRecord] = (),
        asked_content: int | None = None,
        recomputable: bool = False,
    ) -> None:
        """Append a result. After this returns, the result survives if the process is killed.

        A result that is `recomputable` and made no calls survives after the next `commit`, the next other write, or the
        next full group of `MAX_GROUP_ROWS`. Until then, only this writer and its reader know it.

        Args:
            key: The key of the judgement, see `greval.records.metric_input.compute_keys`.
            result: The row. It replaces an older row of the same sample, method, metric and repeat.
            content: The key of the judged content without sample and method, for `same`; empty for none.
            case: The case as JSON, stored together with its first result; empty for none.
            plan: The id of the plan that it belongs to; None for the plan of its metric and method.
            cost: The cost of the result; None for its own usage.
            calls: The calls of the judge for this result, which are stored together with it.
            asked_content: The number of the content whose calls a replayed result was read from; None for its own.
            recomputable: Whether the result can be made again at no cost, as those of computed metrics can.
        """
        self._check_group()
        rows_by_content, rows_by_place = self._index.numbers
        place_hash = hash_result_place(result.sample_id, result.method, result.metric, result.repeat)
        keys = (hash_key(key), hash_key(content) if content else None, place_hash)
        replaced = rows_by_place.get(place_hash)
        if plan is None:
            plan = self.plans.claim_plan(result.metric, result.method)
        total_cost = cost or result.usage
        if replaced is not None:
            total_cost += self._read_repeated_cost(replaced, keys[1], replayed=bool(result.replayed_from))
        finished = int(result.finished)
        self._note_served_models(result.served_by)
        row = (*keys, replaced, finished, plan, *_build_columns(result, total_cost))
        case_row = self._build_case_row(hash_key(hash_json(case)), case, result.method) if case else None
        of_case = result.sample_id, result.method
        # Within `write_together`, rows are written in the order in which they are appended.
        is_held = recomputable and not calls and asked_content is None and not self._connection.in_transaction
        insert = self._inserter.hold if is_held else self._inserter.insert
        # One transaction, because its overhead exceeds the cost of its statements.
        with nullcontext() if is_held else self._write():
            if case_row:
                self._calls.note_case(of_case, insert("cases", case_row), case)
            if keys[1] is not None:
                self._calls.insert(keys[1], result.fingerprint, of_case, calls)
                if asked_content is not None and asked_content != keys[1]:
                    self._calls.set_asked(keys[1], asked_content)
            at = insert("results", row)
        rows_by_place[place_hash] = at
        if keys[1] is not None and finished:
            rows_by_content[keys[1]] = at
        if self._inserter.held_results >= MAX_GROUP_ROWS:
            self.commit()

    def append_calls(
        self, content: str, fingerprint: str, case_key: tuple[str, str], calls: Sequence[CallRecord]
    ) -> None:
        """Append calls of a judgement that has no result yet. After this returns, they survive a killed process."""
        with self._write():
            self._calls.insert(hash_key(content), fingerprint, case_key, calls)

    def copy_calls(self, source: Store) -> int:
        """Copy the calls of another run that are not stored yet, and return their number."""
        with self._write():
            return self._calls.copy_calls(
                source.call_reader, lambda case: self._case_index.get(hash_key(hash_json(case)))
            )

    def keep(
        self, result_of: tuple[str, str, str], case: str = "", *, plan: int | None = None, repeat: int = 0
    ) -> None:
        """Assign the newest stored result of a sample, method and metric to a plan, so that it counts.

        By default, it is the plan of its metric and method. A case, as JSON, is stored if its contents are new.
        """
        due_plan = self.plans.claim_plan(result_of[2], result_of[1]) if plan is None else plan
        if self._index.find_plan(result_of, repeat) != due_plan:
            self._kept_results[self._index.find_row(result_of, repeat) or 0] = due_plan
            if len(self._kept_results) >= MAX_BUFFERED_ROWS:
                self.commit()
        if case:
            self._keep_case(case, result_of[1])

    def keep_cases(self, cases: Iterable[Case]) -> None:
        """Store the cases whose contents are not stored yet."""
        for case in cases:
            self._keep_case(case.model_dump_json(exclude_defaults=True), case.method)

    def get(self, key: str | None, result_of: tuple[str, str, str], repeat: int = 0) -> Result | None:
        """Return the newest result of a sample, method and metric if it has this key, else None; None is any key."""
        return self._index.get(key, result_of, repeat)

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key, for any sample and method, or None."""
        return self._index.same(content)

    def put_fact(self, name: str, content: JsonValue) -> None:
        """Store a metadata entry of the run, replacing an older one of this name."""
        with self._write():
            self._connection.execute(
                "INSERT OR REPLACE INTO facts (name, content) VALUES (?, ?)", (name, json.dumps(content))
            )

    @contextmanager
    def write_together(self) -> Iterator[None]:
        """Context manager in which all writes are one transaction: all of them survive a killed process, or none.

        It is for rows that can be made again at no cost.
        """
        self.commit()
        try:
            with translate_errors(self.folder), self._connection:
                self._connection.execute("BEGIN")
                yield
        except BaseException:
            self._inserter.forget()
            raise

    def commit(self) -> None:
        """Write the rows that are still in memory, so that they survive if the process is killed.

        They are the results that were appended as recomputable, and the plans that stored rows were assigned to.

        Raises:
            StoreError: If the disk is full or the folder is gone; what was written before stays. Nothing more can be
                written, because the log would refer to the lost results.
        """
        if not (self._inserter.held_results or self._kept_results or self._kept_cases):
            return
        with self._write():
            self._connection.executemany(KEEP_RESULT, self._kept_results.items())
            self._connection.executemany(KEEP_CASE, self._kept_cases.items())
        self._kept_results.clear()
        self._kept_cases.clear()

    def flush(self) -> None:
        """Sync everything written so far to disk. Any thread may call this; it does not block `append`."""
        with translate_errors(self.folder):
            self._unsynced_commits = 0
            self._disk.flush()

    def close(self) -> None:
        """Sync everything to disk, close the log and release the lock."""
        with ExitStack() as opened:
            # The lock is released last: callbacks run in reverse order.
            opened.callback(self._lock.close)
            opened.callback(self._connection.close)
            self.commit()
            self._disk.close()
            with translate_errors(self.folder):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _write(self) -> Iterator[None]:
        """Context manager for a transaction that ends with the block, or for a part of `write_together`.

        It begins with the recomputable results that are not written yet.
        """
        with translate_errors(self.folder):
            if self._connection.in_transaction:
                yield
                return
            self._check_group()
            has_group = bool(self._inserter.held_results)
            try:
                with self._connection:
                    self._connection.execute("BEGIN")
                    self._inserter.insert_held()
                    yield
            except BaseException:
                self._inserter.forget()
                self._is_group_lost = has_group
                raise
            self._unsynced_commits += 1
            if self._unsynced_commits >= MAX_UNSYNCED_COMMITS:
                self.flush()

    def _check_group(self) -> None:
        """Raise `StoreError` if computed results could not be written, because the log would refer to them."""
        if self._is_group_lost:
            raise StoreError(f"{self.folder / FILE}: computed results were not stored; run the same command again")

    def _keep_case(self, case: str, method: str) -> None:
        """Store a case (as JSON), or assign it to the current plan if it is already stored."""
        key = hash_key(hash_json(case))
        at = self._case_index.get(key)
        if at is None:
            with self._write():
                case_row = self._build_case_row(key, case, method)
                self._case_index[key] = self._inserter.insert("cases", case_row)
            return
        query = f"SELECT {CASE_SOURCE} FROM cases WHERE rowid = ?"  # noqa: S608 - constant
        (source,) = self._connection.execute(query, (at,)).fetchone()
        if source != self.plans.source_id:
            self._kept_cases[at] = self.plans.source_id

    @cached_property
    def _case_index(self) -> RowIndex:
        """Index of the stored cases by content hash, loaded at first use."""
        numbers = RowIndex()
        numbers.load(self.reader.query("SELECT key, rowid FROM cases ORDER BY rowid"))
        return numbers

    def _build_case_row(self, key: int, case: str, method: str) -> tuple[object, ...]:
        return key, self.plans.source_id, method, case

    def _read_repeated_cost(self, replaced: int, content: int | None, *, replayed: bool) -> Usage:
        """Return the cost of a replaced row if it is of the same content or read again, else none."""
        replaced_content, *costs = self._index.read_row(f"content, {', '.join(COST_COLUMNS)}", replaced)
        return (
            Usage(**dict(zip(COST_COLUMNS, costs, strict=True))) if replayed or replaced_content == content else Usage()
        )

    @cached_property
    def _served_models(self) -> set[str]:
        models = self.reader.fact(SERVED_MODELS)
        return {str(model) for model in models} if isinstance(models, list) else set()

    def _note_served_models(self, models: Iterable[str]) -> None:
        """Store the models that replies name if there are new ones, so that reports know of several."""
        if not self._served_models.issuperset(models):
            self._served_models.update(models)
            self.put_fact(SERVED_MODELS, [*sorted(self._served_models)])


KEEP_RESULT = "INSERT OR REPLACE INTO kept_results (result, plan) VALUES (?, ?)"
KEEP_CASE = "INSERT OR REPLACE INTO kept_cases (judged_case, source) VALUES (?, ?)"


def _build_columns(result: Result, cost: Usage) -> tuple[object, ...]:
    """Return the columns of a row after its numeric keys."""
    return (
        *(result.sample_id, result.method, result.metric, result.repeat),
        *(to_json(result.tags).decode(), format_outline(result)),
        *list_costs(cost),
        result.model_dump_json(),
    )
