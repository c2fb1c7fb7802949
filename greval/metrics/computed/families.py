"""Families of computed metrics: their settings, their scales, and the judgement of a single value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from greval.records.metric import FunctionMetric
from greval.records.result import Judgement
from greval.records.scale import Better, MeasureScale, Value, ValueScale

NumberKind = Literal["", "cutoff", "threshold"]


class MetricSetting(NamedTuple):
    """The setting in a metric's name: `ndcg@10-exponential` has `k` 10 and one option."""

    k: int | None = None
    threshold: str = ""
    options: frozenset[str] = frozenset()


class MetricFamily(NamedTuple):
    """Metrics of one base name with different settings.

    `at` is the kind of number after @; `options` are the words allowed after hyphens, in their standard order;
    `threshold` is the default threshold.
    """

    name: str
    make: Callable[[str, MetricSetting], FunctionMetric]
    at: NumberKind = ""
    options: tuple[str, ...] = ()
    threshold: str = ""


def build_share_scale(better: Better = "higher") -> MeasureScale:
    """Build the scale of a share, 0 to 1."""
    return MeasureScale(low=0.0, high=1.0, better=better)


def build_yes_no_scale(yes: str, no: str) -> ValueScale:
    """Build the scale of a yes (1) or no (0) decision from the descriptions of both."""
    return ValueScale(range=(0, 1), levels={0: no, 1: yes})


def build_judgement(value: Value, reason: str) -> tuple[Judgement, ...]:
    """Build the single judgement of a case."""
    return (Judgement(value=value, number=float(value), reason=reason),)


def format_cutoff(k: int | None) -> str:
    """Format the cut-off of a ranking as a phrase.

    Example:
        >>> format_cutoff(10), format_cutoff(None)
        ('in the first 10', 'retrieved')
    """
    return "retrieved" if k is None else f"in the first {k:,}"
