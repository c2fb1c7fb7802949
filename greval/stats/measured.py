"""A value of a sample with its intervals, or the reason why it is undefined."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greval.records.record import Record
from greval.stats.interval import Interval

Distance = Literal["nominal", "ordinal", "interval"]
"""How far Krippendorff's alpha takes two values to be apart: equal or not, by their order, or by their difference."""


class MeasuredValue(Record):
    """A value of `n` observations.

    `interval` resamples single items, `clustered` all items of a question together. Each is missing (None)
    if the spread cannot be estimated; `clustered` also if each question has a single item.
    """

    status: Literal["known"] = "known"
    value: float
    n: int
    interval: Interval | None = None
    clustered: Interval | None = None


class Undefined(Record):
    """A value that is not defined for these data, with the reason."""

    status: Literal["undefined"] = "undefined"
    n: int
    reason: str


Measured = Annotated[MeasuredValue | Undefined, Field(discriminator="status")]


class NumberSpread(Record):
    """The distribution of numbers; `sd` divides by n - 1 and is undefined for one number. Extremes have no interval."""

    n: int
    mean: Measured
    median: Measured
    sd: Measured
    min: float
    max: float


def build_measured(value: float | None, n: int, reason: str, *, interval: Interval | None = None) -> Measured:
    """Build a value, or the reason why it is missing."""
    if value is None:
        return Undefined(n=n, reason=reason)
    return MeasuredValue(value=value, n=n, interval=interval)
