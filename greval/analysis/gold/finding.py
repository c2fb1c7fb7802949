"""A finding of a gold check: a fault to correct, or a remark on something that may be unintended."""

from __future__ import annotations

from typing import Literal

from greval.records.record import Record

FindingLevel = Literal["fault", "remark"]


class Finding(Record):
    """A finding on the gold of a sample.

    Args:
        place: A file and a line, or the sample's id if no place is known.
        sample_id: The sample.
        level: `fault` if figures would be wrong or missing, `remark` if it may be intended.
        message: What is wrong and what to do.
    """

    place: str
    sample_id: str
    level: FindingLevel = "fault"
    message: str

    def __str__(self) -> str:
        where = self.place if self.sample_id in self.place else f"{self.place}: {self.sample_id}"
        return f"{where}: {'' if self.level == 'fault' else 'remark: '}{self.message}"
