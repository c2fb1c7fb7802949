"""Progress of a run: counts that callers can display, one snapshot after each result."""

from __future__ import annotations

from greval.records.record import Record
from greval.records.result import Result, Usage


class Progress(Record):
    """A snapshot of the progress of a run, counted in judgements.

    `total` is None if the cases are read from a stream. `kept` of the `done` judgements exist from an earlier run and
    cost nothing in this one. `in_flight` is the number of calls without a reply so far. `cost` is in US dollars, or
    None if no price is known. `seconds` is the time since the start.
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
    seconds: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """The estimated time left in seconds; None if the total is unknown or nothing has been judged yet."""
        judged = self.done - self.kept
        if self.total is None or not judged:
            return None
        return self.seconds / judged * max(0, self.total - self.done)

    @property
    def calls_per_second(self) -> float:
        """The mean number of judge calls per second since the start."""
        return self.usage.calls / self.seconds if self.seconds else 0.0

    def with_result(
        self, result: Result, *, kept: bool, seconds: float, in_flight: int = 0, cost: float | None = None
    ) -> Progress:
        """Return the snapshot after one more result."""
        status = result.outcome.status
        return self.model_copy(
            update={
                "done": self.done + 1,
                status: getattr(self, status) + 1,
                "items_failed": self.items_failed + _count_failed_items(result),
                "kept": self.kept + kept,
                "usage": self.usage if kept or result.tier == "computed" else self.usage + result.usage,
                "seconds": seconds,
                "in_flight": in_flight,
                "cost": cost,
            }
        )

    def without_result(self, result: Result | None) -> Progress:
        """Return the snapshot without a result that is about to be replaced; its cost stays included."""
        if result is None:
            return self
        status = result.outcome.status
        return self.model_copy(
            update={
                "done": self.done - 1,
                status: getattr(self, status) - 1,
                "items_failed": self.items_failed - _count_failed_items(result),
            }
        )


def _count_failed_items(result: Result) -> int:
    return len(result.failures) if result.outcome.status == "scored" else 0
