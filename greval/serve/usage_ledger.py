"""What each tenant spent on calls of judges, on disk: restarts forget nothing, and several processes share it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from greval._util.files import CloseOnExit
from greval._util.shared_database import open_shared_database
from greval.judging.model.prices import Prices
from greval.records.result import Usage
from greval.serve.quotas import Quota, find_period_start

LEDGER_FILE = ".usage.sqlite"
LOCK_TIMEOUT_SECONDS = 5.0
"""The seconds for which a process waits for another one that writes; a write takes some microseconds."""
TABLE = """
CREATE TABLE IF NOT EXISTS spent (
    tenant TEXT, day TEXT, judge TEXT, calls INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0, PRIMARY KEY (tenant, day, judge)
) WITHOUT ROWID
"""
ADD = """
INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
    input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
    cost = cost + excluded.cost
"""
READ = "SELECT sum(calls), sum(input_tokens), sum(output_tokens), sum(cost) FROM spent WHERE tenant = ? AND day >= ?"


class SpentAmounts(NamedTuple):
    """What a tenant spent: calls, tokens, and US dollars of calls whose price is known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """The tokens of questions and answers."""
        return self.input_tokens + self.output_tokens


class ReachedQuota(NamedTuple):
    """A quota that is used up, and what was used."""

    quota: Quota
    used: float


class UsageLedger(CloseOnExit):
    """A file with what each tenant spent on each day (UTC) with each judge; it is created when something is spent.

    If a quota limits it, a call is written before it is made and its tokens when its reply has come, else both are
    written then. `kill -9` loses what is known of calls in flight, at most.

    Example:
        >>> import tempfile
        >>> from datetime import UTC
        >>> now = datetime.now(UTC)
        >>> with UsageLedger(Path(tempfile.mkdtemp()) / "usage.sqlite") as ledger:
        ...     ledger.begin_call("ana", "openai:x", now, ())
        ...     ledger.add_usage("ana", "openai:x", now, Usage(calls=1, input_tokens=70, output_tokens=5), calls=0)
        ...     ledger.read("ana", now).tokens
        75
    """

    def __init__(self, path: Path) -> None:
        """Store the path; nothing is created yet."""
        self.path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def begin_call(self, tenant: str, judge: str, now: datetime, quotas: Iterable[Quota]) -> ReachedQuota | None:
        """Count a call that is about to be made; if a quota is used up, return that and count nothing.

        Raises:
            sqlite3.Error: If the file cannot be used.
        """
        with self._write() as db:
            if reached := _find_reached(db, tenant, quotas, now):
                return reached
            db.execute(ADD, (tenant, _format_day(now), judge, 1, 0, 0, 0.0))
        return None

    def withdraw_call(self, tenant: str, judge: str, now: datetime) -> None:
        """Take a call back that was counted and not made."""
        with self._write() as db:
            db.execute(ADD, (tenant, _format_day(now), judge, -1, 0, 0, 0.0))

    def add_usage(self, tenant: str, judge: str, now: datetime, usage: Usage, *, calls: int) -> None:
        """Add the tokens and the cost of a call, and the number of calls that were not counted before."""
        cost = Prices.load().cost(judge, usage) or 0.0
        tokens = usage.input_tokens or 0, usage.output_tokens or 0
        with self._write() as db:
            db.execute(ADD, (tenant, _format_day(now), judge, calls, *tokens, cost))

    def find_reached(self, tenant: str, quotas: Iterable[Quota], now: datetime) -> ReachedQuota | None:
        """Return the first quota that is used up, None if a call may be made."""
        if self._db is None and not self.path.exists():
            return None
        with self._lock:
            return _find_reached(self._open(), tenant, quotas, now)

    def read(self, tenant: str, since: datetime) -> SpentAmounts:
        """Return what a tenant spent since the beginning of a day."""
        if self._db is None and not self.path.exists():
            return SpentAmounts()
        with self._lock:
            return _read(self._open(), tenant, since)

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._open()
            # Locked before the sum is read, so that two processes cannot both take the last call.
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = open_shared_database(self.path, TABLE, LOCK_TIMEOUT_SECONDS)
        return self._db

    def close(self) -> None:
        """Close the file; it is opened again if something is spent."""
        with self._lock:
            if self._db:
                self._db.close()
            self._db = None


def _find_reached(db: sqlite3.Connection, tenant: str, quotas: Iterable[Quota], now: datetime) -> ReachedQuota | None:
    for quota in quotas:
        if quota.period is not None:
            used = float(getattr(_read(db, tenant, find_period_start(quota.period, now)), quota.name))
            if used >= quota.limit:
                return ReachedQuota(quota, used)
    return None


def _read(db: sqlite3.Connection, tenant: str, since: datetime) -> SpentAmounts:
    row = db.execute(READ, (tenant, _format_day(since))).fetchone()
    return SpentAmounts(*row) if row[0] is not None else SpentAmounts()


def _format_day(now: datetime) -> str:
    return now.date().isoformat()
