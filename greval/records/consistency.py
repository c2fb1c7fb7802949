"""Consistency of a verdict with the shares that were counted over the judge's own list notes.

The rule follows from the order of the scale. Let the full share be 1 if a higher share is better, else 0. A verdict
must have the best value if and only if the share is full. On a scale of three or more values, the worst value requires
the opposite share. Other combinations are allowed: the opposite share may go with a value that is not the worst,
because the judge may have considered other aspects.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from greval.records.metric import JudgedMetric
from greval.records.note import ShareNote
from greval.records.scale import CategoricalScale, JudgedScale, Value, ValueScale

MIN_VALUES = 3
"""The minimum number of values for the rule of the worst value. With two, the worst only means "not full"."""


def find_contradictions(
    metric: JudgedMetric, value: Value, notes: Mapping[str, JsonValue], votes: Mapping[str, int] | None = None
) -> dict[str, str]:
    """Return a sentence for each share with `better` that contradicts the value of its judgement, by its name.

    A mean of different values is not checked (`votes` counts the repeats of each).
    """
    # A mean is not the value of any single judgement, so no share of theirs can contradict it.
    if len(votes or {}) > 1 and isinstance(metric.scale, ValueScale):
        return {}
    directions = {
        name: note.better for name, note in metric.notes.items() if isinstance(note, ShareNote) and note.better
    }
    return {
        name: fault
        for name, better in directions.items()
        if (share := read_share(notes.get(name))) is not None
        and (fault := _find_contradiction(metric.scale, value, name, share, full=1.0 if better == "higher" else 0.0))
    }


def read_share(note: JsonValue) -> float | None:
    """Return the share of a note; None if it is not a share or there was nothing to count."""
    share = note.get("share") if isinstance(note, dict) else None
    return float(share) if isinstance(share, int | float) else None


def _find_contradiction(scale: JudgedScale, value: Value, name: str, share: float, *, full: float) -> str | None:
    """Compare a value with one share; `full` is the share that corresponds to the best value."""
    best, worst, count = _get_ends(scale)
    if share == full and value != best:
        return f"{name} is {share:.2f}, but {value!r} is not the best value, {best!r}"
    if share != full and value == best:
        return f"{name} is {share:.2f}, but {value!r} is the best value"
    if share != 1.0 - full and value == worst and count >= MIN_VALUES:
        return f"{name} is {share:.2f}, but {value!r} is the worst value"
    return None


def _get_ends(scale: JudgedScale) -> tuple[Value, Value, int]:
    """Return the best value of an ordered scale, the worst value, and the number of values."""
    if isinstance(scale, CategoricalScale):
        return scale.names[0], scale.names[-1], len(scale.names)
    low, high = scale.range
    return (high, low, scale.size) if scale.better == "higher" else (low, high, scale.size)
