"""The history of the metrics of a method as data: a point for each run, and the changes that were found."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from greval._util.notebook_display import NotebookDisplay
from greval.analysis.summary import GateCheck
from greval.records.record import Record
from greval.records.scale import Better
from greval.stats.interval import Interval, Measured, build_measured

HistoryMark = Literal["definition", "judge", "data"]
"""What changed before a run, so that its figures cannot be compared with those of the runs before it."""


class HistoryRun(Record):
    """A run of a history: its folder and label, when it began, and the commit of the code that it was made with.

    `commit` is None if it is not known.
    """

    folder: str
    label: str
    began: datetime
    commit: str | None = None


class HistoryPoint(Record):
    """The figure of a metric in one run: the mean over its `n` questions with its interval.

    `earlier_mean` is the mean of the comparable runs before it since the last change for the better, `own_mean` that of
    this run, and `difference` what it has more, with its interval: over the `shared` questions if they are `paired`;
    None without such a run. `marks` say what changed, so that a comparison with the runs before is not made.
    """

    run: int
    n: int
    mean: float
    interval: Interval | None = None
    earlier_mean: float | None = None
    own_mean: float | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    shared: int = 0
    paired: bool = False
    marks: tuple[HistoryMark, ...] = ()

    @property
    def difference_value(self) -> Measured:
        """The difference from the runs before with its interval, or the reason why it is undefined."""
        why = f"its {' and '.join(self.marks)} changed" if self.marks else "no run before it has shared questions"
        return build_measured(self.difference, self.shared, why, interval=self.difference_interval)


class HistoryChange(Record):
    """A change of a metric: `run` is the first run after it, and `found` the one after which it was found.

    `before` and `after` are the means of the runs since the change before, and of those from this one on to `found`.
    """

    run: int
    found: int
    verdict: Literal["better", "worse"]
    before: float
    after: float
    difference: float
    interval: Interval
    n: int
    paired: bool


class MetricHistory(Record):
    """A metric of one method over the runs that have a figure of it, oldest first."""

    metric: str
    method: str
    better: Better
    points: tuple[HistoryPoint, ...]
    changes: tuple[HistoryChange, ...] = ()


class RunHistory(NotebookDisplay, Record):
    """The metrics of several runs in the order of time; `run` of points and changes is a position in `runs`.

    `alpha` is the probability that a metric which never changed has a change in its whole history.
    """

    runs: tuple[HistoryRun, ...]
    metrics: tuple[MetricHistory, ...]
    alpha: float
    level: float
    warnings: tuple[str, ...] = ()
    gate: tuple[GateCheck, ...] = ()
