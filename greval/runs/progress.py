"""Progress of a run: counts of its results, and snapshots of them that callers can display."""

from __future__ import annotations

from collections.abc import Mapping

from greval.records.record import Record
from greval.records.result import Result, Usage


class Progress(Record):
    """A snapshot of the progress of a run, counted in judgements.

    `total` is None if the cases are read from a stream. `kept` of the `done` judgements exist from an earlier run and
    cost nothing in this one. `in_flight` is the number of calls without a reply so far. `cost` is in US dollars, or
    None if no price is known; that of `estimated_calls` calls is an estimate. `seconds` is the time since the start.
    `waiting` says what the run waits for and how long, such as the rate limit of its judge; it is empty while calls are
    in flight.
    """

    total: int | None = None
    done: int = 0
    scored: int = 0
    skipped: int = 0
    failed: int = 0
    items_failed: int = 0
    kept: int = 0
    unread: int = 0
    in_flight: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    estimated_calls: int = 0
    seconds: float = 0.0
    waiting: str = ""

    @property
    def seconds_left(self) -> float | None:
        """The estimated time left in seconds; None if the total is unknown or nothing has been judged yet."""
        # Stored results take no time, and say nothing on the time that is left.
        judged = self.done - self.kept
        if self.total is None or not judged:
            return None
        return self.seconds / judged * max(0, self.total - self.done)

    @property
    def calls_per_second(self) -> float:
        """The mean number of judge calls per second since the start."""
        return self.usage.calls / self.seconds if self.seconds else 0.0


class ProgressCounter:
    """Counts the results of a run.

    Args:
        total: The number of planned judgements; None if it is unknown.
        unread: The number of rows that are not cases.
    """

    def __init__(self, total: int | None = None, unread: int = 0) -> None:
        self.total = total
        self.unread = unread
        self.usage = Usage()
        self._statuses = {"scored": 0, "skipped": 0, "failed": 0}
        self._kept = 0
        self._items_failed = 0

    def add(self, result: Result, *, stored: bool) -> None:
        """Count one more result; `stored` if it exists from an earlier run."""
        self._statuses[result.outcome.status] += 1
        self._items_failed += _count_failed_items(result)
        self._kept += stored
        if not stored and result.tier != "computed":
            self.usage += result.usage

    def remove(self, result: Result) -> None:
        """Count a result no more, because it is about to be replaced; its cost stays included."""
        self._statuses[result.outcome.status] -= 1
        self._items_failed -= _count_failed_items(result)

    def count_stored(self, statuses: Mapping[str, int]) -> None:
        """Count stored results only, given their number by status, which is then the total."""
        self._statuses |= statuses
        self.total = self._kept = sum(statuses.values())

    def build_snapshot(self) -> Progress:
        """Return the counts at this moment."""
        return Progress(
            total=self.total,
            done=sum(self._statuses.values()),
            items_failed=self._items_failed,
            kept=self._kept,
            unread=self.unread,
            usage=self.usage,
            **self._statuses,
        )


def _count_failed_items(result: Result) -> int:
    return len(result.failures) if result.outcome.status == "scored" else 0
