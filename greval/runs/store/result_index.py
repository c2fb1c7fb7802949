"""The index of a log: the row number of the newest result by content, and by sample, method, metric and repeat."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from greval._util.row_index import RowIndex, hash_key
from greval.records.result import Result
from greval.runs.store.plans import COUNTED, RESULT_PLAN

NO_CONTENT = 0
ROW_NUMBERS = f"""
SELECT rowid, place, CASE WHEN finished AND content IS NOT NULL THEN content ELSE {NO_CONTENT} END
FROM results
"""  # noqa: S608 - constant
_encode_text = json.JSONEncoder().encode


class _RowNumbers(NamedTuple):
    """Row numbers of the newest finished row by content, and of the newest row by sample, method, metric and repeat."""

    contents: RowIndex
    places: RowIndex


class ResultIndex:
    """Finds results of a log by what was judged; loaded when the first result is looked up.

    Args:
        database: The connection.
        commit: A function that writes the results that were appended to the log and are not in it yet.
        all_rows: Whether to find also the results that do not belong to the last plan.
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
        number = self.numbers.contents.get(content)
        return None if number is None else Result.model_validate_json(self.read_row("row", number)[0])

    def find_plan(self, result_of: tuple[str, str, str], repeat: int = 0) -> int | None:
        """Return the plan id of the newest result of a sample, method and metric, or None if there is no result."""
        number = self.find_row(result_of, repeat)
        return None if number is None else int(self.read_row(RESULT_PLAN, number)[0])

    def find_row(self, result_of: tuple[str, str, str], repeat: int = 0) -> int | None:
        """Return the row number of the newest result of a sample, method and metric, or None if there is no result."""
        return self.numbers.places.get(hash_result_place(*result_of, repeat))

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
    def numbers(self) -> _RowNumbers:
        """The row numbers, which a writer adds to."""
        numbers = _RowNumbers(RowIndex(), RowIndex())
        if self._db.execute("SELECT 1 FROM results LIMIT 1").fetchone():
            import numpy as np

            query = ROW_NUMBERS if self._all_rows else f"{ROW_NUMBERS} WHERE {COUNTED}"
            # Read into an array at once: a large run has millions of rows.
            rows = chain.from_iterable(self._db.execute(f"{query} ORDER BY rowid"))
            at, places, contents = np.fromiter(rows, dtype=np.int64).reshape(-1, 3).T
            numbers.places.load_arrays(places, at)
            numbers.contents.load_arrays(contents[contents != NO_CONTENT], at[contents != NO_CONTENT])
        return numbers


# A result is looked up before it is stored.
@lru_cache(maxsize=256)
def hash_result_place(sample_id: str, method: str, metric: str, repeat: int) -> int:
    """Return the number that a row shares with the rows it replaces, the hash of a JSON list."""
    return hash_key(f"[{', '.join(map(_encode_text, (sample_id, method, metric)))}, {repeat}]")
