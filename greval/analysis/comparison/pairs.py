"""Pairs: the questions for which two sides both have a figure, and the states of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from greval.analysis.comparison.records import DifferenceBounds, LeftOutCounts
from greval.records.scale import ScaleDirection
from greval.runs.score_columns import FAILED, MISSING, SCORED, SKIPPED, WITHOUT_NUMBER, ComparisonSide, ScoreColumns
from greval.stats.bootstrap import Flags, Floats, Integers
from greval.stats.paired import mcnemar

States = NDArray[np.uint8]

MAX_GAP = 0.02
ALPHA = 0.05


@dataclass(frozen=True)
class SideFigures:
    """The figures of one side for the questions of a group, and the state of each question."""

    values: Floats
    states: States

    @property
    def has_figure(self) -> Flags:
        """A mask of the questions that have a figure."""
        return np.equal(self.states, SCORED)

    @property
    def left_out(self) -> LeftOutCounts:
        """The number of questions without a figure, by reason."""
        names = {"skipped": SKIPPED, "failed": FAILED, "missing": MISSING, "without_number": WITHOUT_NUMBER}
        return LeftOutCounts(**{name: int((self.states == state).sum()) for name, state in names.items()})

    def select(self, which: Flags) -> SideFigures:
        """Return the figures of the selected questions."""
        return SideFigures(self.values[which], self.states[which])

    def fill_missing(self, value: float) -> Floats:
        """Return the figures, with a value for those that are missing."""
        return np.where(self.has_figure, self.values, value)


@dataclass(frozen=True)
class QuestionPairs:
    """A method and the baseline over the questions of a group for which either has a row."""

    method: SideFigures
    baseline: SideFigures
    clusters: Integers | None
    questions: Integers
    """The number of each question in the run."""

    @property
    def has_both(self) -> Flags:
        """A mask of the questions for which both sides have a figure."""
        return self.method.has_figure & self.baseline.has_figure

    @property
    def is_unbalanced(self) -> bool:
        """Return whether one side lacks figures significantly more often, or by more than 2 % of the questions.

        The pairs may then not be representative.
        """
        only_method = int((self.method.has_figure & ~self.baseline.has_figure).sum())
        only_baseline = int((self.baseline.has_figure & ~self.method.has_figure).sum())
        # If one side fails on the hard questions, the pairs that are left are the easy ones.
        apart = abs(only_method - only_baseline) / max(1, len(self.has_both))
        return apart > MAX_GAP or mcnemar(only_method, only_baseline).p < ALPHA

    def compute_bounds(self, scale: ScaleDirection) -> DifferenceBounds | None:
        """Return the difference with missing figures set to the scale's ends; None if the scale has no ends."""
        if scale.ends is None or not len(self.has_both):
            return None
        low, high = scale.ends
        least = float((self.method.fill_missing(low) - self.baseline.fill_missing(high)).mean())
        most = float((self.method.fill_missing(high) - self.baseline.fill_missing(low)).mean())
        worst, best = (least, most) if scale.better == "higher" else (most, least)
        return DifferenceBounds(worst=worst, best=best)


def build_figures(scores: ScoreColumns, metric: str, side: ComparisonSide) -> SideFigures:
    """Return the figures of a side for all questions on a metric."""
    column = scores.columns[metric].get(side)
    if column is None:
        return SideFigures(np.zeros(len(scores)), np.full(len(scores), MISSING, dtype=np.uint8))
    return SideFigures(column.get_values(len(scores)), column.get_states(len(scores)))


def pair_sides(scores: ScoreColumns, method: SideFigures, baseline: SideFigures, group: int | None) -> QuestionPairs:
    """Pair two sides over one group of questions; over all questions if no group is given."""
    # Questions that neither method was asked are not of this contrast.
    has_row = (method.states != MISSING) | (baseline.states != MISSING)
    within = has_row if group is None else has_row & (scores.get_groups() == group)
    clusters = scores.get_clusters()
    cluster_codes = None if clusters is None else clusters[within]
    return QuestionPairs(method.select(within), baseline.select(within), cluster_codes, np.flatnonzero(within))
