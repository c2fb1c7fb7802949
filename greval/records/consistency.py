"""Whether a verdict fits the shares that were counted over what the judge listed for it.

The rule follows from the order of the scale. The best value belongs to a full share and to no other; on a scale of
three values or more the worst value belongs to a share of 0. What lies between is left to the judge: a share of 0 may
go with a value that is not the worst, as other things may have counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from greval.records.metric import JudgedMetric
from greval.records.note import ShareNote
from greval.records.scale import CategoricalScale, JudgedScale, Value, ValueScale

FEWEST = 3
"""With two values the worst only says that something is lacking."""


def find_contradictions(
    metric: JudgedMetric, value: Value, notes: Mapping[str, JsonValue], votes: Mapping[str, int] | None = None
) -> dict[str, str]:
    """Return why a verdict contradicts the shares that its metric holds it against.

    Args:
        metric: The definition; a share with `better` is held against the value.
        value: The value that was given.
        notes: The notes of the same judgement, with the shares.
        votes: What repeats gave. A mean of values that differ is of no single judgement: it is not held against one.

    Returns:
        A sentence for each share that it contradicts, by the name of the note.

    Example:
        >>> from greval.metrics.library import load
        >>> coverage = {"coverage": {"count": 2, "of": 2, "share": 1.0}}
        >>> find_contradictions(load("answer_completeness"), "Somewhat relevant", coverage)
        {'coverage': "coverage is 1.00, but 'Somewhat relevant' is not the best value, 'Relevant'"}
    """
    if len(votes or {}) > 1 and isinstance(metric.scale, ValueScale):
        return {}
    held = {name: note.better for name, note in metric.notes.items() if isinstance(note, ShareNote) and note.better}
    return {
        name: fault
        for name, better in held.items()
        if (share := read_share(notes.get(name))) is not None
        and (fault := _find(metric.scale, value, name, share, full=1.0 if better == "higher" else 0.0))
    }


def read_share(note: JsonValue) -> float | None:
    """Return the share of a note, None if it is no share or there was nothing to count."""
    share = note.get("share") if isinstance(note, dict) else None
    return float(share) if isinstance(share, int | float) else None


def _find(scale: JudgedScale, value: Value, name: str, share: float, *, full: float) -> str | None:
    """Hold a value against one share; `full` is the share that belongs to the best value."""
    best, worst, count = _ends(scale)
    if share == full and value != best:
        return f"{name} is {share:.2f}, but {value!r} is not the best value, {best!r}"
    if share != full and value == best:
        return f"{name} is {share:.2f}, but {value!r} is the best value"
    if share != 1.0 - full and value == worst and count >= FEWEST:
        return f"{name} is {share:.2f}, but {value!r} is the worst value"
    return None


def _ends(scale: JudgedScale) -> tuple[Value, Value, int]:
    """Return the best value of an ordered scale, the worst, and how many values it has."""
    if isinstance(scale, CategoricalScale):
        return scale.names[0], scale.names[-1], len(scale.names)
    low, high = scale.range
    return (high, low, scale.size) if scale.better == "higher" else (low, high, scale.size)
