"""The result of duels: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval._util.notebook_display import NotebookDisplay
from greval.records.record import Record
from greval.stats.correction import Correction
from greval.stats.interval import Measured

DuelVerdict = Literal["first preferred", "second preferred", "no preference seen", "too few questions to tell"]


class PreferenceTest(Record):
    """The sign test of a pair: whether wins and losses are equally likely; ties are dropped.

    `corrected` is corrected for the family, which are all pairs of all metrics. `least` is the smallest p that as many
    wins and losses can give.
    """

    p: float
    corrected: float
    least: float


class PairResult(Record):
    """The duel of two methods by one metric.

    `won`, `tied` and `lost` count questions for the first method; `failed` pairs have no verdict. `win_rate` is the
    share of questions that the first won, ties as half. `adjusted_win_rate` is that of answers of equal length.
    `flip_rate` is the share of questions on which the verdict changes if the answers are exchanged; such a question is
    a tie.
    """

    metric: str
    first: str
    second: str
    won: int
    tied: int
    lost: int
    failed: int
    win_rate: Measured
    adjusted_win_rate: Measured
    flip_rate: Measured
    test: PreferenceTest | None
    verdict: DuelVerdict


class MethodStrength(Record):
    """The strength of a method by one metric, in log odds; the strengths of all methods sum to 0.

    `rank` is None if the strengths are undefined.
    """

    method: str
    rank: int | None
    strength: Measured


class JudgeHabits(Record):
    """The habits of the judge of one metric, over all pairs.

    `first_shown` is how often the response that stands first wins, ties as half: 0.5 without position bias.
    `tie_share` is the share of calls with the verdict tie. `flip_rate` is that of all pairs. `length_effect` is the
    change of the log odds of a win if an answer is e times as long as the other; 0 without a preference for length.
    """

    flip_rate: Measured
    first_shown: Measured
    tie_share: Measured
    length_effect: Measured


class PreferenceFindings(Record):
    """What one preference metric says of all methods."""

    metric: str
    judges: tuple[str, ...]
    pairs: tuple[PairResult, ...]
    ranking: tuple[MethodStrength, ...]
    habits: JudgeHabits


class Duel(NotebookDisplay, Record):
    """The preferences of a run.

    `tests` is the number of tests in the family, and `counted` of those that can come below the level (Tarone's K),
    which is the factor of the smallest p. `one_order` is the number of judged pairs whose verdict was not given in both
    orders, as imported ones are.
    """

    folder: str
    level: float
    correction: Correction
    cluster_by: str | None
    tests: int
    counted: int = 0
    one_order: int = 0
    metrics: tuple[PreferenceFindings, ...]
    warnings: tuple[str, ...]
