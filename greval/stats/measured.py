"""A value of a sample with its intervals, or the reason why it is undefined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from greval.records.record import Record
from greval.stats.interval import Interval, wilson_interval
from greval.stats.resampling import BootstrapSample, Statistic, compute_intervals

if TYPE_CHECKING:
    from greval.stats.bootstrap import Integers


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


class ValueBasis(Record):
    """What is needed of a value besides its formula.

    `n` is its number of observations, `why` the reason to report if it is undefined. `share` is whether it is a plain
    share of the observations, which has an interval even if all are equal.
    """

    n: int
    why: str
    share: bool = False


def bootstrap_values(
    sample: BootstrapSample,
    statistic: Statistic,
    describe_basis: Callable[[str], ValueBasis],
    *,
    values: Mapping[str, float],
    level: float,
) -> dict[str, Measured]:
    """Return values with their bootstrap intervals.

    Args:
        sample: The observations.
        statistic: A function that computes every value of many resamples at once.
        describe_basis: A function that returns the basis of a value by its name.
        values: The values of the sample itself, NaN if undefined.
        level: The confidence level.
    """
    single = compute_intervals(sample.rows, statistic, sample.things, level=level)
    together = compute_intervals(sample.rows, statistic, sample.questions, level=level) if sample.is_clustered else {}
    return build_values(values, describe_basis, sample, (single, together), level=level)


def build_values(
    values: Mapping[str, float],
    describe_basis: Callable[[str], ValueBasis],
    sample: BootstrapSample,
    ends: tuple[Mapping[str, Interval], Mapping[str, Interval]],
    *,
    level: float,
) -> dict[str, Measured]:
    """Return values with given intervals, those of single items and those of whole questions.

    A share of 0 or 1 that is the same in all resamples gets Wilson's interval.
    """
    questions = len(set(sample.questions.tolist())) if sample.is_clustered else 0
    found: dict[str, Measured] = {}
    for name, value in values.items():
        told = describe_basis(name)
        if isnan(value):
            found[name] = Undefined(n=told.n, reason=told.why)
            continue
        single, together = (known.get(name) for known in ends)
        if told.share and value in {0.0, 1.0} and single is None and together is None:
            single = wilson_interval(value, told.n, level=level)
            together = wilson_interval(value, min(told.n, questions), level=level) if questions else None
        found[name] = MeasuredValue(value=value, n=told.n, interval=single, clustered=together)
    return found


def encode_names(names: list[str]) -> Integers:
    """Encode names as integers; equal names have equal codes.

    Example:
        >>> encode_names(["q2", "q1", "q2"]).tolist()
        [1, 0, 1]
    """
    import numpy as np

    return np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)
