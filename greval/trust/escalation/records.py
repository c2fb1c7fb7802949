"""The result of an escalation: frozen values that every renderer reads."""

from __future__ import annotations

from greval.judging.model.budget import RunSpending
from greval.records.record import Record
from greval.stats.interval import Measured


class EscalationSide(Record):
    """The cases of which one judge gave the verdict: their number, the labels of people on them, and the agreement.

    `agreement` is the share of labels with which the verdict agrees. That of the first judge is measured on the labels
    by which the threshold was chosen.
    """

    judge: str
    cases: int
    labels: int
    agreement: Measured


class EscalatedMetric(Record):
    """What two judges did for one metric.

    `threshold` is the least certainty with which a verdict of the first judge stands, None if no threshold passed; then
    the second judge gave all verdicts. `questions` is the number of labelled questions by which it was chosen, of which
    `sure` are at least as certain, with `agreeing` verdicts; without a threshold those of the highest one that was
    tested. `labels_needed` is the estimated number with which a threshold would pass, None if one did or none can.
    `alone` is what the second judge would spend on all cases, by the mean of those that it judged, None if there are
    none. `plan` is the fingerprint of the plan of the run that these figures are of.
    """

    metric: str
    plan: str
    threshold: float | None
    questions: int
    sure: int
    agreeing: int
    labels_needed: int | None = None
    first: EscalationSide
    second: EscalationSide
    whole: EscalationSide
    first_spending: RunSpending
    second_spending: RunSpending
    alone: RunSpending | None = None
    warnings: tuple[str, ...] = ()

    @property
    def saved(self) -> float | None:
        """The US dollars that were saved, negative if the second judge alone were cheaper; None if not known."""
        alone = self.alone.cost if self.alone else None
        first, second = self.first_spending.cost, self.second_spending.cost
        return None if alone is None or first is None or second is None else alone - first - second


class Escalation(Record):
    """An evaluation with two judges, whose first one agrees with people at least as often as `agree` if it decides.

    This holds with a probability of at least 1 - `error` for each metric, if the labels are a random sample.
    """

    agree: float
    error: float
    metrics: tuple[EscalatedMetric, ...]
