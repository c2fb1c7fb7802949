"""What a comparison gives: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval.records.record import Record
from greval.records.scale import Better
from greval.stats.correction import Correction
from greval.stats.interval import Interval

TestName = Literal["mcnemar exact", "mcnemar chi-square", "paired permutation", "cluster permutation"]
Verdict = Literal[
    "better",
    "worse",
    "changed",
    "equal on every question",
    "too few questions to tell",
    "no difference seen",
    "nothing to compare",
]
"""What a comparison says, the same for every renderer.

`changed` is of a computed metric in a run against an earlier one, if the test sees no difference:
such figures have no noise, what changed has changed.
"""


class LeftOut(Record):
    """The questions of one side that have no figure, by why: `missing` means that there is no row at all.

    `without_number` are judged, but with categories that have no score.
    """

    skipped: int = 0
    failed: int = 0
    missing: int = 0
    without_number: int = 0

    @property
    def total(self) -> int:
        """How many they are together."""
        return self.skipped + self.failed + self.missing + self.without_number


class Test(Record):
    """The test of a difference. `p` is as it is, `corrected` after the correction for the whole family.

    `least` is the smallest p that the test could have given with as many questions that differ, or
    less; `tests` is what p was multiplied by; `capable` says whether `least` would have come below the level.

    `mid_p` is McNemar's less conservative form, `wilcoxon_p` that of the signed-rank test; both stand
    beside the test that counts, and neither is corrected.
    """

    __test__ = False  # pytest takes classes of this name for its own

    name: TestName
    p: float
    corrected: float
    least: float = 0.0
    tests: int = 1
    capable: bool = True
    mid_p: float | None = None
    wilcoxon_p: float | None = None


class Effect(Record):
    """How large a difference is beside what the questions differ; positive where the method's figures are higher.

    Of 0/1 figures `cohens_g` and `odds_ratio`, of others `cohens_dz` and `rank_biserial`; None where undefined.
    """

    cohens_g: float | None = None
    odds_ratio: float | None = None
    cohens_dz: float | None = None
    rank_biserial: float | None = None


class Bounds(Record):
    """The difference over all questions if every missing figure were the worst, or the best, for the method."""

    worst: float
    best: float


class Contrast(Record):
    """One metric, one group of questions, one method against the baseline, over the `n` questions that both have.

    `group` is empty for all questions. `difference` is the method's mean less the baseline's, in the
    metric's unit; `won` counts the questions on which the method is better, which is lower where
    `better` says so. `interval` is the expanded percentile bootstrap interval of the difference ("t"
    with few questions or clusters, "bounded" where all differences are equal), `percentile` the plain
    one, `bca` the bias-corrected and accelerated one. `detectable` is the smallest difference that
    would probably have been seen, None where none would or where nothing is known of the spread.
    `judged_alike` is false where the two sides were judged by different definitions or judges.
    `computed` says that the metric needs no judge. `won_questions` and `lost_questions` are the ids of
    the questions that the method won and lost, the largest difference first.
    """

    metric: str
    group: str
    method: str
    baseline: str
    better: Better
    questions: int
    n: int
    clusters: int | None = None
    method_mean: float | None = None
    baseline_mean: float | None = None
    difference: float | None = None
    won: int = 0
    tied: int = 0
    lost: int = 0
    interval: Interval | None = None
    percentile: Interval | None = None
    bca: Interval | None = None
    test: Test | None = None
    effect: Effect = Effect()
    detectable: float | None = None
    method_left_out: LeftOut = LeftOut()
    baseline_left_out: LeftOut = LeftOut()
    bounds: Bounds | None = None
    judged_alike: bool = True
    computed: bool = False
    won_questions: tuple[str, ...] = ()
    lost_questions: tuple[str, ...] = ()
    verdict: Verdict = "nothing to compare"


class Level(Record):
    """The mean of one method over all questions of a group that have a figure; None where none has."""

    metric: str
    group: str
    method: str
    n: int
    mean: float | None


class Family(Record):
    """The tests that are corrected together, and the level `alpha` below which they keep all false alarms.

    `counted` is what the smallest p is multiplied by: the tests that can come below the level (Tarone's K).
    """

    tests: int
    counted: int
    told: str
    correction: Correction
    alpha: float


class Check(Record):
    """One condition of a gate: whether it is met, and so the gate fails, with the figures."""

    condition: str
    met: bool
    told: tuple[str, ...]


class Comparison(Record):
    """Methods of a run against one of them, against each other, or against an earlier run.

    `baseline` is None where all pairs of methods are compared. `without_numbers` are the metrics that
    cannot be compared as their values do not read as numbers.
    """

    folder: str
    against: str | None
    baseline: str | None
    methods: tuple[str, ...]
    by: tuple[str, ...]
    cluster_by: str | None
    level: float
    family: Family
    contrasts: tuple[Contrast, ...]
    levels: tuple[Level, ...]
    without_numbers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    gate: tuple[Check, ...] = ()

    def name_first(self, most: int) -> Comparison:
        """Return the comparison with so many won and lost questions of each contrast named at most."""
        cut = {"won_questions": slice(most), "lost_questions": slice(most)}
        named = (
            one.model_copy(update={name: getattr(one, name)[part] for name, part in cut.items()})
            for one in self.contrasts
        )
        return self.model_copy(update={"contrasts": tuple(named)})
