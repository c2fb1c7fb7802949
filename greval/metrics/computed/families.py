"""Families of computed metrics: their settings and scales, the judgement of a value, and ids that cannot meet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal, NamedTuple

from greval._util.joins import are_of_other_kinds, find_near_ids, format_id
from greval._util.wording import UNMET
from greval.records.metric import FunctionMetric
from greval.records.result import Judgement, Skipped
from greval.records.scale import Better, MeasureScale, Value, ValueScale

JudgementsOrSkipped = tuple[Judgement, ...] | Skipped
NumberKind = Literal["", "cutoff", "threshold"]


class MetricSetting(NamedTuple):
    """The setting in a metric's name: `ndcg@10-exponential` has `k` 10 and one option."""

    k: int | None = None
    threshold: str = ""
    options: frozenset[str] = frozenset()


class MetricFamily(NamedTuple):
    """Metrics of one base name with different settings.

    `at` is the kind of number after @; `options` are the words allowed after hyphens, in their standard order;
    `threshold` is the default threshold; without one, the metric without a threshold is a number that decides nothing.
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
    """Format the cut-off of a ranking as a phrase."""
    return "retrieved" if k is None else f"in the first {k:,}"


def explain_unmet_ids(
    expected: Collection[str], retrieved: Collection[str], noun: str, spellings: Mapping[str, str] | None = None
) -> Skipped | None:
    """Return why ids that did not meet are no miss, None if they met or are one.

    An expected id that nearly equals a retrieved one may have been retrieved. If nothing met, a miss is one only if the
    ids are of one kind.

    Args:
        expected: The ids that the gold names.
        retrieved: The ids that the method returned.
        noun: What the ids are of, as a plural.
        spellings: How the ids are written, if they are normalised.

    Example:
        >>> explain_unmet_ids(["d1"], ["D1"], "documents").reason
        "ids do not meet: documents of gold and response differ only in case; write them alike, such as 'd1' and 'D1'"
        >>> explain_unmet_ids(["d1"], ["d2"], "documents")
    """
    missed = [name for name in expected if name not in retrieved]
    unexpected = [name for name in retrieved if name not in expected]
    # With no miss, or nothing else retrieved, spelling cannot be the cause.
    if not missed or not unexpected:
        return None
    if near_ids := find_near_ids(missed, unexpected):
        what, pair = (
            f"differ only in {' and '.join(near_ids.differences)}; write them alike",
            (near_ids.left, near_ids.right),
        )
    # A single id that met shows that the kinds agree, and that the other misses are real.
    elif len(missed) == len(expected) and are_of_other_kinds(missed, unexpected):
        what, pair = "are of two kinds, so that none can meet", (missed[0], unexpected[0])
    else:
        return None
    example = " and ".join(format_id((spellings or {}).get(name, name)) for name in pair)
    return Skipped(reason=f"{UNMET}: {noun} of gold and response {what}, such as {example}")
