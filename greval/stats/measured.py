"""Figures of a sample: a value with how sure it is, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from greval.records.record import Record
from greval.stats.interval import Interval, wilson
from greval.stats.resampling import Sample, Statistic, intervals

if TYPE_CHECKING:
    from greval.stats.bootstrap import Integers


class Figure(Record):
    """A figure of `n` observations.

    `interval` draws single things anew, `clustered` all things of a question together; each is None
    where nothing can be learned of the spread, `clustered` also where each question has one thing.
    """

    status: Literal["known"] = "known"
    value: float
    n: int
    interval: Interval | None = None
    clustered: Interval | None = None


class Undefined(Record):
    """A figure that is not defined for these data, and why."""

    status: Literal["undefined"] = "undefined"
    n: int
    reason: str


Measured = Annotated[Figure | Undefined, Field(discriminator="status")]


class Counted(Record):
    """What is known of a figure beside its formula.

    `n` is how many observations it is of, `why` the reason to give where it is undefined, `share`
    whether it is a plain share of them, which has an interval even where all are alike.
    """

    n: int
    why: str
    share: bool = False


def measured(
    sample: Sample,
    statistic: Statistic,
    counted: Callable[[str], Counted],
    *,
    values: Mapping[str, float],
    level: float,
) -> dict[str, Measured]:
    """Give figures with their bootstrap intervals.

    Args:
        sample: The observations.
        statistic: Gives every figure of many resamples at once.
        counted: Tells of a figure by its name how many observations it is of.
        values: The figures of the sample itself, NaN where undefined.
        level: The probability that each interval holds the true figure.
    """
    single = intervals(sample.rows, statistic, sample.things, level=level)
    together = intervals(sample.rows, statistic, sample.questions, level=level) if sample.is_clustered else {}
    return stated(values, counted, sample, (single, together), level=level)


def stated(
    values: Mapping[str, float],
    counted: Callable[[str], Counted],
    sample: Sample,
    ends: tuple[Mapping[str, Interval], Mapping[str, Interval]],
    *,
    level: float,
) -> dict[str, Measured]:
    """Give figures with intervals that are known, those of single things and those of whole questions.

    A share of 0 or 1 that no resample changes has Wilson's interval.
    """
    questions = len(set(sample.questions.tolist())) if sample.is_clustered else 0
    found: dict[str, Measured] = {}
    for name, value in values.items():
        told = counted(name)
        if isnan(value):
            found[name] = Undefined(n=told.n, reason=told.why)
            continue
        single, together = (known.get(name) for known in ends)
        if told.share and value in {0.0, 1.0} and single is None and together is None:
            single = wilson(value, told.n, level=level)
            together = wilson(value, min(told.n, questions), level=level) if questions else None
        found[name] = Figure(value=value, n=told.n, interval=single, clustered=together)
    return found


def codes(names: list[str]) -> Integers:
    """Number names, equal ones alike.

    Example:
        >>> codes(["q2", "q1", "q2"]).tolist()
        [1, 0, 1]
    """
    import numpy as np

    return np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)
