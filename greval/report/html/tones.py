"""Values of scales as a page shows them: their text, and their tone from 0 (worst) to 4 (best), which is a colour."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from statistics import fmean

from greval.records.scale import CategoricalScale, MeasureScale, Scale, find_direction
from greval.report.console import format_figure

BEST_TONE = 4


def find_tone(scale: Scale | None, value: str) -> int | None:
    """Return the tone of a value, None if its scale has no order or no ends."""
    share = _compute_share(scale, value) if scale else None
    return None if share is None else round(BEST_TONE * min(1.0, max(0.0, share)))


def find_mean_tone(scale: Scale, values: Sequence[str]) -> int | None:
    """Return the mean of the tones of values, None if none has a tone."""
    tones = [tone for value in values if (tone := find_tone(scale, value)) is not None]
    return round(fmean(tones)) if tones else None


def format_value(scale: Scale | None, value: str) -> str:
    """Format a value: a measure with three significant digits and its unit, any other as it is."""
    if not isinstance(scale, MeasureScale):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return f"{format_figure(number)} {scale.unit}".rstrip()


def format_values(scale: Scale | None, values: Sequence[str], numbers: Sequence[float]) -> str:
    """Format the single value of a case, the mean of several, or the most frequent of several without numbers."""
    if len(values) == 1:
        return format_value(scale, values[0])
    if numbers:
        return f"{format_figure(fmean(numbers))} n={len(values)}"
    # In the order of their first occurrence, so that a tie is not decided by the order of a set.
    most = max(dict.fromkeys(values), key=values.count)
    return f"{most} {values.count(most)} of {len(values)}"


def is_best_value(scale: Scale, value: str) -> bool:
    """Return whether a value is the best of its scale."""
    return _compute_share(scale, value) == 1


def _compute_share(scale: Scale, value: str) -> float | None:
    """Return how far a value is from the worst to the best one, 0 to 1."""
    if isinstance(scale, CategoricalScale):
        return _compute_category_share(scale, value)
    # Without a highest value there is no worst one, and no place between the two.
    if isinstance(scale, MeasureScale) and scale.high is None:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    direction = find_direction(scale)
    if direction.ends is None or not isfinite(number):
        return None
    share = (number - direction.ends[0]) / (direction.ends[1] - direction.ends[0])
    return 1 - share if direction.better == "lower" else share


def _compute_category_share(scale: CategoricalScale, value: str) -> float | None:
    scores = {category.name: category.score for category in scale.categories}
    if value not in scores:
        return None
    category_scores = [score for score in scores.values() if score is not None]
    value_score = scores[value]
    if value_score is not None and max(category_scores) > min(category_scores):
        return (value_score - min(category_scores)) / (max(category_scores) - min(category_scores))
    return 1 - scale.names.index(value) / (len(scores) - 1) if scale.ordered else None
