"""What an estimate gives: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval.records.record import Record
from greval.records.scale import Better
from greval.stats.interval import Interval

DrawnBy = Literal["items", "questions"]
"""What was drawn for annotation in one go: single judged things, or whole questions with all of theirs."""


class Figure(Record):
    """A mean, share or difference with its interval, or the `reason` why there is none.

    `labels_to_halve` is how many labels, drawn in the same way, would give an interval of half the
    length; None where labels have no part in it. `cut` tells that the value or an end of the interval
    lay outside the scale and was set to its end.
    """

    value: float | None = None
    interval: Interval | None = None
    labels_to_halve: int | None = None
    cut: bool = False
    reason: str | None = None


class EstimateRow(Record):
    """One mean, share or difference, over the `judged` things of which `labels` were labelled.

    `group` is empty for all questions. With a `baseline` it is the difference, the method's less the
    baseline's, over the questions that both have. `category` is the category whose share it is, None
    where values read as numbers. `judge` is what the judge says, its errors and all. `plain` is the mean of
    the labels as if they were a random sample, None where they are one (it is then `labels`), and
    refused where they are not. `power` is how much of the judge's figures is in `prediction_powered`,
    from 0 (nothing) to about 1. `sensitivity` and `specificity` are the judge's, of 0/1 values only.
    """

    group: str
    method: str
    baseline: str | None = None
    category: str | None = None
    judged: int
    labels: int
    judge: Figure
    labels_only: Figure
    plain: Figure | None = None
    prediction_powered: Figure
    power: float | None = None
    rogan_gladen: Figure
    sensitivity: float | None = None
    specificity: float | None = None


class NotUsed(Record):
    """The annotations of the metric that are no label of a judged thing, by why.

    `unfinished` were not submitted, or without a value; `another_text` are of another text than the
    judge was shown; `off_scale` are not on the metric's scale;
    `not_judged` are of things that the run has no judgement of; `tied` are things on which as many
    people say one thing as another.
    """

    unfinished: int = 0
    another_text: int = 0
    off_scale: int = 0
    not_judged: int = 0
    tied: int = 0


class Estimate(Record):
    """What people would say of all judged things of a metric, estimated from those that they labelled.

    `enriched` tells that things were drawn with different probabilities: the labels then count with
    their weights, and figures that would leave these out are refused. `new_questions` tells that the
    intervals are for new questions like these, not for the judged things of the run only. `refused`
    is why labels give no figure at all, where how they were drawn cannot be as it is said. `unread`
    are the rows of files that are no annotations.
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
    not_used: NotUsed
    refused: str | None = None
    rows: tuple[EstimateRow, ...]
    unread: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
