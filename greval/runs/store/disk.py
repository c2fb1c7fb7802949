"""The files of the log: table layout, write lock, syncing to disk, and filters of rows."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple
from zlib import crc32

from greval._util.files import open_locked, sync_folder
from greval.errors import StoreError
from greval.records.result import Usage, read_outline

FILE = "results.sqlite"
LOCK_FILE = "lock"
NO_SPACE = ("full", "no space", "quota", "too large", "disk i/o")
"""Words of a full disk in messages of SQLite and the system. A quota or file size limit appears as an I/O error."""
COST_COLUMNS = tuple(Usage.model_fields)
SERVED_MODELS = "served_models"
"""The name of the metadata entry for the models that the replies name."""
TABLES = f"""
CREATE TABLE results (
    key INTEGER NOT NULL, content INTEGER, place INTEGER NOT NULL, replaces INTEGER, finished INTEGER NOT NULL,
    plan INTEGER NOT NULL, sample_id TEXT NOT NULL, method TEXT NOT NULL, metric TEXT NOT NULL, repeat INTEGER NOT NULL,
    tags TEXT NOT NULL, outline TEXT NOT NULL, {", ".join(f"{name} INTEGER" for name in COST_COLUMNS)},
    row TEXT NOT NULL);
CREATE INDEX replaced ON results (replaces) WHERE replaces IS NOT NULL;
CREATE TABLE cases (key INTEGER NOT NULL, source INTEGER NOT NULL, method TEXT NOT NULL, row TEXT NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, content TEXT NOT NULL);

CREATE TABLE kept_results (result INTEGER PRIMARY KEY, plan INTEGER NOT NULL);
CREATE TABLE kept_cases (judged_case INTEGER PRIMARY KEY, source INTEGER NOT NULL);
CREATE TABLE sources (
    id INTEGER PRIMARY KEY, label TEXT NOT NULL, digest TEXT NOT NULL, part TEXT NOT NULL, total INTEGER,
    unread INTEGER, stopped TEXT);
CREATE TABLE plans (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL, metric TEXT NOT NULL, method TEXT,
    fingerprint TEXT NOT NULL, judge TEXT NOT NULL, planned INTEGER, current INTEGER NOT NULL);
"""
# SQLite stores the version as a signed number of 32 bits.
LAYOUT_VERSION = crc32(f"{TABLES} -- 1".encode()) >> 1
"""The version number of the table layout, stored by SQLite as `user_version`."""


def lock_folder(folder: Path) -> IO[str]:
    """Create a run folder if it does not exist, and acquire its write lock."""
    try:
        lock = open_locked(folder / LOCK_FILE)
    except OSError as error:
        message = f"{folder}: cannot be used as a run folder: {error.strerror}; choose another with -o"
        raise StoreError(message) from error
    if lock is None:
        raise StoreError(f"{folder}: another run writes to this folder; wait for it or choose another with -o")
    return lock


def connect_log(folder: Path, *, write: bool = False) -> sqlite3.Connection:
    """Open a connection to the log of a run folder. One that writes creates the log if it does not exist."""
    if not write and not (folder / FILE).is_file():
        raise StoreError(f"{folder}: no run is there; greval evaluate CASES -m METRIC -o {folder} makes one")
    with translate_errors(folder), ExitStack() as opened:
        connection = sqlite3.connect(folder / FILE, isolation_level=None, check_same_thread=False)
        opened.callback(connection.close)
        prepare_tables(connection, folder, write=write)
        add_sql_functions(connection)
        # From here on, the caller closes the connection.
        opened.pop_all()
        return connection


def prepare_tables(database: sqlite3.Connection, folder: Path, *, write: bool) -> None:
    """Configure a connection, and create the tables if the file is new."""
    if write:
        # A commit need not wait for the disk: `LogSync` syncs the log, and only its connection checkpoints.
        database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0")
    (layout,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if write and not tables:
        # One transaction, so that a killed process leaves no file with tables and without a version.
        database.executescript(f"BEGIN; {TABLES} PRAGMA user_version={LAYOUT_VERSION}; COMMIT")
    elif not tables:
        raise StoreError(f"{folder}: the run was never started; run greval evaluate with -o {folder} again")
    elif layout != LAYOUT_VERSION:
        raise StoreError(
            f"{folder / FILE}: written by another version of greval (layout {layout}, this one "
            f"reads {LAYOUT_VERSION}); choose another folder with -o, or read it with the version that wrote it"
        )


class LogSync:
    """Syncs the newest part of the log to disk, from any thread and without blocking `append`.

    The newest part is the file "-wal", to which SQLite appends. A separate connection then runs the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._closing = threading.Lock()
        self._db = sqlite3.connect(folder / FILE, isolation_level=None, check_same_thread=False)
        self._checkpointed_version = self._read_version()
        # Syncing this file is enough, because SQLite syncs before it moves content to the main file. Closing a
        # descriptor of the main file would release SQLite's locks.
        self._wal: int | None = os.open(folder / f"{FILE}-wal", os.O_RDONLY | os.O_CREAT, 0o644)
        sync_folder(folder)

    def flush(self) -> None:
        """Sync everything written so far to disk. Do nothing after `close`."""
        with self._closing:
            if self._wal is not None:
                os.fsync(self._wal)
                # Before 3.51.3, SQLite damages the file if a commit reuses an emptied log while a checkpoint begins
                # (https://sqlite.org/wal.html#walresetbug). After a further commit the log is not empty.
                if self._read_version() != self._checkpointed_version:
                    self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    self._checkpointed_version = self._read_version()

    def _read_version(self) -> int:
        """Return a number that changes with each commit of the connection that appends."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def close(self) -> None:
        """Close the files, after a running flush has finished."""
        with self._closing:
            if self._wal is not None:
                os.close(self._wal)
                self._db.close()
            self._wal = None


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Context manager that turns errors of SQLite and the system into a `StoreError` with a hint for the user."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        is_full = any(word in str(error).lower() for word in NO_SPACE)
        hint = "free some space and run the same command again" if is_full else "is it a run folder?"
        raise StoreError(f"{folder / FILE}: {error}; {hint} (what was written before stays)") from error


MAX_CACHED_TAGS = 1_024


class ResultFilter(NamedTuple):
    """A filter for results; a result must meet every part.

    None and an empty tuple match any. `metrics` are names, one of which must be that of the result. `status` is that
    of the outcome. `value` is a judgement value as text. `tags` are names with values: of each name, one of the values
    given must be that of the case.
    """

    sample_id: str | None = None
    method: str | None = None
    metrics: tuple[str, ...] = ()
    status: str | None = None
    value: str | None = None
    tags: tuple[tuple[str, str], ...] = ()

    def build_conditions(self) -> tuple[list[str], list[str]]:
        """Return the SQL conditions on a row of `results`, and the values of their parameters."""
        values_by_tag = self.group_tags()
        parameters = {
            "sample_id = ?": self.sample_id,
            "method = ?": self.method,
            "metric IN (SELECT value FROM json_each(?))": json.dumps(self.metrics) if self.metrics else None,
            "json_extract(outline, '$[0]') = ?": self.status,
            "has_value(outline, ?)": self.value,
            "has_tags(tags, ?)": json.dumps(values_by_tag) if values_by_tag else None,
        }
        conditions = {condition: value for condition, value in parameters.items() if value is not None}
        return [*conditions], [*conditions.values()]

    def group_tags(self) -> dict[str, list[str]]:
        """Group the values by the names of their tags."""
        values_by_tag: dict[str, list[str]] = defaultdict(list)
        for name, value in self.tags:
            values_by_tag[name].append(value)
        return values_by_tag


ANY_RESULT = ResultFilter()


def add_sql_functions(database: sqlite3.Connection) -> None:
    """Add the functions that conditions call. SQLite's own would cut a text that they extract from JSON at a NUL."""
    database.create_function("has_value", 2, lambda outline, value: value in read_outline(outline).values)
    database.create_function("has_tags", 2, _has_tags)


# Few distinct tags occur, many times.
@lru_cache(MAX_CACHED_TAGS)
def _has_tags(tags: str, values_by_tag: str) -> bool:
    """Return whether each of these tags has one of its values."""
    tag_values = json.loads(tags)
    return all(tag_values.get(name) in values for name, values in json.loads(values_by_tag).items())
