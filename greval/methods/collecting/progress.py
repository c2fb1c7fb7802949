"""The progress of a collection: one snapshot after each response."""

from __future__ import annotations

from greval.records.case import Effort, Response
from greval.records.record import Record
from greval.records.result import Usage


class CollectProgress(Record):
    """A snapshot of the progress of a collection.

    `planned` is the total number of responses; it is None while samples are read from a stream of unknown length.
    `kept` counts the answered and failed responses that come from an earlier run. `unread` counts rows that are not
    samples. `in_flight` counts calls that have not finished. `usage` and `cost` (US dollars) are sums of what the new
    responses report. `seconds` is the time since the start.

    Example:
        >>> CollectProgress(answered=3, failed=1).done
        4
    """

    planned: int | None = None
    answered: int = 0
    failed: int = 0
    kept: int = 0
    unread: int = 0
    in_flight: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """The number of responses, failed ones included."""
        return self.answered + self.failed

    def after(self, response: Response, *, seconds: float, in_flight: int) -> CollectProgress:
        """Return the snapshot after one new response."""
        spent = response.usage or Effort()
        cost = self.cost if spent.cost is None else (self.cost or 0.0) + spent.cost
        usage = Usage(calls=spent.llm_calls or 0, input_tokens=spent.prompt_tokens, output_tokens=spent.output_tokens)
        update = {"usage": self.usage + usage, "cost": cost, "seconds": seconds, "in_flight": in_flight}
        return self.counted(failed=response.error is not None).model_copy(update=update)

    def counted(self, *, failed: bool, kept: bool = False) -> CollectProgress:
        """Return the snapshot with one more response counted, without adding usage or cost."""
        field = "failed" if failed else "answered"
        return self.model_copy(update={field: getattr(self, field) + 1, "kept": self.kept + kept})
