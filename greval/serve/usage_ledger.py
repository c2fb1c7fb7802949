"""What each tenant spent on calls of judges, on disk: restarts forget nothing, and several processes share it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from greval._util.files import CloseOnExit, open_shared_database
from greval.judging.model.prices import Prices
from greval.records.result import Usage
from greval.serve.quotas import SPENT_NAMES, Quota, SpentName, find_period_start

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
READ = """
SELECT total(calls), total(input_tokens + output_tokens), total(cost)
FROM spent WHERE tenant = ? AND day >= ?
"""


ReachedQuota = tuple[Quota, float]
"""A quota that is used up, and what was used."""


class UsageLedger(CloseOnExit):
    """A file with what each tenant spent on each day (UTC) with each judge; it is created when something is spent.

    If a quota limits it, a call is written before it is made and its tokens when its reply has come, else both are
    written then. `kill -9` loses what is known of calls in flight, at most.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None

    def begin_call(self, tenant: str, judge: str, now: datetime, quotas: Iterable[Quota]) -> ReachedQuota | None:
        """Count a call that is about to be made; if a quota is used up, return that and count nothing."""
        with self._write() as db:
            if reached := self.find_reached(tenant, quotas, now):
                return reached
            db.execute(ADD, (tenant, now.date().isoformat(), judge, 1, 0, 0, 0.0))
        return None

    def add_usage(self, tenant: str, judge: str, now: datetime, usage: Usage, *, calls: int) -> None:
        """Add the tokens and the cost of a call, and the calls that were not counted before; -1 takes one back."""
        cost = Prices.load().cost(judge, usage) or 0.0
        tokens = usage.input_tokens or 0, usage.output_tokens or 0
        with self._write() as db:
            db.execute(ADD, (tenant, now.date().isoformat(), judge, calls, *tokens, cost))

    def find_reached(self, tenant: str, quotas: Iterable[Quota], now: datetime) -> ReachedQuota | None:
        """Return the first quota that is used up, None if a call may be made."""
        for quota in quotas:
            if quota.period is not None:
                spent = self.read(tenant, find_period_start(quota.period, now))
                used = next(amount for name, amount in spent.items() if name == quota.name)
                if used >= quota.limit:
                    return quota, used
        return None

    def read(self, tenant: str, since: datetime) -> dict[SpentName, float]:
        """Return what a tenant spent since the beginning of a day: calls, tokens, US dollars of known prices."""
        if self._db is None and not self.path.exists():
            return dict.fromkeys(SPENT_NAMES, 0.0)
        with self._lock:
            row = self._open().execute(READ, (tenant, since.date().isoformat())).fetchone()
        return dict(zip(SPENT_NAMES, row, strict=True))

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
