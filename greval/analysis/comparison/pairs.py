"""Pairs: the questions for which two sides both have a figure, and the states of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from greval.analysis.comparison.records import Bounds, LeftOut
from greval.analysis.comparison.scales import Direction
from greval.runs.score_columns import FAILED, MISSING, SCORED, SKIPPED, WITHOUT_NUMBER, Scores, Side
from greval.stats.mcnemar import mcnemar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    States = NDArray[np.uint8]

APART = 0.02
ALPHA = 0.05


@dataclass(frozen=True)
class Figures:
    """The figures of one side for the questions of a group, and the state of each question."""

    values: Floats
    states: States

    @property
    def had(self) -> Flags:
        """A mask of the questions that have a figure."""
        found: Flags = self.states == SCORED
        return found

    @property
    def left_out(self) -> LeftOut:
        """The number of questions without a figure, by reason."""
        return LeftOut(
            skipped=int((self.states == SKIPPED).sum()),
            failed=int((self.states == FAILED).sum()),
            missing=int((self.states == MISSING).sum()),
            without_number=int((self.states == WITHOUT_NUMBER).sum()),
        )

    def of(self, which: Flags) -> Figures:
        """Return the figures of the selected questions."""
        return Figures(self.values[which], self.states[which])

    def filled(self, value: float) -> Floats:
        """Return the figures, with a value for those that are missing."""
        import numpy as np

        return np.where(self.had, self.values, value)


@dataclass(frozen=True)
class Pairs:
    """A method and the baseline over the questions of a group for which either has a row."""

    method: Figures
    baseline: Figures
    clusters: NDArray[np.int64] | None
    questions: NDArray[np.int64]
    """The number of each question in the run."""

    @property
    def both(self) -> Flags:
        """A mask of the questions for which both sides have a figure."""
        return self.method.had & self.baseline.had

    @property
    def unlike(self) -> bool:
        """Return whether one side lacks figures significantly more often, or by more than 2 % of the questions.

        The pairs may then not be representative.
        """
        only_method = int((self.method.had & ~self.baseline.had).sum())
        only_baseline = int((self.baseline.had & ~self.method.had).sum())
        apart = abs(only_method - only_baseline) / max(1, len(self.both))
        return apart > APART or mcnemar(only_method, only_baseline).p < ALPHA

    def bounds(self, scale: Direction) -> Bounds | None:
        """Return the difference with missing figures set to the scale's ends; None if the scale has no ends."""
        if scale.ends is None or not len(self.both):
            return None
        low, high = scale.ends
        least = float((self.method.filled(low) - self.baseline.filled(high)).mean())
        most = float((self.method.filled(high) - self.baseline.filled(low)).mean())
        return Bounds(worst=least, best=most) if scale.better == "higher" else Bounds(worst=most, best=least)


def figures(scores: Scores, metric: str, side: Side) -> Figures:
    """Return the figures of a side for all questions on a metric."""
    import numpy as np

    column = scores.columns[metric].get(side)
    if column is None:
        return Figures(np.zeros(len(scores)), np.full(len(scores), MISSING, dtype=np.uint8))
    return Figures(column.values(len(scores)), column.states(len(scores)))


def paired(scores: Scores, method: Figures, baseline: Figures, group: int | None) -> Pairs:
    """Pair two sides over one group of questions; over all questions if no group is given."""
    import numpy as np

    known = (method.states != MISSING) | (baseline.states != MISSING)
    within = known if group is None else known & (scores.group_of() == group)
    clusters = scores.cluster_of()
    own = None if clusters is None else clusters[within]
    return Pairs(method.of(within), baseline.of(within), own, np.flatnonzero(within))
