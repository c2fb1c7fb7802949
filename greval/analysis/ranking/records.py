"""The measures of ranked runs: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval.analysis.comparison.records import Comparison
from greval.records.record import Record
from greval.stats.interval import Interval, Measured, build_measured

Conventions = Literal["greval", "trec_eval"]
"""The conventions of the measures.

`greval` counts a judged question without a ranking as 0, and skips one without a relevant document. `trec_eval` leaves
out the first and counts the second as 0.
"""


class RunMean(Record):
    """A measure of a run: its mean over the `n` questions that have a value, and its interval.

    The other judged questions are left out: in greval's conventions they have no relevant document, in those of
    trec_eval no ranking. `interval` is missing if the measure is no mean of values of single questions, as a count is.
    """

    measure: str
    n: int
    mean: float | None
    interval: Interval | None = None

    @property
    def mean_value(self) -> Measured:
        """The mean with its interval, or the reason why it is missing."""
        return build_measured(self.mean, self.n, "no question has a value", interval=self.interval)


class QuestionValues(Record):
    """The measures of one question; None if a measure is not defined, or the question is left out."""

    question: str
    values: dict[str, float | None]


class MeasuredRun(Record):
    """The measures of one run.

    Args:
        name: The name of its file, or its path if several files have that name.
        path: The path of its file.
        ranked: The number of questions that have a ranking and judgements.
        missing: The judged questions without a ranking.
        unjudged: The ranked questions without judgements, which are left out.
        irrelevant: The judged questions without a relevant document.
        remarks: Remarks about ids that did not meet; the report has them among its warnings.
        means: The measures, in the order that they were requested in.
        questions: The measures of each judged question, if they were requested.
    """

    name: str
    path: str
    ranked: int
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]
    irrelevant: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    means: tuple[RunMean, ...]
    questions: tuple[QuestionValues, ...] = ()


class UnreadRun(Record):
    """A file that could not be read as a run, and why."""

    path: str
    message: str


class RankingReport(Record):
    """The measures of several runs, and the comparison of the others with the baseline.

    `not_compared` are measures that cannot be compared by question: counts, geometric means and shares of unjudged
    documents. `comparison` is None without a baseline.
    """

    qrels: str
    judged: int
    measures: tuple[str, ...]
    conventions: Conventions
    level: float
    baseline: str | None
    runs: tuple[MeasuredRun, ...]
    unread: tuple[UnreadRun, ...] = ()
    not_compared: tuple[str, ...] = ()
    comparison: Comparison | None = None
    warnings: tuple[str, ...] = ()
