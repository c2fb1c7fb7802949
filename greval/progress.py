"""How far a run is: counts that callers can show, one snapshot after each result."""

from __future__ import annotations

from greval.record import Record
from greval.result import Result, Usage


class Progress(Record):
    """A snapshot of a run; `total` judgements are None where cases are read from a stream.

    `kept` of the `done` were there from an earlier run and cost nothing now; `seconds` is the time
    since the start.
    """

    total: int | None = None
    done: int = 0
    scored: int = 0
    skipped: int = 0
    failed: int = 0
    items_failed: int = 0
    kept: int = 0
    unread: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds left, None while nothing was judged or the total is not known."""
        judged = self.done - self.kept
        if self.total is None or not judged:
            return None
        return self.seconds / judged * max(0, self.total - self.done)

    def after(self, result: Result, *, kept: bool, seconds: float) -> Progress:
        """Give the snapshot after one more result."""
        status = result.outcome.status
        return self.model_copy(
            update={
                "done": self.done + 1,
                status: getattr(self, status) + 1,
                "items_failed": self.items_failed + (len(result.failures) if status == "scored" else 0),
                "kept": self.kept + kept,
                "usage": self.usage if kept else self.usage + result.usage,
                "seconds": seconds,
            }
        )
