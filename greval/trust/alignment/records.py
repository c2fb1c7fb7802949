"""Results of an alignment: frozen records that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval.records.record import Record
from greval.records.result import Usage
from greval.stats.interval import Interval

AlignStrategy = Literal["examples", "rewrite"]
"""How a definition is changed: by few-shot examples, or by rewriting its steps and the texts of its scale."""

FigureName = Literal["kappa", "kappa linear", "mae"]


class AgreementGain(Record):
    """Agreement of judge and people before and after, on the same items.

    `figure` is "kappa" (Cohen's), "kappa linear" (ordered scales with more than two categories) or "mae" (mean absolute
    error of numbers). `gain` is positive if the judge became better, whichever way the figure runs, and None if the
    figure is undefined. The intervals come from a bootstrap over questions. `p` is the p-value of the sign-flip test
    over questions; it is None if there are no items. `ranks` are Spearman's correlations before and after, for numbers
    only. `things` counts the items, and `changed` those whose value changed.
    """

    figure: FigureName
    things: int
    questions: int
    before: float | None = None
    after: float | None = None
    gain: float | None = None
    before_interval: Interval | None = None
    after_interval: Interval | None = None
    interval: Interval | None = None
    p: float | None = None
    ranks: tuple[float | None, float | None] | None = None
    changed: int = 0

    @property
    def why_undefined(self) -> str | None:
        """The reason why `gain` is undefined, or None if it is known."""
        if self.gain is not None:
            return None
        if not self.things:
            return f"{self.figure} is undefined: no labelled item has a verdict of both definitions"
        return f"{self.figure} is undefined: one side always gives the same value"


class AlignAttempt(Record):
    """One changed definition, learned on all folds but one (`fold` from 1) or on all labels (`fold` 0).

    `learned` counts the labelled items that it was made from. Another `things` items of the same folds decided whether
    it was chosen. `before` and `after` are the figures on those, so they are biased in favour of the chosen definition.
    `definition` is the text of its metric file. `dropped` is the reason if no definition was made.
    """

    fold: int
    way: AlignStrategy
    learned: int = 0
    things: int = 0
    before: float | None = None
    after: float | None = None
    failed: int = 0
    chosen: bool = False
    definition: str = ""
    dropped: str | None = None


class Alignment(Record):
    """The result of aligning a metric with people.

    `gain` is the cross-validated gain of the whole procedure, on folds that it did not learn from. `accepted`
    is true if the gain is beyond noise at `level`. Then `written` is the text of the new metric file, `path`
    its location and `diff` its difference from the original. `why` is the outcome in one sentence.

    `labels` counts the labelled items used, and `questions` the questions they belong to, which share no
    content. `failed` counts the items left out of `gain` because one of the two definitions gave no verdict.
    `usage` and `cost` (US dollars, None without a price) are those of this call. `kept` counts the judgements
    that were reused from earlier calls.
    """

    folder: str
    metric: str
    judge: str
    writer: str
    annotators: tuple[str, ...]
    labels: int
    questions: int
    folds: int
    level: float
    seed: int
    ways: tuple[AlignStrategy, ...]
    attempts: tuple[AlignAttempt, ...]
    gain: AgreementGain
    failed: int = 0
    accepted: bool
    why: str
    path: str | None = None
    written: str | None = None
    diff: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    kept: int = 0
    warnings: tuple[str, ...] = ()


class AlignmentForecast(Record):
    """The maximum number of calls of an alignment, counted before any is made. Cached judgements are not subtracted.

    `labels` and `questions` are as in `Alignment`. `before` counts the cases judged by the unchanged metric (0
    if the verdicts of the run are reused), and `learned` those judged by changed definitions. `calls` counts
    the judge's calls for all of these, `written` the calls of the writer. `input_tokens` of the judge are
    estimated with the unchanged metric, although few-shot examples make prompts longer. `cost` is that of both
    models, None if the price of one is unknown.
    """

    metric: str
    judge: str
    labels: int
    questions: int
    before: int
    learned: int
    calls: int
    written: int
    input_tokens: int
    cost: float | None = None
