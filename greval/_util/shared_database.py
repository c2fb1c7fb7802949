"""SQLite files that several processes write at once."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

MAX_UNMOVED_CHANGES = 1_000
"""The number of changed rows after which a connection moves what is in the "-wal" file to the main file."""


class _SharedConnection(sqlite3.Connection):
    """A connection that checkpoints while no other process can write.

    SQLite's own checkpoints do not lock others out, which before 3.51.3 damages the file if a commit reuses an emptied
    log while a checkpoint begins (https://sqlite.org/wal.html#walresetbug).
    """

    _checkpointed_changes = 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - as in the base class
        """Execute a statement, and checkpoint if enough was written since the last time."""
        cursor = super().execute(sql, parameters)
        if not self.in_transaction and self.total_changes - self._checkpointed_changes >= MAX_UNMOVED_CHANGES:
            self._checkpointed_changes = self.total_changes
            super().execute("PRAGMA wal_checkpoint(FULL)").close()
        return cursor


def open_shared_database(path: Path, script: str, timeout: float) -> sqlite3.Connection:
    """Open a database file that several processes and threads share, and run a script that creates its tables.

    Each statement is its own transaction unless one is begun. A write is safe from the end of the process, but not
    from a power failure, until the next checkpoint.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(
        path, isolation_level=None, timeout=timeout, check_same_thread=False, factory=_SharedConnection
    )
    # Processes that create one file at once change its journal mode, for which SQLite itself does not wait.
    retrying = Retrying(
        retry=retry_if_exception(_is_busy), stop=stop_after_delay(timeout), wait=wait_random(0.01, 0.1), reraise=True
    )
    for attempt in retrying:
        with attempt:
            # A row takes 0.07 ms with `NORMAL`, and 2.6 ms with `FULL`.
            db.executescript(
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; {script}"
            )
    return db


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY
