"""The run folder: an append-only log of results that survives kill -9, and is its own checkpoint.

SQLite in WAL mode: a row is with the operating system before it counts as done, and on the disk a
second later at most (docs/design/decisions/0001-result-log.md has the measurements).
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from pydantic import JsonValue, TypeAdapter

from greval.case import Case
from greval.errors import MissingExtraError, StoreError
from greval.result import Result

if TYPE_CHECKING:
    import pandas as pd

FILE = "results.sqlite"
LOCK = "lock"
SYNC_SECONDS = 1.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT NOT NULL, sample_id TEXT NOT NULL, method TEXT NOT NULL, metric TEXT NOT NULL,
    repeat INTEGER NOT NULL, row TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cases (key TEXT NOT NULL, row TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, content TEXT NOT NULL);
"""
LATEST = """
SELECT row FROM results WHERE rowid IN
    (SELECT max(rowid) FROM results GROUP BY sample_id, method, metric, repeat) ORDER BY rowid
"""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class Store:
    """A run folder, opened to write (`create`) or to read (`open`); a context manager.

    Example:
        >>> import tempfile
        >>> with Store.create(Path(tempfile.mkdtemp()) / "run") as store:
        ...     store.put_fact("judge", "local")
        ...     store.fact("judge")
        'local'
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: IO[str] | None) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self._db = connection
        self._lock = lock
        self._synced = time.monotonic()
        self._places = dict(self._db.execute("SELECT key, max(rowid) FROM results GROUP BY key"))
        self._cases = {key for (key,) in self._db.execute("SELECT key FROM cases")}

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Open a run folder to write, made where it is missing.

        Raises:
            StoreError: Where another run writes to it, or it cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / LOCK).open("w")
        except OSError as error:
            message = f"{folder}: cannot be used as a run folder: {error.strerror}"
            raise StoreError(message) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            message = f"{folder}: another run writes to this folder; wait for it or choose another with -o"
            raise StoreError(message) from error
        return cls._opened(folder, lock, f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {SCHEMA}")

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run folder to read, also while a run writes to it.

        Raises:
            StoreError: Where it is no run folder.
        """
        if not (folder / FILE).is_file():
            message = f"{folder}: no run is there; greval evaluate CASES -m METRIC -o {folder} makes one"
            raise StoreError(message)
        return cls._opened(folder, None, "")

    @classmethod
    def _opened(cls, folder: Path, lock: IO[str] | None, first: str) -> Self:
        """Open the log; where that fails, nothing of it stays open."""
        with _told(folder), ExitStack() as opened:
            if lock:
                opened.callback(lock.close)
            connection = sqlite3.connect(folder / FILE, isolation_level=None, check_same_thread=False)
            opened.callback(connection.close)
            connection.executescript(first)
            store = cls(folder, connection, lock)
            opened.pop_all()
            return store

    def append(self, key: str, result: Result) -> None:
        """Write a result; when this returns, a killed process does not lose it.

        Raises:
            StoreError: Where the disk is full or the folder is gone; what was written before stays.
        """
        row = (key, result.sample_id, result.method, result.metric, result.repeat, result.model_dump_json())
        with _told(self.folder):
            place = self._db.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)", row).lastrowid
            self._sync()
        if place is not None:
            self._places[key] = place

    def get(self, key: str) -> Result | None:
        """Give the newest result under a key, or None."""
        if key not in self._places:
            return None
        (row,) = self._db.execute("SELECT row FROM results WHERE rowid = ?", (self._places[key],)).fetchone()
        return Result.model_validate_json(row)

    def keep_case(self, key: str, case: Case) -> None:
        """Keep what was judged beside the results, once."""
        if key in self._cases:
            return
        with _told(self.folder):
            self._db.execute("INSERT INTO cases VALUES (?, ?)", (key, case.model_dump_json(exclude_defaults=True)))
        self._cases.add(key)

    def cases(self) -> Iterator[Case]:
        """Give every case that was judged."""
        for (row,) in self._db.execute("SELECT row FROM cases ORDER BY rowid"):
            yield Case.model_validate_json(row)

    def results(self) -> Iterator[Result]:
        """Give the newest result of each sample, method, metric and repeat, in order."""
        for (row,) in self._db.execute(LATEST):
            yield Result.model_validate_json(row)

    def lines(self) -> Iterator[str]:
        """Give the same results as JSON lines."""
        for (row,) in self._db.execute(LATEST):
            yield row

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
        with _told(self.folder):
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(content)))

    def fact(self, name: str) -> JsonValue:
        """Give a fact about the run, None where it was not told."""
        found = self._db.execute("SELECT content FROM facts WHERE name = ?", (name,)).fetchone()
        return _JSON.validate_json(found[0]) if found else None

    def close(self) -> None:
        """Bring everything to the disk and let go of the folder."""
        if self._lock:
            with _told(self.folder):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()
        if self._lock:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sync(self) -> None:
        """Bring the log to the disk once a second, so that a power cut loses a second at most."""
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._synced = time.monotonic()


COLUMNS = (
    *("sample_id", "method", "metric", "repeat", "status", "item", "value", "number", "reason", "confidence"),
    *("failure", "message", "judge", "tier", "fingerprint"),
    *("calls", "input_tokens", "output_tokens", "latency", "tags"),
)


def flat(result: Result) -> Iterator[dict[str, object]]:
    """Give one row for each judgement and failure of a result, or for its skip."""
    usage = result.usage
    shared = {
        **result.model_dump(include={"sample_id", "method", "metric", "repeat", "judge", "tier", "fingerprint"}),
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "latency": result.latency,
        "tags": json.dumps(result.tags, ensure_ascii=False),
    }
    for judgement in result.judgements:
        found = judgement.model_dump(include={"item", "value", "number", "reason", "confidence"})
        yield {**shared, "status": "scored", **found, "value": str(judgement.value)}
    for failure in result.failures:
        yield {**shared, "status": "failed", "item": failure.item, "failure": failure.kind, "message": failure.message}
    if result.outcome.status == "skipped":
        yield {**shared, "status": "skipped", "message": result.outcome.reason}


class _told:  # noqa: N801 - used as a statement
    """Turn what SQLite says into what a user can do about it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error | OSError):
            hint = "free some space and run the same command again" if "full" in str(error) else "is it a run folder?"
            message = f"{self._folder / FILE}: {error}; {hint} (what was written before stays)"
            raise StoreError(message) from error
