"""What aligning a metric gives: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval.records.record import Record
from greval.records.result import Usage
from greval.stats.interval import Interval

Way = Literal["examples", "rewrite"]
"""How a definition is changed: with judged cases shown first, or with other steps and texts of the scale."""

FigureName = Literal["kappa", "kappa linear", "mae"]


class Gain(Record):
    """How far judge and people agree before and after, on the same things.

    `figure` is "kappa" (Cohen's), "kappa linear" (of ordered scales with more than two categories) or
    "mae" (mean absolute error, of numbers). `gain` is positive where the judge became better, whichever
    way the figure runs; it is None where the figure is undefined. The intervals draw whole questions.
    `p` is that of the sign-flip test over questions. `ranks` are Spearman's correlations before and
    after, of numbers only. `changed` counts the things whose value is another one after.
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
    p: float = 1.0
    ranks: tuple[float | None, float | None] | None = None
    changed: int = 0


class Attempt(Record):
    """One changed definition, learned on all folds but one (`fold` from 1) or on all labels (`fold` 0).

    `learned` counts the labelled things that it was made from. `things` others of the same folds decided
    whether it was chosen: `before` and `after` are the figures there, and so flatter what was chosen.
    `definition` is the text of its metric file; `dropped` tells why there is none.
    """

    fold: int
    way: Way
    learned: int = 0
    things: int = 0
    before: float | None = None
    after: float | None = None
    failed: int = 0
    chosen: bool = False
    definition: str = ""
    dropped: str | None = None


class Alignment(Record):
    """What came of aligning a metric with people.

    `gain` is that of the whole procedure, on folds that it learned nothing from. `accepted` tells that
    the gain is beyond noise at `level`; then `written` is the text of the new metric file, `path` where it
    stands and `diff` how it differs. `why` says in one sentence what came of it.

    `labels` are the labelled things that counted, of `questions` questions that share nothing. `failed`
    counts those that were left out of `gain` as one of the two definitions gave no verdict. `usage` and
    `cost` (US dollars, None without a price) are what this call spent; `kept` judgements were there before.
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
    ways: tuple[Way, ...]
    attempts: tuple[Attempt, ...]
    gain: Gain
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


class Foreseen(Record):
    """What aligning would ask at most, counted before anything is asked; what is kept is not taken off.

    `labels` and `questions` as in `Alignment`. `judged` are whole cases: `before` of them by the metric as
    it is (0 where the run's own verdicts serve), `learned` by changed definitions. `calls` are the judge's
    for all of these, `written` those of the writer. `input_tokens` are counted with the metric as it is:
    examples make prompts longer.
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
