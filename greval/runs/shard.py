"""Shards: disjoint parts of a run that can be judged on different machines; a case is always in the same shard."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Annotated, Self

from pydantic import Field, model_validator

from greval.errors import DataError
from greval.records.record import Record


class Shard(Record):
    """One of `count` shards of a run; `number` starts at 1.

    Example:
        >>> sum(Shard.parse(f"{n}/3").holds("q1") for n in (1, 2, 3))
        1
    """

    number: Annotated[int, Field(ge=1)]
    count: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _check_number(self) -> Self:
        if self.number > self.count:
            message = f"shard {self.number} of {self.count}: expected a number of at most {self.count}"
            raise ValueError(message)
        return self

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a shard such as `3/16`.

        Raises:
            DataError: If the text is not a valid shard.
        """
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            message = f"shard {text!r}: write it as 3/16, the third of sixteen"
            raise DataError(message)
        return cls(number=int(match[1]), count=int(match[2]))

    def holds(self, sample_id: str) -> bool:
        """Return whether a sample is in this shard. All methods of a sample are in the same shard."""
        return hash_sample_id(sample_id) % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def hash_sample_id(sample_id: str) -> int:
    """Return a number that depends only on the id of a sample; sorted by it, samples are in no particular order.

    Example:
        >>> sorted(("q0", "q1", "q2", "q3", "q4", "q5"), key=hash_sample_id)
        ['q4', 'q5', 'q0', 'q3', 'q2', 'q1']
    """
    # An id may hold a lone surrogate.
    return int.from_bytes(sha256(sample_id.encode("utf-8", "surrogatepass")).digest()[:8], "big")
