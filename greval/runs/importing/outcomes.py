"""Outcomes of imported verdicts: the values in a file, checked against the scale of a metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from greval.datasets.field_names import format_printable
from greval.judging.repeats import merge_repeats
from greval.records.metric import Metric
from greval.records.result import Failure, Judgement, Outcome, Skipped, build_outcome
from greval.records.scale import OffScaleError
from greval.records.scale_values import is_missing_value, parse_on_scale

NO_VERDICT = "the file holds no verdict"
MAX_RAW = 1_000
MAX_MESSAGE = 300


class WrittenVerdict(NamedTuple):
    """A verdict as it is written: the value and the reason, the judged item, the repeat, and the place in the file."""

    value: object
    reason: str
    place: str
    item: str | None = None
    repeat: str = ""


def build_verdict_outcome(metric: Metric, written: Iterable[WrittenVerdict]) -> Outcome:
    """Build the outcome of one metric for one case.

    A value that is not on the scale is a failure. An empty one is skipped, or a failure if other items of the case have
    verdicts. Repeats are merged into the majority or the mean, and empty ones have no vote.

    Example:
        >>> from greval.metrics.scale_text import build_scale_metric
        >>> metric = build_scale_metric("quality", "0..3")
        >>> build_verdict_outcome(metric, [WrittenVerdict("2", "Short.", "v.csv:2")]).judgements[0].value
        2
        >>> build_verdict_outcome(metric, [WrittenVerdict("4", "", "v.csv:3")]).error.message
        'v.csv:3: 4 is not an integer from 0 to 3'
    """
    verdicts = [*written]
    filled = [verdict for verdict in verdicts if not is_missing_value(metric.scale, verdict.value)]
    if not filled:
        return Skipped(reason=NO_VERDICT)
    repeats: dict[str, list[Judgement | Failure]] = {}
    for verdict in filled:
        repeats.setdefault(verdict.repeat, []).append(_read_verdict(metric, verdict))
    outcomes = [_build_repeat(parts) for parts in repeats.values()]
    merged = merge_repeats(metric, outcomes) if len(outcomes) > 1 else outcomes[0]
    judged_items = {verdict.item for verdict in filled}
    lost = tuple(_build_lost(verdict) for verdict in verdicts if verdict.item not in judged_items)
    if not lost:
        return merged
    return build_outcome(
        merged.judgements if merged.status == "scored" else (),
        (*(merged.failures if merged.status != "skipped" else ()), *lost),
    )


def _build_repeat(readings: Iterable[Judgement | Failure]) -> Outcome:
    parts = [*readings]
    return build_outcome(
        [part for part in parts if isinstance(part, Judgement)], [part for part in parts if isinstance(part, Failure)]
    )


def _build_lost(verdict: WrittenVerdict) -> Failure:
    return Failure(kind="missing_item", message=f"{verdict.place}: {NO_VERDICT}", item=verdict.item)


def _read_verdict(metric: Metric, verdict: WrittenVerdict) -> Judgement | Failure:
    """Read a verdict that is not empty."""
    try:
        value = parse_on_scale(metric.scale, verdict.value)
    except OffScaleError as error:
        message = f"{verdict.place}: {format_printable(str(error), MAX_MESSAGE)}"
        return Failure(kind="off_scale", message=message, raw=str(verdict.value)[:MAX_RAW], item=verdict.item)
    return Judgement(value=value, number=metric.scale.number(value), reason=verdict.reason, item=verdict.item)
