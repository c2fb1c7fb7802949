"""The result of an estimate: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval._util.notebook_display import NotebookDisplay
from greval.records.record import Record
from greval.records.scale import Better
from greval.stats.interval import Interval

DrawnBy = Literal["items", "questions"]
"""The sampling unit of annotation: single judged items, or whole questions with all of their items."""


class EstimateFigure(Record):
    """A mean, share or difference with its interval, or the `reason` why it is undefined.

    `labels_to_halve` is the number of labels, sampled in the same way, that would give an interval of half the
    length; None if labels do not affect it. `cut` is true if the value or an end of the interval was outside the
    scale and was set to its end.
    """

    value: float | None = None
    interval: Interval | None = None
    labels_to_halve: int | None = None
    cut: bool = False
    reason: str | None = None


class EstimateRow(Record):
    """One mean, share or difference over the `judged` items, of which `labels` were labelled.

    `group` is empty for all questions. With a `baseline` the row is the difference, the method's figure minus the
    baseline's, over the questions that both have. `category` is the category whose share it is, None if values read
    as numbers. `judge` is the judge's own figure, with its errors. `plain` is the unweighted mean of the labels: None
    if they are a random sample (`labels_only` is then the same), and refused if they are not. `power` is the weight
    of the judge's figures in `prediction_powered`, from 0 (none) to about 1. `sensitivity` and `specificity` are the
    judge's, for 0/1 values only.
    """

    group: str
    method: str
    baseline: str | None = None
    category: str | None = None
    judged: int
    labels: int
    judge: EstimateFigure
    labels_only: EstimateFigure
    plain: EstimateFigure | None = None
    prediction_powered: EstimateFigure
    power: float | None = None
    with_rule: EstimateFigure | None = None
    rogan_gladen: EstimateFigure
    sensitivity: float | None = None
    specificity: float | None = None


class UnusedAnnotations(Record):
    """The annotations of the metric that are not labels of a judged item, by reason.

    `unfinished` were not submitted or have no value. `another_text` were made for another text than the judge was
    shown. `off_scale` are not on the metric's scale. `not_judged` are of items without a judgement in the run. `tied`
    are items on which several values have the most votes.
    """

    unfinished: int = 0
    another_text: int = 0
    off_scale: int = 0
    not_judged: int = 0
    tied: int = 0


class Estimate(NotebookDisplay, Record):
    """What people would say of all judged items of a metric, estimated from those that they labelled.

    `enriched` is true if items were sampled with different probabilities: labels then count with their weights, and
    figures that ignore the weights are refused. `new_questions` is true if the intervals are for new questions like
    these rather than for the judged items of the run. `refused` is the reason why labels give no figure at all, if
    they are not consistent with the stated sampling design. `unread` are the rows of files that are not annotations,
    and `notes` say what people should know of how the files were read. `rule` is the name of the rule of one line that
    was used beside the judge.
    """

    folder: str
    metric: str
    better: Better
    level: float
    by: tuple[str, ...]
    baseline: str | None
    drawn_by: DrawnBy
    new_questions: bool
    enriched: bool
    judged: int
    labels: int
    not_used: UnusedAnnotations
    refused: str | None = None
    rule: str | None = None
    rows: tuple[EstimateRow, ...]
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
