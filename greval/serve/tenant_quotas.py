"""What a tenant may use, and has used: the meter of its calls, and the checks before something is stored."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from greval.records.record import Record
from greval.records.result import Usage
from greval.serve.jobs.queue import is_run_folder
from greval.serve.logs import ERRORS
from greval.serve.problems import ServeError
from greval.serve.quotas import (
    KEPT_NAMES,
    PERIODS,
    KeptName,
    Period,
    Quota,
    QuotaName,
    describe_reached_quota,
    find_period_start,
    find_renewal,
    select_quotas,
)
from greval.serve.service import MAX_TENANT_THREADS, PLAIN_NAME, Service, Tenant
from greval.serve.usage_ledger import ReachedQuota, UsageLedger

LOCK_FILE = ".quota.lock"
LOCK_SECONDS = 30.0
UNCOUNTED = "the server cannot count its calls; its operator finds the reason in its log"


class UsageAmount(Record):
    """What was used, and the limit, null without a quota.

    `disk` is in bytes, `cost` in US dollars of calls whose price is known; `datasets` and `runs` are those that exist.
    `calls`, `tokens` and `cost` are those of the calendar day or month of UTC (`period`), which ends at `renews`.
    """

    name: QuotaName
    period: Period | None = None
    used: float
    limit: float | None = None
    renews: datetime | None = None


class UsageReport(Record):
    """What the client used, and its quotas."""

    amounts: tuple[UsageAmount, ...]


@dataclass(frozen=True)
class TenantQuotas:
    """The quotas of one tenant, and what it used; it meters all calls of the judge that the tenant causes.

    `on_usage` is called with the judge and the usage of each call, for calls without a result that is counted. `turns`
    are held while a thread waits for the tenant's lock or measures what is kept.
    """

    tenant: Tenant
    quotas: tuple[Quota, ...]
    ledger: UsageLedger
    on_usage: Callable[[str, Usage], None] | None = None
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TENANT_THREADS), compare=False)

    @property
    def _limits_calls(self) -> bool:
        """Return whether a quota limits the calls, their tokens or their cost."""
        return any(quota.period for quota in self.quotas)

    def admit_call(self, judge: str) -> str | None:
        """Count a call that is about to be made, or return the reason why it may not be made.

        It is refused if it cannot be counted, such as on a full disk. Without a quota that needs the count, it is
        counted when its reply has come.
        """
        if not self._limits_calls:
            return None
        now = datetime.now(UTC)
        try:
            reached = self.ledger.begin_call(self.tenant.name, judge, now, self.quotas)
        except (OSError, sqlite3.Error):
            ERRORS.exception("a call could not be counted")
            return UNCOUNTED
        return describe_reached_quota(*reached, now) if reached else None

    def withdraw_call(self, judge: str) -> None:
        """Take back a call that was admitted and is not made."""
        if self._limits_calls:
            with _log_errors():
                self.ledger.add_usage(self.tenant.name, judge, datetime.now(UTC), Usage(), calls=-1)

    def record_usage(self, judge: str, usage: Usage) -> None:
        """Record the tokens and the cost of a call that was admitted, also if no reply was waited for."""
        if self.on_usage:
            self.on_usage(judge, usage)
        with _log_errors():
            # With a limit, the call was counted when it was admitted.
            calls = 0 if self._limits_calls else usage.calls
            self.ledger.add_usage(self.tenant.name, judge, datetime.now(UTC), usage, calls=calls)

    def check_calls(self) -> None:
        """Raise `ServeError` (429) if no call may be made, with the time at which the quota renews."""
        if not self._limits_calls:
            return
        now = datetime.now(UTC)
        reached = None
        with _log_errors():
            reached = self.ledger.find_reached(self.tenant.name, self.quotas, now)
        if reached:
            raise build_reached_error(reached, now)

    @contextmanager
    def reserve(self, name: KeptName) -> Iterator[None]:
        """Hold the tenant's lock while something new is stored: concurrent requests keep to the quota together."""
        limits = self._list_limits()
        if not {name, "disk"} & limits.keys():
            yield
            return
        self.tenant.runs.mkdir(parents=True, exist_ok=True)
        with FileLock(self.tenant.runs / LOCK_FILE, timeout=LOCK_SECONDS):
            self.check_stored(name)
            yield

    def check_stored(self, name: KeptName) -> None:
        """Raise `ServeError` (409) if nothing more of a kind may be stored, or the disk's quota is exceeded."""
        for kind, quota in self._list_limits().items():
            used = self.measure(kind) if kind in {name, "disk"} else 0
            # What reaches its limit exactly may stay, but nothing of its kind may be added.
            if used > quota.limit or (used == quota.limit and kind == name):
                raise build_reached_error((quota, used), datetime.now(UTC))

    def measure_free_disk(self) -> float:
        """Return the bytes that may be added; infinite without a quota."""
        quota = self._list_limits().get("disk")
        return max(0, int(quota.limit) - self.measure("disk")) if quota else float("inf")

    def build_disk_error(self) -> ServeError:
        """Build the error (409) for a file that does not fit in what the quota leaves."""
        return build_reached_error((self._list_limits()["disk"], self.measure("disk")), datetime.now(UTC))

    def measure(self, name: KeptName) -> int:
        """Return the bytes on the disk, or the number of data sets or runs."""
        match name:
            case "disk":
                return _measure_folder(self.tenant.runs)
            case "datasets":
                return sum(1 for entry in _scan(self.tenant.datasets) if not entry.name.startswith("."))
            case "runs":
                return sum(
                    1
                    for entry in _scan(self.tenant.runs)
                    if PLAIN_NAME.fullmatch(entry.name) and is_run_folder(Path(entry.path))
                )

    def report(self) -> UsageReport:
        """Return what was used, with the limits."""
        now = datetime.now(UTC)
        limits = {(quota.name, quota.period): quota.limit for quota in self.quotas}
        stored = [
            UsageAmount(name=name, used=self.measure(name), limit=limits.get((name, None))) for name in KEPT_NAMES
        ]
        renewed = [
            UsageAmount(
                name=name,
                period=period,
                used=amount,
                limit=limits.get((name, period)),
                renews=find_renewal(period, now),
            )
            for period in PERIODS
            for name, amount in self.ledger.read(self.tenant.name, find_period_start(period, now)).items()
        ]
        return UsageReport(amounts=(*stored, *renewed))

    def _list_limits(self) -> Mapping[KeptName, Quota]:
        """Return the quotas of what is kept, by their names."""
        return {name: quota for name in KEPT_NAMES for quota in self.quotas if quota.name == name}


def get_tenant_quotas(service: Service, tenant: Tenant) -> TenantQuotas:
    """Return the quotas of a tenant; everything that calls a judge for it passes its calls to these."""
    quotas, turns = select_quotas(service.settings.quotas, tenant.name), service.threads[tenant.name]
    return TenantQuotas(tenant, quotas, service.ledger, turns=turns)


def build_reached_error(reached: ReachedQuota, now: datetime) -> ServeError:
    """Build the error of a quota that is used up: 429 with the time if it renews, else 409."""
    message = describe_reached_quota(*reached, now)
    period = reached[0].period
    if period is None:
        return ServeError("quota_full", message)
    wait = (find_renewal(period, now) - now.astimezone(UTC)).total_seconds()
    # Rounded up: a second too early it would be refused again.
    return ServeError("quota_reached", message, headers={"Retry-After": str(int(wait) + 1)})


@contextmanager
def _log_errors() -> Iterator[None]:
    """Log that something could not be counted; a reply that was paid for is not lost for it."""
    try:
        yield
    except (OSError, sqlite3.Error):
        ERRORS.exception("a call could not be counted")


def _measure_folder(folder: Path) -> int:
    """Return the bytes of all files in a folder, also of those that are being received."""
    size, stack = 0, [folder]
    while stack:
        for entry in _scan(stack.pop()):
            # It was deleted meanwhile.
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    stack.append(Path(entry.path))
                else:
                    size += entry.stat(follow_symlinks=False).st_size
    return size


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [*entries]
    except OSError:
        return []
