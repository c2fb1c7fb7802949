"""The result of a gate condition, as reports and comparisons hold it."""

from __future__ import annotations

from typing import Literal

from greval.records.record import Record

CheckStatus = Literal["passed", "failed", "undecided"]


class GateCheck(Record):
    """The result of one gate condition, with the figures; the gate fails if it is met.

    `undecided` is true if no figure meets the condition, but a figure that it needs is undefined or not complete, or
    two sides were judged differently. It then counts as met: a gate never passes without data.
    """

    condition: str
    metric: str = ""
    met: bool
    undecided: bool = False
    told: tuple[str, ...]

    @property
    def status(self) -> CheckStatus:
        """The result of the condition in one word."""
        if self.undecided:
            return "undecided"
        return "failed" if self.met else "passed"
