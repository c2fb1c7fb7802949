"""The log of results: append-only, it survives kill -9 and is its own checkpoint.

SQLite in WAL mode: a row is with the operating system before it counts as done, and on the disk at
the next `flush` (docs/design/decisions/0001-result-log.md has the measurements).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import JsonValue, TypeAdapter

from greval.case import Case
from greval.closing import Closing
from greval.errors import MissingExtraError, StoreError
from greval.identity import digest
from greval.index import Index, name_of, number
from greval.result import Result, Usage
from greval.stats.outline import outline
from greval.store.disk import COSTS, FILE, Disk, lock, prepare, told
from greval.store.flat import COLUMNS, flat

if TYPE_CHECKING:
    import pandas as pd

NEWEST = "rowid NOT IN (SELECT replaces FROM results WHERE replaces IS NOT NULL)"
MARK = "json_extract(row, '$.fingerprint', '$.judge')"
NO_CONTENT = 0
NUMBERS = f"""
SELECT rowid, place, CASE WHEN finished AND content IS NOT NULL THEN content ELSE {NO_CONTENT} END
FROM results ORDER BY rowid
"""  # noqa: S608 - constant
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class _Known(NamedTuple):
    """Where rows stand: the newest finished of a content, the newest of a sample, method, metric and repeat."""

    contents: Index
    places: Index


class Store(Closing):
    """A run folder, opened to write (`create`) or to read (`open`); a context manager.

    Example:
        >>> import tempfile
        >>> with Store.create(Path(tempfile.mkdtemp()) / "run") as store:
        ...     store.put_fact("judge", "local")
        ...     store.fact("judge")
        'local'
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection, held: IO[str] | None, disk: Disk | None) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self._db = connection
        self._lock = held
        self._disk = disk

    @classmethod
    def create(cls, folder: str | Path) -> Self:
        """Open a run folder to write, made where it is missing.

        Raises:
            StoreError: Where another run writes to it, it cannot be written, or another version wrote it.
        """
        folder = Path(folder)
        return cls._opened(folder, lock(folder))

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a run folder to read, also while a run writes to it.

        Raises:
            StoreError: Where it is no run folder, or another version wrote it.
        """
        folder = Path(folder)
        if not (folder / FILE).is_file():
            message = f"{folder}: no run is there; greval evaluate CASES -m METRIC -o {folder} makes one"
            raise StoreError(message)
        return cls._opened(folder, None)

    @classmethod
    def _opened(cls, folder: Path, held: IO[str] | None) -> Self:
        """Open the log; where that fails, nothing of it stays open."""
        with told(folder), ExitStack() as opened:
            if held:
                opened.callback(held.close)
            connection = sqlite3.connect(folder / FILE, isolation_level=None, check_same_thread=False)
            opened.callback(connection.close)
            prepare(connection, folder, write=held is not None)
            store = cls(folder, connection, held, Disk(folder) if held else None)
            opened.pop_all()
            return store

    def append(self, key: str, result: Result, *, content: str = "", case: str = "") -> None:
        """Write a result; when this returns, a killed process does not lose it.

        Args:
            key: The key of the judgement, `greval.identity.case_key`.
            result: The row; it takes the place of an older one of its sample, method, metric and repeat.
            content: The key of what was judged without who was judged, for `same`; empty for none.
            case: The case as JSON, to be kept beside its first result; empty for none.

        Raises:
            StoreError: Where the disk is full or the folder is gone; what was written before stays.
        """
        known = self._known
        place = number(_place(result.sample_id, result.method, result.metric, result.repeat))
        numbers = (number(key), number(content) if content else None, place)
        replaced = known.places.get(numbers[2])
        with told(self.folder), self._db:  # one transaction, as each costs more than what is in it
            cost = result.usage if replaced is None else result.usage + self._cost(replaced)
            row = (*numbers, replaced, result.finished, *_columns(result, cost))
            self._db.execute("BEGIN")
            if case:
                self._db.execute("INSERT INTO cases VALUES (?, ?)", (number(digest(case)), case))
            at = self._db.execute(INSERT, row).lastrowid or 0
        known.places[numbers[2]] = at
        if numbers[1] is not None and result.finished:
            known.contents[numbers[1]] = at

    def get(self, key: str, result_of: tuple[str, str, str], repeat: int = 0) -> Result | None:
        """Give the newest result of a sample, method and metric if it is that of a key, or None."""
        at = self._known.places.get(_place(*result_of, repeat))
        return None if at is None else self._at(at, number(key))

    def same(self, content: str) -> Result | None:
        """Give the newest finished result with a content key, whoever was judged, or None."""
        at = self._known.contents.get(content)
        return None if at is None else self._at(at)

    def flush(self) -> None:
        """Bring everything written so far to the disk; any thread may call it, and it does not hold up `append`.

        Raises:
            StoreError: Where the disk does not take it.
        """
        if self._disk:
            with told(self.folder):
                self._disk.flush()

    def rows(self) -> Iterator[tuple[str, str, Result]]:
        """Give every row that was ever written, with its key and content key, the oldest first."""
        for key, content, row in self._db.execute("SELECT key, content, row FROM results ORDER BY rowid"):
            yield name_of(key), "" if content is None else name_of(content), Result.model_validate_json(row)

    def see(self, case: str) -> None:
        """Keep a case (as JSON) whose results are kept, where it says something new, such as other chunks."""
        key = number(digest(case))
        if key not in self._seen:
            with told(self.folder), self._db:
                self._db.execute("INSERT INTO cases VALUES (?, ?)", (key, case))
            self._seen[key] = 1

    def keep_cases(self, cases: Iterable[Case]) -> None:
        """Keep cases beside the results."""
        texts = (case.model_dump_json(exclude_defaults=True) for case in cases)
        with told(self.folder), self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT INTO cases VALUES (?, ?)", ((number(digest(text)), text) for text in texts))

    def cases(self) -> Iterator[Case]:
        """Give every case that was judged."""
        for (row,) in self._db.execute("SELECT row FROM cases GROUP BY key ORDER BY min(rowid)"):
            yield Case.model_validate_json(row)

    def results(self) -> Iterator[Result]:
        """Give the newest result of each sample, method, metric and repeat, in order."""
        for row in self.lines():
            yield Result.model_validate_json(row)

    def lines(self, metric: str | None = None) -> Iterator[str]:
        """Give the same results as JSON lines, all or those of one metric."""
        only = "" if metric is None else "AND metric = ?"
        query = f"SELECT row FROM results WHERE {NEWEST} {only} ORDER BY rowid"  # noqa: S608 - constants
        for (row,) in self._db.execute(query, () if metric is None else (metric,)):
            yield row

    def outlines(self) -> Iterator[tuple[Any, ...]]:
        """Give what a report needs of the same results, without their reasons.

        Returns:
            Tuples of metric, method, tags as JSON, the outline (`greval.stats.outline`), and the
            fields of `Usage`: what this row cost and all those that it took the place of.
        """
        columns = ", ".join(("metric", "method", "tags", "outline", *COSTS))
        return self._db.execute(f"SELECT {columns} FROM results WHERE {NEWEST} ORDER BY rowid")  # noqa: S608 - constants

    def scores(self) -> Iterator[tuple[str, str, str, str, str, str]]:
        """Give what a comparison needs of the same results, one row at a time.

        Returns:
            Tuples of sample id, method, metric, tags as JSON, the outline (`greval.stats.outline`),
            and by what it was judged: the fingerprint and the judge as a JSON list.
        """
        columns = f"sample_id, method, metric, tags, outline, {MARK}"
        return self._db.execute(f"SELECT {columns} FROM results WHERE {NEWEST} ORDER BY rowid")  # noqa: S608 - constants

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read everything within as it is at the first read, whatever a run writes meanwhile."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    def frame(self) -> pd.DataFrame:
        """Give one row for each judgement, failure and skip, as a pandas frame.

        Raises:
            MissingExtraError: Where pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415 - over a second of import
        except ImportError as error:
            raise MissingExtraError("stats", "pandas") from error
        return pd.DataFrame([row for result in self.results() for row in flat(result)], columns=[*COLUMNS])

    def put_fact(self, name: str, content: JsonValue) -> None:
        """Keep a fact about the run, in place of an older one of this name."""
        with told(self.folder):
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(content)))

    def fact(self, name: str) -> JsonValue:
        """Give a fact about the run, None where it was not told."""
        found = self._db.execute("SELECT content FROM facts WHERE name = ?", (name,)).fetchone()
        return _JSON.validate_json(found[0]) if found else None

    def close(self) -> None:
        """Bring everything to the disk and let go of the folder."""
        with ExitStack() as opened:
            if self._lock:
                opened.callback(self._lock.close)
            opened.callback(self._db.close)
            if self._disk:
                self._disk.close()
            if self._lock:
                with told(self.folder):
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @cached_property
    def _seen(self) -> Index:
        """Read which cases are kept, when that is first asked."""
        seen = Index()
        seen.load(self._db.execute("SELECT key, 1 FROM cases"))
        return seen

    @cached_property
    def _known(self) -> _Known:
        """Read where the rows stand, when that is first asked."""
        known = _Known(Index(), Index())
        if self._db.execute("SELECT 1 FROM results LIMIT 1").fetchone():
            import numpy as np  # noqa: PLC0415 - a tenth of a second, and new runs do without

            numbers = np.fromiter(chain.from_iterable(self._db.execute(NUMBERS)), dtype=np.int64).reshape(-1, 3)
            at, places, contents = numbers.T
            known.places.load_arrays(places, at)
            known.contents.load_arrays(contents[contents != NO_CONTENT], at[contents != NO_CONTENT])
        return known

    def _at(self, place: int, key: int | None = None) -> Result | None:
        found, row = self._db.execute("SELECT key, row FROM results WHERE rowid = ?", (place,)).fetchone()
        return Result.model_validate_json(row) if key in {None, found} else None

    def _cost(self, place: int) -> Usage:
        """Give what a row and all those that it took the place of cost."""
        found = self._db.execute(f"SELECT {', '.join(COSTS)} FROM results WHERE rowid = ?", (place,)).fetchone()  # noqa: S608 - constant
        return Usage(**dict(zip(COSTS, found, strict=True)))


INSERT = f"INSERT INTO results VALUES ({', '.join('?' * (12 + len(COSTS)))})"  # noqa: S608 - constant


def _place(sample_id: str, method: str, metric: str, repeat: int) -> str:
    """Name what a newer row takes the place of."""
    return json.dumps([sample_id, method, metric, repeat])


def _columns(result: Result, cost: Usage) -> tuple[object, ...]:
    """Give a row's columns after its numbers; the cost counts those rows too that it takes the place of."""
    return (
        *(result.sample_id, result.method, result.metric, result.repeat),
        *(json.dumps(result.tags, ensure_ascii=False, separators=(",", ":")), outline(result)),
        *(getattr(cost, name) for name in COSTS),
        result.model_dump_json(),
    )
