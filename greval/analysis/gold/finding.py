"""What a check of gold finds: a fault to mend, or a remark on what may not be meant."""

from __future__ import annotations

from typing import Literal

from greval.records.record import Record

Level = Literal["fault", "remark"]


class Finding(Record):
    """Something about the gold of a sample.

    Args:
        place: Where: a file and a line, or the sample's id where no place is known.
        sample_id: The sample.
        level: `fault` where figures would be wrong or missing, `remark` where it may be meant so.
        message: What is wrong and what to do.
    """

    place: str
    sample_id: str
    level: Level = "fault"
    message: str

    def __str__(self) -> str:
        where = self.place if self.sample_id in self.place else f"{self.place}: {self.sample_id}"
        return f"{where}: {'' if self.level == 'fault' else 'remark: '}{self.message}"
