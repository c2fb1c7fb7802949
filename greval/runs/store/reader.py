"""The log of results, opened to read: the results that the last plan counts, their cases and calls, and metadata."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json

from greval._util.files import CloseOnExit
from greval._util.row_index import RowIndex, hash_key
from greval.records.case import Case
from greval.records.result import Result
from greval.runs.store.disk import ANY_RESULT, ResultFilter, connect_log
from greval.runs.store.plans import COUNTED, COUNTED_CASE, RESULT_PLAN, CountedPlan

if TYPE_CHECKING:
    import pandas as pd

    from greval.records.judge_call import JudgeCall
    from greval.runs.store.calls import CallReader

NEWEST = "NOT EXISTS (SELECT 1 FROM results AS newer WHERE newer.replaces = results.rowid)"
"""SQL condition that is true for a row of `results` which no other row replaced."""
JUDGED_NAMES = ("sample_id", "method", "metric")
"""The columns of `results` that name what a call was made for."""
ASKED_CONTENT = "coalesce((SELECT asked FROM replayed WHERE replayed.content = results.content), results.content)"
"""A column for `Store.select`: the content of the calls of a result."""
METRIC_VERSION = "json_extract(row, '$.fingerprint', '$.judge')"
"""A column for `Store.select`: a JSON list of the metric's fingerprint and the judge."""
NO_CONTENT = 0
ROW_NUMBERS = f"""
SELECT rowid, place, CASE WHEN finished AND content IS NOT NULL THEN content ELSE {NO_CONTENT} END FROM results
"""  # noqa: S608 - constant
MAX_QUESTION_CHARACTERS = 1000
"""The number of characters of a question that are read with the head of a case."""
IS_PAIR = "instr(row, '\"other_response\":') AND json_type(row, '$.other_response') = 'object'"
"""SQL condition that is true for a row of `cases` which is a pair; the first part quickly excludes most others."""

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
_encode_text = json.JSONEncoder().encode


class ResultIndex:
    """Finds results of a log by what was judged, and the row number of the newest one of each place.

    It is loaded when the first result is looked up. A row of a plan that is not counted is found with `all_rows` only.
    """

    def __init__(self, database: sqlite3.Connection, commit: Callable[[], None], *, all_rows: bool) -> None:
        self._db = database
        self._commit = commit
        self._all_rows = all_rows

    def get(self, key: str | None, result_of: tuple[str, str, str], repeat: int = 0) -> Result | None:
        """Return the newest result of a sample, method and metric if it has this key; None is any key."""
        number = self.find_row(result_of, repeat)
        if number is None:
            return None
        stored_key, row = self.read_row("key, row", number)
        return Result.model_validate_json(row) if key is None or stored_key == hash_key(key) else None

    def same(self, content: str) -> Result | None:
        """Return the newest finished result with a content key, for any sample and method, or None."""
        contents, _ = self.numbers
        number = contents.get(content)
        return None if number is None else Result.model_validate_json(self.read_row("row", number)[0])

    def find_plan(self, result_of: tuple[str, str, str], repeat: int = 0) -> int | None:
        """Return the plan id of the newest result of a sample, method and metric, or None if there is no result."""
        number = self.find_row(result_of, repeat)
        return None if number is None else int(self.read_row(RESULT_PLAN, number)[0])

    def find_row(self, result_of: tuple[str, str, str], repeat: int = 0) -> int | None:
        """Return the row number of the newest result of a sample, method and metric, or None if there is no result."""
        _, places = self.numbers
        return places.get(hash_result_place(*result_of, repeat))

    def read_row(self, columns: str, number: int) -> tuple[Any, ...]:
        """Return columns of a row, which is written before if it is not yet."""
        query = f"SELECT {columns} FROM results WHERE rowid = ?"  # noqa: S608 - constants
        row = self._db.execute(query, (number,)).fetchone()
        # It waits to be written together with others.
        if row is None:
            self._commit()
            row = self._db.execute(query, (number,)).fetchone()
        values: tuple[Any, ...] = row
        return values

    @cached_property
    def numbers(self) -> tuple[RowIndex, RowIndex]:
        """Row numbers that a writer adds to: of the newest finished row by content, and of the newest by place."""
        by_content, by_place = RowIndex(), RowIndex()
        if self._db.execute("SELECT 1 FROM results LIMIT 1").fetchone():
            import numpy as np

            query = ROW_NUMBERS if self._all_rows else f"{ROW_NUMBERS} WHERE {COUNTED}"
            # Read into an array at once: a large run has millions of rows.
            rows = chain.from_iterable(self._db.execute(f"{query} ORDER BY rowid"))
            at, places, contents = np.fromiter(rows, dtype=np.int64).reshape(-1, 3).T
            by_place.load_arrays(places, at)
            by_content.load_arrays(contents[contents != NO_CONTENT], at[contents != NO_CONTENT])
        return by_content, by_place


# A result is looked up before it is stored.
@lru_cache(maxsize=256)
def hash_result_place(sample_id: str, method: str, metric: str, repeat: int) -> int:
    """Return the number that a row shares with the rows it replaces, the hash of a JSON list."""
    return hash_key(f"[{', '.join(map(_encode_text, (sample_id, method, metric)))}, {repeat}]")


class Store(CloseOnExit):
    """A run folder, opened to read; a context manager.

    Reading returns the results of the last plan. Results of other cases, answers, judges or definitions stay in the
    log and are not counted (`greval.runs.store.plans`). `StoreWriter` writes a run.

    Attributes:
        folder: The run folder.
        index: Finds single results by what was judged.
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
        commit: Callable[[], None] = lambda: None,
    ) -> None:
        """Wrap an open connection; use `open` instead. `commit` writes what a writer of the log has in memory."""
        self.folder = folder
        self.index = index or ResultIndex(connection, commit, all_rows=all_rows)
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
            StoreError: If it is not a run folder, it is damaged, or another version of greval wrote it.
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

    def select(
        self, columns: Iterable[str], result_filter: ResultFilter = ANY_RESULT, *, after: int = 0
    ) -> Iterator[Any]:
        """Iterate over columns of the same results, as tuples, without reading the rest of them.

        Args:
            columns: Columns of the table `results` (docs/architecture.md), or SQL expressions of them.
            result_filter: The filter for results.
            after: The row number after which they begin.
        """
        conditions, values = result_filter.build_conditions()
        where = " AND ".join([NEWEST, self._build_condition(COUNTED), f"rowid > {after:d}", *conditions])
        return self.query(f"SELECT {', '.join(columns)} FROM results WHERE {where} ORDER BY rowid", values)  # noqa: S608 - columns of the code

    @cached_property
    def call_reader(self) -> CallReader:
        """The stored calls of judges, which most readers of a run do not need."""
        from greval.runs.store.calls import CallReader

        return CallReader(self._connection)

    def count(self) -> int:
        """Return the number of the same results."""
        (number,) = next(self.select(("count(*)",)))
        return int(number)

    def frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each judgement, failure and skip.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        from greval.runs.store.exports import build_frame, read_layout

        return build_frame(self.lines(), read_layout(self.fact("metrics")))

    def calls(self, result_filter: ResultFilter = ANY_RESULT) -> Iterator[JudgeCall]:
        """Yield the stored calls of those of the same results that meet a filter, in the order of the results."""
        for content, *names in self.select((ASKED_CONTENT, *JUDGED_NAMES), result_filter):
            yield from self.call_reader.read(content, *names)

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


class CaseHead(NamedTuple):
    """The id, the method and the begin of the question of a case.

    `other` is the method of the other response of a pair, None if the case is no pair.
    """

    sample_id: str
    method: str
    question: str
    other: str | None = None


def parse_case_head(case: str) -> CaseHead:
    """Parse the head of a case that is stored as JSON; fields that have their default are not stored.

    Example:
        >>> parse_case_head('{"id":"q1","question":"Who?","method":"a vs b","other_response":{"method":"b"}}')
        CaseHead(sample_id='q1', method='a vs b', question='Who?', other='b')
    """
    fields = from_json(case)
    pair = fields.get("other_response")
    question = fields.get("question", "")[:MAX_QUESTION_CHARACTERS]
    return CaseHead(fields.get("id", ""), fields.get("method", ""), question, pair and pair.get("method", ""))


def read_case_heads(store: Store) -> Iterator[CaseHead]:
    """Yield the head of each version of each judged case, oldest first."""
    for (case,) in store.select_cases(("row",)):
        yield parse_case_head(case)
