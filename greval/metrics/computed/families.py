"""Making computed metrics: their setting by name, their scales, and a judgement of one figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from greval.records.case import Case
from greval.records.metric import ComputedMetric
from greval.records.result import Judgement, Skipped
from greval.records.scale import Better, MeasureScale, Value, ValueScale

Compute = Callable[[Case], tuple[Judgement, ...] | Skipped]
At = Literal["", "cutoff", "threshold"]


class Setting(NamedTuple):
    """What a name says beside its first word: `ndcg@10-exponential` has k 10 and one option."""

    k: int | None = None
    threshold: str = ""
    options: frozenset[str] = frozenset()


class Family(NamedTuple):
    """Metrics of one name and different settings; `at` is what stands after @, `options` after hyphens, in order."""

    name: str
    make: Callable[[str, Setting], ComputedMetric]
    at: At = ""
    options: tuple[str, ...] = ()
    threshold: str = ""


def share(better: Better = "higher") -> MeasureScale:
    """Give the scale of a share, 0 to 1."""
    return MeasureScale(low=0.0, high=1.0, better=better)


def yes_no(yes: str, no: str) -> ValueScale:
    """Give the scale of what is so (1) or not (0)."""
    return ValueScale(range=(0, 1), levels={0: no, 1: yes})


def judged(value: Value, reason: str) -> tuple[Judgement, ...]:
    """Give the one judgement of a case."""
    return (Judgement(value=value, number=float(value), reason=reason),)


def within(k: int | None) -> str:
    """Say where in a ranking was looked.

    Example:
        >>> within(10), within(None)
        ('in the first 10', 'retrieved')
    """
    return "retrieved" if k is None else f"in the first {k:,}"
