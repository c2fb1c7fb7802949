"""What gate conditions are checked against: the figures of a run or of a comparison, by metric, group and method."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple, Protocol

from greval.analysis.comparison.records import Contrast
from greval.stats.measured import Measured

FigureName = Literal["mean", "low", "high", "n", "failed", "passed"]


class GatePlace(NamedTuple):
    """A metric over all questions, or over those with one value of a tag."""

    metric: str
    tag: str = ""
    value: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The ways to write the place in a condition."""
        if not self.tag:
            return (self.metric,)
        return f"{self.metric}@{self.value}", f"{self.metric}@{self.tag}={self.value}"


class GateFigure(NamedTuple):
    """A figure, and what is printed beside it; an undefined figure has its reason and what to do."""

    measured: Measured
    note: str = ""


class GateFigures(Protocol):
    """The figures that conditions can name.

    `methods` are the methods that a condition can name, `places` the metrics and groups, `names` the figures of each.
    `has_baseline` is true if a limit can be relative to a baseline, otherwise `remedy` is what to do.
    """

    @property
    def methods(self) -> Collection[str]:
        """The methods that a condition can name."""
        ...

    @property
    def places(self) -> Collection[GatePlace]:
        """The metrics and groups that a condition can name."""
        ...

    @property
    def names(self) -> Collection[FigureName]:
        """The figures of a place."""
        ...

    @property
    def has_baseline(self) -> bool:
        """True if a limit can be relative to a baseline."""
        ...

    @property
    def remedy(self) -> str:
        """The advice if there is no baseline."""
        ...

    def read(self, places: Collection[GatePlace]) -> None:
        """Read the figures of these places."""
        ...

    def list_methods(self, place: GatePlace) -> tuple[str, ...]:
        """List the methods that a condition without a method is checked for."""
        ...

    def get_figure(self, place: GatePlace, method: str, name: FigureName) -> GateFigure:
        """Return a figure of a method."""
        ...

    def get_contrast(self, place: GatePlace, method: str) -> Contrast:
        """Return the contrast of a method with its baseline."""
        ...

    def get_incomplete(self, place: GatePlace) -> str:
        """Return why the figures of a place are not complete, and what to do; empty if they are."""
        ...

    def format_method(self, method: str) -> str:
        """Return the beginning of the line on a method."""
        ...
