"""The log of results: append-only and crash-safe (kill -9); a run resumes from it.

It is an SQLite database in WAL mode. A row is handed to the operating system before it counts as done, and is on disk
after the next `flush` (measurements: docs/design/decisions/0001-result-log.md). Results that can be computed again at
no cost are written in groups.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, lru_cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json, to_json

from greval._util.files import CloseOnExit
from greval._util.row_index import RowIndex, format_key, hash_key
from greval.datasets.file_identity import CaseSource
from greval.errors import StoreError
from greval.judging.call_record import CallRecord
from greval.records.case import Case
from greval.records.judge_call import JudgeCall
from greval.records.metric_input import hash_json
from greval.records.result import IMPORTED, Result, Usage, format_outline
from greval.runs.store.calls import CallReader, CallTable, JudgedContent
from greval.runs.store.case_heads import CASE_HEAD, CaseHead, parse_case_head
from greval.runs.store.disk import COST_COLUMNS, FILE, LogSync, lock_folder, prepare_tables, translate_errors
from greval.runs.store.exports import TableLayout, build_frame, read_layout
from greval.runs.store.filters import ANY_RESULT, ResultFilter
from greval.runs.store.plans import (
    CASE_SOURCE,
    COUNTED,
    COUNTED_CASE,
    RESULT_PLAN,
    CountedPlan,
    ImportedPlan,
    PlanTable,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

NEWEST = "rowid NOT IN (SELECT replaces FROM results WHERE replaces IS NOT NULL)"
REPEATED_BY = """
    SELECT 1 FROM results AS later WHERE later.replaces = results.rowid
    AND (later.content IS results.content OR json_extract(later.row, '$.replayed_from') IS NOT NULL)
"""
"""The row that replaced a row with a result of the same content, and includes its cost."""
METRIC_VERSION = "json_extract(row, '$.fingerprint', '$.judge')"
ITEM_ROW = "CASE WHEN json_extract(row, '$.outcome.judgements[0].item') IS NOT NULL THEN row END"
"""The row of a result with judgements of single items, else NULL."""
WHOLE_COST = "CASE WHEN max(cost IS NULL AND output_tokens IS NOT NULL) THEN NULL ELSE sum(cost) END"
"""The sum of the costs that a provider states, if it states one for each row with tokens."""
SERVED_MODELS = "served_models"
"""The name of the metadata entry for the models that the replies name."""
NO_CONTENT = 0
ROW_NUMBERS = f"""
SELECT rowid, place, CASE WHEN finished AND content IS NOT NULL THEN content ELSE {NO_CONTENT} END
FROM results
"""  # noqa: S608 - constant
MAX_BUFFERED_ROWS = 4_096
"""The maximum number of kept rows that are buffered in memory before they are written."""
MAX_GROUP_ROWS = 256
"""The maximum number of recomputable results that are written together."""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class _RowIndexes(NamedTuple):
    """Row numbers of the newest finished row by content, and of the newest row by sample, method, metric and repeat."""

    contents: RowIndex
    places: RowIndex


class _RowGroup:
    """Rows of recomputable results and of their cases that are written together.

    Nothing else may be written before them, because they are numbered as they will be in the tables.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        """Store the connection; nothing is read before the first row."""
        self.results: list[tuple[object, ...]] = []
        self._cases: list[tuple[object, ...]] = []
        self._db = database
        self._written = 0, 0

    def add(self, result: tuple[object, ...], case: tuple[object, ...] | None) -> tuple[int, int]:
        """Add a result and its case, and return the row numbers that they will have."""
        if not self.results:
            self._written = self._db.execute(LAST_ROWS).fetchone()
        self.results.append(result)
        if case:
            self._cases.append(case)
        return self._written[0] + len(self.results), self._written[1] + len(self._cases)

    def holds(self, number: int) -> bool:
        """Return whether a row number is that of a result of the group."""
        return bool(self.results) and number > self._written[0]

    def insert(self) -> None:
        """Insert all rows within the transaction of the caller."""
        if self.results:
            self._db.executemany(INSERT_CASE, self._cases)
            self._db.executemany(INSERT, self.results)

    def clear(self) -> None:
        """Remove all rows."""
        self.results.clear()
        self._cases.clear()


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


class Store(CloseOnExit):
    """A run folder, opened to write (`create`) or to read (`open`); a context manager.

    Reading returns the results of the last plan. Results of other cases, answers, judges or definitions stay in the
    log and are not counted (`greval.runs.store.plans`).

    Example:
        >>> import tempfile
        >>> with Store.create(Path(tempfile.mkdtemp()) / "run") as store:
        ...     store.put_fact("judge", "local")
        ...     store.fact("judge")
        'local'
    """

    def __init__(
        self,
        folder: Path,
        connection: sqlite3.Connection,
        held: IO[str] | None,
        disk: LogSync | None,
        *,
        all_rows: bool = False,
    ) -> None:
        """Wrap an open connection; use `create` or `open` instead."""
        self.folder = folder
        self.plans = PlanTable(connection, folder)
        self.call_reader = CallReader(connection)
        self._calls = CallTable(connection)
        self._connection = connection
        self._lock = held
        self._disk = disk
        self._all_rows = all_rows
        self._kept_results: dict[int, int] = {}
        self._kept_cases: dict[int, int] = {}
        self._group = _RowGroup(connection)
        self._is_group_lost = False

    @classmethod
    def create(cls, folder: str | Path) -> Self:
        """Open a run folder to write, and create it if it does not exist.

        Raises:
            StoreError: If another run writes to it, it cannot be written, or another version of greval wrote it.
        """
        folder = Path(folder)
        return cls._open_log(folder, lock_folder(folder))

    @classmethod
    def open(cls, folder: str | Path, *, all_rows: bool = False) -> Self:
        """Open a run folder to read, also while a run writes to it.

        Args:
            folder: The run folder.
            all_rows: Whether to read also the results that do not belong to the last plan, such as those of answers
                that have changed since.

        Raises:
            StoreError: If it is not a run folder, or another version of greval wrote it.
        """
        folder = Path(folder)
        if not (folder / FILE).is_file():
            raise StoreError(f"{folder}: no run is there; greval evaluate CASES -m METRIC -o {folder} makes one")
        return cls._open_log(folder, None, all_rows=all_rows)

    @classmethod
    def _open_log(cls, folder: Path, held: IO[str] | None, *, all_rows: bool = False) -> Self:
        """Open the log, and close everything again if that fails."""
        with translate_errors(folder), ExitStack() as opened:
            if held:
                opened.callback(held.close)
            connection = sqlite3.connect(folder / FILE, isolation_level=None, check_same_thread=False)
            opened.callback(connection.close)
            prepare_tables(connection, folder, write=held is not None)
            store = cls(folder, connection, held, LogSync(folder) if held else None, all_rows=all_rows)
            opened.pop_all()
            return store

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
        asked: int | None = None,
        recomputable: bool = False,
    ) -> None:
        """Append a result. After this returns, the result survives if the process is killed.

        A result that is `recomputable` and made no calls survives after the next `commit`, the next other write, or the
        next full group of `MAX_GROUP_ROWS`. Until then, only this store reads it.

        Args:
            key: The key of the judgement, see `greval.records.metric_input.compute_keys`.
            result: The row. It replaces an older row of the same sample, method, metric and repeat.
            content: The key of the judged content without sample and method, for `same`; empty for none.
            case: The case as JSON, stored together with its first result; empty for none.
            plan: The id of the plan that it belongs to; None for the plan of its metric and method.
            cost: The cost of the result; None for its own usage.
            calls: The calls of the judge for this result, which are stored together with it.
            asked: The number of the content whose calls a replayed result was read from; None for its own.
            recomputable: Whether the result can be made again at no cost, as those of computed metrics can.

        Raises:
            StoreError: If the disk is full or the folder is gone; what was written before stays.
        """
        known = self._row_indexes
        place = _hash_place(result.sample_id, result.method, result.metric, result.repeat)
        numbers = (hash_key(key), hash_key(content) if content else None, place)
        replaced = known.places.get(place)
        if plan is None:
            plan = self.plans.claim_plan(result.metric, result.method)
        whole = cost or result.usage
        if replaced is not None:
            whole += self._read_repeated_cost(replaced, numbers[1], replayed=bool(result.replayed_from))
        finished = result.finished
        self._note_served_models(result.served_by)
        row = (*numbers, replaced, finished, plan, *_build_columns(result, whole))
        held = self._build_case_row(hash_key(hash_json(case)), case, result.method) if case else None
        of_case = result.sample_id, result.method
        if recomputable and not calls and asked is None and not self._connection.in_transaction:
            self._check_group()
            at, case_at = self._group.add(row, held)
            if held:
                self._calls.note_case(of_case, case_at, case)
        else:
            with self._write():  # one transaction, because its overhead exceeds the cost of its statements
                if held:
                    self._calls.note_case(of_case, self._insert(INSERT_CASE, held), case)
                if numbers[1] is not None:
                    self._calls.insert(numbers[1], result.fingerprint, of_case, calls)
                    if asked is not None and asked != numbers[1]:
                        self._calls.set_asked(numbers[1], asked)
                at = self._insert(INSERT, row)
        known.places[place] = at
        if numbers[1] is not None and finished:
            known.contents[numbers[1]] = at
        if len(self._group.results) >= MAX_GROUP_ROWS:
            self.commit()

    @cached_property
    def _served_models(self) -> set[str]:
        """The models that the replies of all results name."""
        known = self.fact(SERVED_MODELS)
        return {str(model) for model in known} if isinstance(known, list) else set()

    def _note_served_models(self, models: Iterable[str]) -> None:
        """Store the models that replies name if there are new ones, so that reports know of several."""
        if not self._served_models.issuperset(models):
            self._served_models.update(models)
            self.put_fact(SERVED_MODELS, [*sorted(self._served_models)])

    @contextmanager
    def write_together(self) -> Iterator[None]:
        """Context manager in which all writes are one transaction: all of them survive a killed process, or none.

        It is for rows that can be made again at no cost.
        """
        self.commit()
        with translate_errors(self.folder), self._connection:
            self._connection.execute("BEGIN")
            yield

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
            has_group = bool(self._group.results)
            try:
                with self._connection:
                    self._connection.execute("BEGIN")
                    self._group.insert()
                    self._group.clear()
                    yield
            except BaseException:
                self._group.clear()
                self._is_group_lost = has_group
                raise

    def _check_group(self) -> None:
        """Raise `StoreError` if computed results could not be written, because the store would refer to them."""
        if self._is_group_lost:
            raise StoreError(f"{self.folder / FILE}: computed results were not stored; run the same command again")

    def commit(self) -> None:
        """Write the results that were appended as recomputable, so that they survive if the process is killed.

        Raises:
            StoreError: If the disk is full or the folder is gone; what was written before stays. Nothing more can be
                written, because the store would refer to the lost results.
        """
        if self._group.results:
            with self._write():
                pass

    @property
    def _db(self) -> sqlite3.Connection:
        """The connection, after all results that were appended have been written."""
        self.commit()
        return self._connection

    def _insert(self, statement: str, row: tuple[object, ...]) -> int:
        return self._connection.execute(statement, row).lastrowid or 0

    def append_calls(self, content: str, fingerprint: str, place: tuple[str, str], calls: Sequence[CallRecord]) -> None:
        """Append calls of a judgement that has no result yet. After this returns, they survive a killed process.

        Args:
            content: The key of the judged content.
            fingerprint: The fingerprint of the metric.
            place: The sample id and the method of the case.
            calls: The calls.

        Raises:
            StoreError: If the disk is full or the folder is gone; what was written before stays.
        """
        with self._write():
            self._calls.insert(hash_key(content), fingerprint, place, calls)

    def get(self, key: str, result_of: tuple[str, str, str], repeat: int = 0) -> Result | None:
        """Return the newest result of a sample, method and metric if it has this key, else None."""
        at = self._row_indexes.places.get(_hash_place(*result_of, repeat))
        return None if at is None else self._read_result(at, hash_key(key))

    def find_newest(self, result_of: tuple[str, str, str], repeat: int = 0) -> Result | None:
        """Return the newest result of a sample, method and metric, or None if there is no result."""
        at = self._row_indexes.places.get(_hash_place(*result_of, repeat))
        return None if at is None else self._read_result(at)

    def plan_of(self, result_of: tuple[str, str, str], repeat: int = 0) -> int | None:
        """Return the plan id of the newest result of a sample, method and metric, or None if there is no result."""
        at = self._row_indexes.places.get(_hash_place(*result_of, repeat))
        return None if at is None else int(self._read_row(RESULT_PLAN, at)[0])

    def holds_result(self, result_of: tuple[str, str, str]) -> bool:
        """Return whether there is a result of a sample, method and metric."""
        return _hash_place(*result_of, 0) in self._row_indexes.places

    def keep(
        self, result_of: tuple[str, str, str], case: str = "", *, plan: int | None = None, repeat: int = 0
    ) -> None:
        """Assign the newest stored result of a sample, method and metric to a plan, so that it counts.

        Args:
            result_of: The sample id, the method and the metric.
            case: The case as JSON, which is stored if its contents are new; empty for none.
            plan: The id of the plan; None for the plan of its metric and method.
            repeat: The number of the repeat.
        """
        wanted = self.plans.claim_plan(result_of[2], result_of[1]) if plan is None else plan
        if self.plan_of(result_of, repeat) != wanted:
            self._kept_results[self._row_indexes.places.get(_hash_place(*result_of, repeat)) or 0] = wanted
            if len(self._kept_results) >= MAX_BUFFERED_ROWS:
                self._write_kept_rows()
        if case:
            self._keep_case(case, result_of[1])

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key, for any sample and method, or None."""
        at = self._row_indexes.contents.get(content)
        return None if at is None else self._read_result(at)

    def flush(self) -> None:
        """Sync everything written so far to disk. Any thread may call this; it does not block `append`.

        Raises:
            StoreError: If syncing fails, for example because the disk is full.
        """
        if self._disk:
            with translate_errors(self.folder):
                self._disk.flush()

    def rows(self) -> Iterator[StoredRow]:
        """Yield every row that was ever written, oldest first."""
        columns = ", ".join(("key", "content", "row", *COST_COLUMNS, NEWEST, f"EXISTS ({REPEATED_BY})", RESULT_PLAN))
        query = f"SELECT {columns} FROM results ORDER BY rowid"  # noqa: S608 - constants
        for key, content, row, *costs, newest, repeated, plan in self._db.execute(query):
            cost = Usage() if repeated else Usage(**dict(zip(COST_COLUMNS, costs, strict=True)))
            same = "" if content is None else format_key(content)
            yield StoredRow(format_key(key), same, Result.model_validate_json(row), cost, bool(newest), plan)

    def keep_cases(self, cases: Iterable[Case]) -> None:
        """Store the cases whose contents are not stored yet."""
        for case in cases:
            self._keep_case(case.model_dump_json(exclude_defaults=True), case.method)

    def _keep_case(self, case: str, method: str) -> None:
        """Store a case (as JSON), or assign it to the current plan if it is already stored."""
        key = hash_key(hash_json(case))
        at = self._case_index.get(key)
        if at is None:
            with self._write():
                self._case_index[key] = self._insert(INSERT_CASE, self._build_case_row(key, case, method))
            return
        query = f"SELECT {CASE_SOURCE} FROM cases WHERE rowid = ?"  # noqa: S608 - constant
        (source,) = self._connection.execute(query, (at,)).fetchone()
        if source != self.plans.source_id:
            self._kept_cases[at] = self.plans.source_id

    def cases(self) -> Iterator[Case]:
        """Yield every judged case."""
        for row in self.case_lines():
            yield Case.model_validate_json(row)

    def case_lines(self) -> Iterator[str]:
        """Yield every judged case as a JSON line."""
        self._write_kept_rows()
        query = f"SELECT key, row FROM cases WHERE {self._build_case_condition()} ORDER BY rowid"  # noqa: S608 - constant
        seen: set[int] = set()
        for key, row in self._db.execute(query):
            if key not in seen:
                seen.add(key)
                yield row

    def case_versions(self) -> Iterator[tuple[int, int]]:
        """Iterate over the keys and the row numbers of the judged cases, oldest first; equal cases have equal keys."""
        self._write_kept_rows()
        return self._db.execute(f"SELECT key, rowid FROM cases WHERE {self._build_case_condition()} ORDER BY rowid")  # noqa: S608 - constant

    def read_case_lines(self, numbers: Sequence[int] | NDArray[np.int64]) -> Iterator[str]:
        """Yield the cases with these row numbers as JSON lines, in this order.

        A query for consecutive numbers takes a third of the time of one for each of them.
        """
        import numpy as np

        for span in np.split(np.asarray(numbers, np.int64), np.flatnonzero(np.diff(numbers) != 1) + 1):
            ends = (int(span[0]), int(span[-1])) if len(span) else (0, -1)
            for (row,) in self._db.execute("SELECT row FROM cases WHERE rowid BETWEEN ? AND ? ORDER BY rowid", ends):
                yield row

    def case_heads(self) -> Iterator[CaseHead]:
        """Yield the id, methods and the begin of the question of each version of each judged case, oldest first."""
        self._write_kept_rows()
        condition = self._build_case_condition()
        for texts in self._db.execute(f"SELECT {CASE_HEAD} FROM cases WHERE {condition} ORDER BY rowid"):  # noqa: S608 - constants
            yield parse_case_head(*texts)

    def case_places(self) -> Iterator[tuple[int, str, str]]:
        """Yield the row number, the id and the method of every judged case, oldest first."""
        self._write_kept_rows()
        place, condition = "json_extract(row, '$.id', '$.method')", self._build_case_condition()
        query = f"SELECT rowid, {place} FROM cases WHERE {condition} ORDER BY rowid"  # noqa: S608 - constants
        for number, names in self._db.execute(query):
            sample_id, method = from_json(names)
            yield number, sample_id or "", method or ""

    def read_case(self, number: int) -> Case:
        """Return the case with a row number."""
        (row,) = self._db.execute("SELECT row FROM cases WHERE rowid = ?", (number,)).fetchone()
        return Case.model_validate_json(row)

    def results(self) -> Iterator[Result]:
        """Yield the newest result of each sample, method, metric and repeat, in the order of writing."""
        for row in self.lines():
            yield Result.model_validate_json(row)

    def lines(self, metric: str | None = None) -> Iterator[str]:
        """Yield the same results as JSON lines, all of them or those of one metric."""
        return self.filter_lines(ResultFilter(metrics=() if metric is None else (metric,)))

    def judged_rows(self, metric: str) -> Iterator[tuple[str, str, int, int, int, str, str, str, str | None]]:
        """Iterate over the columns that a panel needs of the same results of a metric.

        Returns:
            Tuples of sample id, method, repeat, the numbers of the key and of the content key (`hash_key`; `NO_CONTENT`
            if it was stored without one), tags as JSON, the outline (`greval.records.result`), a JSON list of the
            metric's fingerprint and the judge, and the result as JSON if its judgements are of single items, else None.
        """
        columns = f"sample_id, method, repeat, key, ifnull(content, {NO_CONTENT}), tags, outline"
        return self._select(f"{columns}, {METRIC_VERSION}, {ITEM_ROW}", ResultFilter(metrics=(metric,)))

    def placed_lines(self, metric: str) -> Iterator[tuple[str, str, str]]:
        """Yield the sample id and the method of the same results of a metric, and each result as a JSON line."""
        return self._select("sample_id, method, row", ResultFilter(metrics=(metric,)))

    def filter_lines(self, result_filter: ResultFilter) -> Iterator[str]:
        """Yield those of the same results that meet a filter as JSON lines."""
        for (row,) in self._select("row", result_filter):
            if not result_filter.needs_check(row) or result_filter.matches(row):
                yield row

    def filter_outlines(self, result_filter: ResultFilter) -> Iterator[tuple[int, str, str]]:
        """Yield the row number, the metric and the outline of those of the same results that meet a filter."""
        texts = "row" if result_filter.reads_texts else "''"
        for number, metric, outline, row in self._select(f"rowid, metric, outline, {texts}", result_filter):
            if not result_filter.needs_check(row) or result_filter.matches(row):
                yield number, metric, outline

    def sample_lines(self) -> Iterator[tuple[str, str]]:
        """Yield the sample id of the same results, and each result as a JSON line."""
        return self._select("sample_id, row")

    def read_lines(self, numbers: Iterable[int]) -> Iterator[str]:
        """Yield the results with these row numbers as JSON lines, in this order."""
        for number in numbers:
            yield self._db.execute("SELECT row FROM results WHERE rowid = ?", (number,)).fetchone()[0]

    def calls(self, result_filter: ResultFilter = ANY_RESULT) -> Iterator[JudgeCall]:
        """Yield the stored calls of those of the same results that meet a filter, in the order of the results."""
        columns = f"{self.call_reader.asked_column}, sample_id, method, metric"
        judged = (JudgedContent(*row) for row in self._select(columns, result_filter) if row[0] is not None)
        yield from self.call_reader.read(judged)

    def count_unasked(self, metric: str) -> int:
        """Count the scored results of a metric whose calls are not stored."""
        wanted = ResultFilter(metrics=(metric,), status="scored")
        contents = self._select(self.call_reader.asked_column, wanted)
        return sum(content is None or not self.call_reader.find(content) for (content,) in contents)

    def count_by_metric(self) -> dict[str, int]:
        """Count the results of each metric."""
        return dict(Counter(metric for (metric,) in self._select("metric")))

    def count_replayed(self) -> dict[str, int]:
        """Count the results that were read again from stored replies, by metric."""
        self._write_kept_rows()
        conditions = (
            f"json_extract(row, '$.replayed_from') IS NOT NULL AND {NEWEST} AND {self._build_condition(COUNTED)}"
        )
        query = f"SELECT metric, count(*) FROM results WHERE {conditions} GROUP BY metric ORDER BY min(rowid)"  # noqa: S608 - constants
        return dict(self._db.execute(query).fetchall())

    def count_served_models(self) -> dict[str, dict[str, int]]:
        """Count the results by the models that their replies name, for each judge whose replies name several."""
        if len(self._served_models) < 2:  # noqa: PLR2004 - then no row needs to be read
            return {}
        self._write_kept_rows()
        named = f"""
            SELECT json_extract(row, '$.judge') AS judge, json_extract(row, '$.served_by') AS models FROM results
            WHERE {NEWEST} AND {self._build_condition(COUNTED)}
        """  # noqa: S608 - constants
        query = f"SELECT judge, value, count(*) FROM ({named}), json_each(models) GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"  # noqa: S608 - as above
        counts: dict[str, dict[str, int]] = {}
        for judge, model, count in self._db.execute(query):
            counts.setdefault(judge, {})[model] = count
        return {judge: models for judge, models in counts.items() if len(models) > 1}

    def copy_calls(self, source: Store) -> int:
        """Copy the calls of another run that are not stored yet, and return their number."""
        with self._write():
            return self._calls.copy_calls(
                source.call_reader, lambda case: self._case_index.get(hash_key(hash_json(case)))
            )

    def outlines(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the columns that a report needs of the same results, without reasons.

        Returns:
            Tuples of metric, method, tags as JSON, the outline (`greval.records.result`), and the fields of `Usage`,
            which include the cost of the rows of the same content that this row replaced.
        """
        return self._select(", ".join(("metric", "method", "tags", "outline", *COST_COLUMNS)))

    def result_places(self) -> Iterator[tuple[int, str, str]]:
        """Yield the row number, the sample id and the method of the same results."""
        return self._select("rowid, sample_id, method")

    def scores(self) -> Iterator[tuple[str, str, str, str, str, str]]:
        """Iterate over the columns that a comparison needs of the same results.

        Returns:
            Tuples of sample id, method, metric, tags as JSON, the outline (`greval.records.result`), and a JSON list
            of the metric's fingerprint and the judge.
        """
        return self._select(f"sample_id, method, metric, tags, outline, {METRIC_VERSION}")

    def sample_outlines(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield the sample id, the method, the metric, the tags as JSON and the outline of the same results."""
        return self._select("sample_id, method, metric, tags, outline")

    def holds_results(self) -> bool:
        """Return whether the log has any result."""
        return self._db.execute("SELECT 1 FROM results LIMIT 1").fetchone() is not None

    def count(self) -> int:
        """Return the number of the same results."""
        (found,) = next(self._select("count(*)"))
        return int(found)

    def count_others(self) -> int:
        """Count the results that belong to no counted plan: those of other cases, answers, judges or definitions."""
        if self._all_rows or not self._db.execute("SELECT 1 FROM plans WHERE NOT current LIMIT 1").fetchone():
            return 0
        query = f"SELECT count(*) FROM results WHERE {NEWEST} AND NOT {COUNTED}"  # noqa: S608 - constants
        return int(self._db.execute(query).fetchone()[0])

    def count_planned(self) -> dict[str, int]:
        """Count the planned judgements of each metric, stored and missing ones, as far as the number is known."""
        query = """
            SELECT metric, CASE WHEN count(*) = count(planned) THEN sum(planned) ELSE max(total) END
            FROM plans JOIN sources ON sources.id = plans.source
            WHERE current GROUP BY metric, source ORDER BY min(plans.id)
        """
        found: Counter[str] = Counter()
        for metric, count in self._db.execute(query):
            if count is not None:
                found[metric] += count
        return dict(found)

    def count_missing(self) -> dict[int, int | None]:
        """Count the missing judgements of each counted plan by its id; None if the planned number is unknown."""
        there, plans = self._count_by_plan(), self.taken_plans()
        return {plan.id: None if plan.planned is None else plan.planned - there.get(plan.id, 0) for plan in plans}

    def set_planned(self, missing: Mapping[int, int | None]) -> None:
        """Store the planned number of judgements of each plan, given the number of missing ones by plan id."""
        there = self._count_by_plan()
        for plan, count in missing.items():
            self.plans.set_planned(plan, None if count is None else there.get(plan, 0) + count)

    def _count_by_plan(self) -> dict[int, int]:
        self._write_kept_rows()
        query = f"SELECT {RESULT_PLAN} AS of_plan, count(*) FROM results WHERE {NEWEST} GROUP BY of_plan"  # noqa: S608 - constants
        return dict(self._db.execute(query).fetchall())

    def stops(self) -> tuple[str, ...]:
        """Return the reasons why commands with counted plans were stopped."""
        query = """
            SELECT DISTINCT stopped FROM sources
            WHERE stopped IS NOT NULL AND id IN (SELECT source FROM plans WHERE current) ORDER BY id
        """
        return tuple(why for (why,) in self._db.execute(query))

    def judges(self) -> tuple[str, ...]:
        """Return the labels of the judges of the counted results."""
        query = "SELECT judge FROM plans WHERE current AND judge != '' GROUP BY judge ORDER BY min(id)"
        return tuple(judge for (judge,) in self._db.execute(query))

    def imports(self) -> list[ImportedPlan]:
        """Return the counted verdicts that were imported, by metric, judge and file."""
        query = """
            SELECT DISTINCT metric, judge, label, digest FROM plans JOIN sources ON sources.id = plans.source
            WHERE current AND (judge = ? OR judge LIKE ?) ORDER BY plans.id
        """
        rows = self._db.execute(query, (IMPORTED, f"{IMPORTED}:%"))
        return [
            ImportedPlan(metric, judge.removeprefix(IMPORTED).removeprefix(":"), CaseSource(*source).path)
            for metric, judge, *source in rows
        ]

    def judges_by_metric(self) -> dict[str, tuple[str, ...]]:
        """Return the labels of the judges of the counted results by the names of the metrics."""
        query = "SELECT DISTINCT metric, judge FROM plans WHERE current AND judge != '' ORDER BY id"
        found: dict[str, tuple[str, ...]] = {}
        for metric, judge in self._db.execute(query):
            found[metric] = tuple(dict.fromkeys((*found.get(metric, ()), judge)))
        return found

    def origins(self) -> list[CaseSource]:
        """Return all sources from which the cases of this run were read."""
        return [CaseSource(*row) for row in self._db.execute("SELECT label, digest FROM sources ORDER BY id")]

    def taken_plans(self) -> list[CountedPlan]:
        """Return the counted plans, for a merge."""
        query = """
            SELECT plans.id, metric, method, fingerprint, judge, planned, stopped
            FROM plans JOIN sources ON sources.id = plans.source
            WHERE current AND method IS NOT NULL ORDER BY plans.id
        """
        return [CountedPlan(*row) for row in self._db.execute(query)]

    def _select(self, columns: str, result_filter: ResultFilter = ANY_RESULT) -> Iterator[Any]:
        """Select columns of the newest counted results that meet a filter, as far as SQLite can compare."""
        self._write_kept_rows()
        conditions, values = result_filter.build_conditions()
        where = " AND ".join([NEWEST, self._build_condition(COUNTED), *conditions])
        return self._db.execute(f"SELECT {columns} FROM results WHERE {where} ORDER BY rowid", values)  # noqa: S608 - constants

    def _build_condition(self, counted: str) -> str:
        return "1" if self._all_rows else counted

    def _build_case_condition(self) -> str:
        """Return the condition of counted cases; if all plans are counted, so is every case."""
        is_needed = self._db.execute("SELECT 1 FROM plans WHERE NOT current LIMIT 1").fetchone()
        return self._build_condition(COUNTED_CASE if is_needed else "1")

    def _build_case_row(self, key: int, case: str, method: str) -> tuple[object, ...]:
        return key, self.plans.source_id, method, case

    def _write_kept_rows(self) -> None:
        """Write the buffered assignments of existing rows to plans."""
        for table, marks in (("kept_results", self._kept_results), ("kept_cases", self._kept_cases)):
            if marks:
                with self._write():
                    self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", marks.items())  # noqa: S608 - constants
                marks.clear()

    def usage(self) -> dict[str, Usage]:
        """Return the cost of all rows ever written, by their judges."""
        sums = ", ".join(WHOLE_COST if name == "cost" else f"sum({name})" for name in COST_COLUMNS)
        query = f"SELECT json_extract(row, '$.judge'), {sums} FROM results WHERE NOT EXISTS ({REPEATED_BY}) GROUP BY 1"  # noqa: S608 - constants
        return {judge: Usage(**dict(zip(COST_COLUMNS, cost, strict=True))) for judge, *cost in self._db.execute(query)}

    def was_scored(self, metric: str, fingerprint: str) -> bool:
        """Return whether a result of this definition and judge was ever scored."""
        query = (
            "SELECT 1 FROM results WHERE metric = ? AND json_extract(outline, '$[0]') = 'scored' "
            "AND json_extract(row, '$.fingerprint') = ? LIMIT 1"
        )
        return self._db.execute(query, (metric, fingerprint)).fetchone() is not None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Context manager for a read transaction: all reads see the state at the first one, even while a run writes."""
        self.commit()
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    def frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each judgement, failure and skip.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        return build_frame(self.lines(), self.layout())

    def layout(self) -> TableLayout:
        """Return the layout of the run's table: the common columns, and one or more for each note of its metrics."""
        return read_layout(self.fact("metrics"))

    def put_fact(self, name: str, content: JsonValue) -> None:
        """Store a metadata entry of the run, replacing an older one of this name."""
        with self._write():
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(content)))

    def fact(self, name: str) -> JsonValue:
        """Return a metadata entry of the run, or None if it is not set."""
        found = self._db.execute("SELECT content FROM facts WHERE name = ?", (name,)).fetchone()
        return _JSON.validate_json(found[0]) if found else None

    def close(self) -> None:
        """Sync everything to disk, close the log and release the lock."""
        with ExitStack() as opened:
            if self._lock:
                opened.callback(self._lock.close)
            opened.callback(self._connection.close)
            self.commit()
            self._write_kept_rows()
            if self._disk:
                self._disk.close()
            if self._lock:
                with translate_errors(self.folder):
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @cached_property
    def _case_index(self) -> RowIndex:
        """Index of the stored cases by content hash, loaded at first use."""
        seen = RowIndex()
        seen.load(self._db.execute("SELECT key, rowid FROM cases ORDER BY rowid"))
        return seen

    @cached_property
    def _row_indexes(self) -> _RowIndexes:
        """Indexes of the rows by content and by place, loaded at first use."""
        known = _RowIndexes(RowIndex(), RowIndex())
        if self._db.execute("SELECT 1 FROM results LIMIT 1").fetchone():
            import numpy as np

            query = ROW_NUMBERS if self._lock or self._all_rows else f"{ROW_NUMBERS} WHERE {COUNTED}"
            rows = chain.from_iterable(self._db.execute(f"{query} ORDER BY rowid"))
            numbers = np.fromiter(rows, dtype=np.int64).reshape(-1, 3)
            at, places, contents = numbers.T
            known.places.load_arrays(places, at)
            known.contents.load_arrays(contents[contents != NO_CONTENT], at[contents != NO_CONTENT])
        return known

    def _read_result(self, row_number: int, key: int | None = None) -> Result | None:
        """Return the result in a row, or None if the row does not have the key."""
        found, row = self._read_row("key, row", row_number)
        return Result.model_validate_json(row) if key in {None, found} else None

    def _read_row(self, columns: str, row_number: int) -> tuple[Any, ...]:
        """Return columns of a result, which is written before if it is not yet."""
        if self._group.holds(row_number):
            self.commit()
        query = f"SELECT {columns} FROM results WHERE rowid = ?"  # noqa: S608 - constants
        row: tuple[Any, ...] = self._connection.execute(query, (row_number,)).fetchone()
        return row

    def _read_repeated_cost(self, replaced: int, content: int | None, *, replayed: bool) -> Usage:
        """Return the cost of a replaced row if it is of the same content or read again, else none."""
        before, *found = self._read_row(f"content, {', '.join(COST_COLUMNS)}", replaced)
        return Usage(**dict(zip(COST_COLUMNS, found, strict=True))) if replayed or before == content else Usage()


NAMES = ("key", "content", "place", "replaces", "finished", "plan", "sample_id", "method", "metric", "repeat", "tags")
COLUMNS_OF_ROW = (*NAMES, "outline", *COST_COLUMNS, "row")
INSERT = f"INSERT INTO results ({', '.join(COLUMNS_OF_ROW)}) VALUES ({', '.join('?' * len(COLUMNS_OF_ROW))})"  # noqa: S608 - constant
INSERT_CASE = "INSERT INTO cases (key, source, method, row) VALUES (?, ?, ?, ?)"
LAST_ROWS = "SELECT (SELECT coalesce(max(rowid), 0) FROM results), (SELECT coalesce(max(rowid), 0) FROM cases)"
_get_costs = attrgetter(*COST_COLUMNS)
_encode_text = json.JSONEncoder().encode


@lru_cache(maxsize=256)  # a result is looked up before it is stored
def _hash_place(sample_id: str, method: str, metric: str, repeat: int) -> int:
    """Return the number that a row shares with the rows it replaces, the hash of a JSON list."""
    return hash_key(f"[{', '.join(map(_encode_text, (sample_id, method, metric)))}, {repeat}]")


def _build_columns(result: Result, cost: Usage) -> tuple[object, ...]:
    """Return the columns of a row after its numeric keys."""
    return (
        *(result.sample_id, result.method, result.metric, result.repeat),
        *(to_json(result.tags).decode(), format_outline(result)),
        *_get_costs(cost),
        result.model_dump_json(),
    )
