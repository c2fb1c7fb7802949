"""Warnings about duels: habits of the judge that limit what its preferences say."""

from __future__ import annotations

from collections.abc import Iterator

from greval.analysis.duel.records import JudgeHabits, PreferenceFindings
from greval.stats.measured import Measured, MeasuredValue

EVEN = 0.5
"""The share of wins of the response that stands first, if its place has no influence."""
HABITUAL_TIES = 0.5
"""The share of verdicts from which ties are a habit."""


HABITS = 3
"""The number of habits that are looked for."""


def correct_level(level: float, metrics: int) -> float:
    """Return the level at which each habit is tested, so that a judge without any is rarely accused (Bonferroni).

    Example:
        >>> round(correct_level(0.95, 2), 4)
        0.9917
    """
    return 1 - (1 - level) / (HABITS * max(1, metrics))


def find_warnings(findings: PreferenceFindings, habits: JudgeHabits) -> Iterator[str]:
    """Yield the warnings about the judge of one metric; a habit is named only if its interval excludes chance."""
    metric = findings.metric
    if side := _find_side(habits.first_shown, EVEN):
        yield (
            f"POSITION BIAS: {metric}: the judge prefers the response that stands {'first' if side > 0 else 'second'} "
            f"({_format(habits.first_shown)} of verdicts favour the first; 50% without bias). Both orders are judged, "
            "so that it makes ties, not wins; a judge without it would decide more questions"
        )
    if length := _find_side(habits.length_effect, 0.0):
        yield (
            f"LENGTH BIAS: {metric}: {'longer' if length > 0 else 'shorter'} answers win more often, beyond which "
            "method wrote them. Read the win rates at equal length beside the others"
        )
    if _find_side(habits.tie_share, HABITUAL_TIES) > 0:
        yield (
            f"TIE HABIT: {metric}: the judge calls most pairs a tie ({_format(habits.tie_share)} of verdicts); a "
            "graded scale (-2 to 2) or another judge may decide more"
        )
    if len(findings.judges) > 1:
        yield f"NOT COMPARABLE: {metric}: pairs were judged by several judges: {', '.join(findings.judges)}"
    if failed := sum(pair.failed for pair in findings.pairs):
        yield f"{metric}: {failed:,} pairs failed and are in no figure; the same command judges them again"


def _find_side(figure: Measured, middle: float) -> int:
    """Return 1 if the interval of a figure is above the middle, -1 if below, 0 if it contains it or is missing."""
    if not isinstance(figure, MeasuredValue) or figure.interval is None:
        return 0
    return int(figure.interval.low > middle) - int(figure.interval.high < middle)


def _format(figure: Measured) -> str:
    return f"{figure.value:.0%}" if isinstance(figure, MeasuredValue) else "?"
