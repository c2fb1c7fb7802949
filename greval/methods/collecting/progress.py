"""How far collecting is, one snapshot after each response."""

from __future__ import annotations

from greval.records.case import Effort, Response
from greval.records.record import Record
from greval.records.result import Usage


class CollectProgress(Record):
    """A snapshot; `planned` responses are None where samples are read from a stream.

    `kept` of the answered and failed ones were there from an earlier run; `unread` rows were no
    samples; `in_flight` methods have not answered yet. `usage` and `cost` (US dollars) add up what the
    new responses tell of themselves; `seconds` is the time since the start.

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
        """How many responses there are, failed ones too."""
        return self.answered + self.failed

    def after(self, response: Response, *, seconds: float, in_flight: int) -> CollectProgress:
        """Give the snapshot after one more response."""
        spent = response.usage or Effort()
        cost = self.cost if spent.cost is None else (self.cost or 0.0) + spent.cost
        usage = Usage(calls=spent.llm_calls or 0, input_tokens=spent.prompt_tokens, output_tokens=spent.output_tokens)
        update = {"usage": self.usage + usage, "cost": cost, "seconds": seconds, "in_flight": in_flight}
        return self.counted(failed=response.error is not None).model_copy(update=update)

    def counted(self, *, failed: bool, kept: bool = False) -> CollectProgress:
        """Give the snapshot with one more response, which cost nothing now."""
        field = "failed" if failed else "answered"
        return self.model_copy(update={field: getattr(self, field) + 1, "kept": self.kept + kept})
