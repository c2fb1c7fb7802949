"""The figures of a comparison that gate conditions can name."""

from __future__ import annotations

from collections.abc import Collection

from greval.analysis.comparison.records import Comparison, Contrast
from greval.analysis.gate.figures import FigureName, GateFigure, GatePlace
from greval.stats.measured import MeasuredValue

ALL = "group"
"""The name of the tag of groups of a comparison that is not grouped by any tag."""


class ComparisonFigures:
    """The means of the methods of a comparison, and their contrasts with the baseline.

    Conditions are checked for the methods that are compared with the baseline; for all methods if it has none.
    """

    names: tuple[FigureName, ...] = ("mean", "n")
    remedy = "name one with --baseline or --against"

    def __init__(self, comparison: Comparison) -> None:
        self._tag = " · ".join(comparison.by) or ALL
        self._levels = {(self._place(one.metric, one.group), one.method): one for one in comparison.levels}
        self._contrasts = {(self._place(one.metric, one.group), one.method): one for one in comparison.contrasts}
        self.has_baseline = comparison.baseline is not None or comparison.against is not None
        compared = comparison.methods if self.has_baseline else (one.method for one in comparison.levels)
        self.methods = tuple(dict.fromkeys(compared))
        self.places = tuple(dict.fromkeys(place for place, _ in self._levels))

    def _place(self, metric: str, group: str) -> GatePlace:
        return GatePlace(metric, self._tag, group) if group else GatePlace(metric)

    def read(self, places: Collection[GatePlace]) -> None:
        """Do nothing: a comparison holds all its figures."""

    def list_methods(self, place: GatePlace) -> tuple[str, ...]:  # noqa: ARG002 - the same methods for each place
        """List the methods that are compared."""
        return self.methods

    def get_figure(self, place: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return the mean or the number of questions of a method."""
        level = self._levels[place, method]
        if name == "n":
            return GateFigure(MeasuredValue(value=level.n, n=level.n))
        return GateFigure(level.mean_value, f"n = {level.n}")

    def get_contrast(self, place: GatePlace, method: str) -> Contrast:
        """Return the contrast of a method with its baseline."""
        return self._contrasts[place, method]

    def get_incomplete(self, place: GatePlace) -> str:  # noqa: ARG002 - warnings of the comparison name what is missing
        """Return an empty text: warnings of the comparison name the questions that have no figure."""
        return ""

    def format_method(self, method: str) -> str:
        """Return the name of a method and a colon."""
        return f"{method}: "
