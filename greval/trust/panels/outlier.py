"""The outlier of a panel: a judge that agrees with the others significantly less than they do."""

from __future__ import annotations

from collections.abc import Sequence

from greval.stats.measured import MeasuredValue
from greval.trust.panels.records import JudgeFigures

MIN_JUDGES = 3
NO_OUTLIER = "no judge agrees with the others clearly less than the rest do"


def find_outlier(judges: Sequence[JudgeFigures]) -> tuple[str | None, str | None]:
    """Return the outlier, or the reason why none is named.

    The judge with the lowest kappa with the others (for numbers: the largest mean absolute error) is named if its
    interval excludes the figures of all others. The interval by question is used if there is one.

    Args:
        judges: The figures of each judge over all items.
    """
    if len(judges) < MIN_JUDGES:
        return None, "of two judges neither can be told to be the one apart"
    figures = {seat.name: _measure_distance(seat) for seat in judges}
    known = {name: figure for name, figure in figures.items() if figure}
    if len(known) < len(judges):
        return None, "the figures of a judge with the others are undefined"
    farthest = max(known, key=lambda name: known[name][0])
    nearest_end = known[farthest][1]
    rest = [figure[0] for name, figure in known.items() if name != farthest]
    if nearest_end is None or nearest_end <= max(rest):
        return None, NO_OUTLIER
    return farthest, None


def _measure_distance(seat: JudgeFigures) -> tuple[float, float | None] | None:
    """Return the distance of a judge from the others, and the nearest end of its interval."""
    name, sign = ("kappa", -1) if "kappa" in seat.others.figures else ("mae", 1)
    figure = seat.others.figures.get(name)
    if not isinstance(figure, MeasuredValue):
        return None
    ends = figure.clustered or figure.interval
    return sign * figure.value, min(sign * ends.low, sign * ends.high) if ends else None
