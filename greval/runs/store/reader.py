"""The log of results, opened to read: the results that the last plan counts, their cases and calls, and metadata."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import JsonValue, TypeAdapter

from greval._util.files import CloseOnExit
from greval.records.case import Case
from greval.records.judge_call import JudgeCall
from greval.records.result import Result
from greval.runs.store.calls import CallReader, JudgedContent
from greval.runs.store.disk import connect_log
from greval.runs.store.exports import build_frame, read_layout
from greval.runs.store.filters import ANY_RESULT, ResultFilter
from greval.runs.store.plans import COUNTED, COUNTED_CASE, CountedPlan
from greval.runs.store.result_index import ResultIndex

if TYPE_CHECKING:
    import pandas as pd

NEWEST = "rowid NOT IN (SELECT replaces FROM results WHERE replaces IS NOT NULL)"
METRIC_VERSION = "json_extract(row, '$.fingerprint', '$.judge')"
"""A column for `Store.select`: a JSON list of the metric's fingerprint and the judge."""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def _have_nothing_to_write() -> None:
    """Do nothing: a log that is opened to read has no rows that are not written yet."""


class Store(CloseOnExit):
    """A run folder, opened to read; a context manager.

    Reading returns the results of the last plan. Results of other cases, answers, judges or definitions stay in the
    log and are not counted (`greval.runs.store.plans`). `StoreWriter` writes a run.

    Attributes:
        folder: The run folder.
        index: Finds single results by what was judged.
        call_reader: The stored calls of judges.
        reads_all: Whether the results that do not belong to the last plan are read, too.

    Example:
        >>> import tempfile
        >>> from greval import evaluate, load_metric
        >>> run = evaluate([{"id": "q1", "question": "Who?", "usage": {"latency": 2}}],
        ...                [load_metric("latency")], out=tempfile.mkdtemp())
        >>> with Store.open(run.folder) as store:
        ...     [(result.sample_id, result.judgements[0].value) for result in store.results()]
        [('q1', 2.0)]
    """

    def __init__(
        self,
        folder: Path,
        connection: sqlite3.Connection,
        *,
        all_rows: bool = False,
        index: ResultIndex | None = None,
        commit: Callable[[], None] = _have_nothing_to_write,
    ) -> None:
        """Wrap an open connection; use `open` instead. `commit` writes what a writer of the log has in memory."""
        self.folder = folder
        self.index = index or ResultIndex(connection, commit, all_rows=all_rows)
        self.call_reader = CallReader(connection)
        self.reads_all = all_rows
        self._connection = connection
        self._commit = commit

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
        return cls(Path(folder), connect_log(Path(folder)), all_rows=all_rows)

    def results(self, result_filter: ResultFilter = ANY_RESULT) -> Iterator[Result]:
        """Yield the newest result of each sample, method, metric and repeat, in the order of writing.

        With a filter, only the results that meet it.
        """
        for line in self.lines(result_filter):
            yield Result.model_validate_json(line)

    def lines(self, result_filter: ResultFilter = ANY_RESULT) -> Iterator[str]:
        """Yield the same results as JSON lines."""
        for (line,) in self.select(("row",), result_filter):
            yield line

    def select(self, columns: Iterable[str], result_filter: ResultFilter = ANY_RESULT) -> Iterator[Any]:
        """Iterate over columns of the same results, as tuples, without reading the rest of them.

        Args:
            columns: Columns of the table `results` (docs/architecture.md), or SQL expressions of them.
            result_filter: The filter for results.
        """
        conditions, values = result_filter.build_conditions()
        where = " AND ".join([NEWEST, self._build_condition(COUNTED), *conditions])
        names = (*columns, *(("row",) if result_filter.reads_texts else ()))
        rows = self.query(f"SELECT {', '.join(names)} FROM results WHERE {where} ORDER BY rowid", values)  # noqa: S608 - columns of the code
        if not result_filter.reads_texts:
            return rows
        return (row[:-1] for row in rows if not result_filter.needs_check(row[-1]) or result_filter.matches(row[-1]))

    def count(self) -> int:
        """Return the number of the same results."""
        (number,) = next(self.select(("count(*)",)))
        return int(number)

    def frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each judgement, failure and skip.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        return build_frame(self.lines(), read_layout(self.fact("metrics")))

    def calls(self, result_filter: ResultFilter = ANY_RESULT) -> Iterator[JudgeCall]:
        """Yield the stored calls of those of the same results that meet a filter, in the order of the results."""
        columns = (self.call_reader.asked_column, "sample_id", "method", "metric")
        judged = (JudgedContent(*row) for row in self.select(columns, result_filter) if row[0] is not None)
        yield from self.call_reader.read(judged)

    def cases(self) -> Iterator[Case]:
        """Yield every judged case."""
        for line in self.case_lines():
            yield Case.model_validate_json(line)

    def case_lines(self) -> Iterator[str]:
        """Yield every judged case as a JSON line."""
        keys: set[int] = set()
        for key, line in self.select_cases(("key", "row")):
            if key not in keys:
                keys.add(key)
                yield line

    def select_cases(self, columns: Iterable[str]) -> Iterator[Any]:
        """Iterate over columns of the judged cases, as tuples, oldest first.

        A case that was judged several times may be in several rows, which have the same `key` if it did not change.
        """
        # Else every case is counted.
        is_needed = self.query("SELECT 1 FROM plans WHERE NOT current LIMIT 1").fetchone()
        condition = self._build_condition(COUNTED_CASE if is_needed else "1")
        return self.query(f"SELECT {', '.join(columns)} FROM cases WHERE {condition} ORDER BY rowid")  # noqa: S608 - columns of the code

    def plans(self) -> list[CountedPlan]:
        """Return the counted plans."""
        query = """
            SELECT plans.id, metric, method, fingerprint, judge, planned, source, label, digest, total, stopped
            FROM plans JOIN sources ON sources.id = plans.source WHERE current ORDER BY plans.id
        """
        return [CountedPlan(*row) for row in self.query(query)]

    def fact(self, name: str) -> JsonValue:
        """Return a metadata entry of the run, or None if it is not set."""
        row = self.query("SELECT content FROM facts WHERE name = ?", (name,)).fetchone()
        return _JSON.validate_json(row[0]) if row else None

    def query(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run an SQL query that only one task needs; it reads all rows, also those that the last plan does not count.

        The tables are in docs/architecture.md.
        """
        self._commit()
        return self._connection.execute(statement, values)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Context manager for a read transaction: all reads see the state at the first one, even while a run writes."""
        self.query("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the log."""
        self._connection.close()

    def _build_condition(self, counted: str) -> str:
        return "1" if self.reads_all else counted
