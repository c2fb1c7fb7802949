"""The result of a comparison: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from greval._util.notebook_display import NotebookDisplay
from greval.analysis.summary import GateCheck
from greval.records.record import Record
from greval.records.scale import Better
from greval.stats.correction import Correction
from greval.stats.interval import Interval, Measured, build_measured

TestName = Literal["mcnemar exact", "mcnemar chi-square", "paired permutation", "cluster permutation"]
ContrastVerdict = Literal[
    "better",
    "worse",
    "changed",
    "equal on every question",
    "too few questions to tell",
    "no difference seen",
    "nothing to compare",
]
"""The verdict of a comparison, the same for every renderer.

`changed` applies to a computed metric in a run against an earlier one, if the test shows no difference:
such figures have no noise, so that any difference is a change.
"""


class LeftOutCounts(Record):
    """The number of questions of one side without a figure, by reason; `missing` questions have no row at all.

    `without_number` questions are judged, but with categories that have no score.
    """

    skipped: int = 0
    failed: int = 0
    missing: int = 0
    without_number: int = 0

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return sum(count for _, count in self)


class DifferenceTest(Record):
    """The test of a difference. `p` is uncorrected, and `corrected` is corrected for the whole family.

    `least` is the smallest p that the test could have given with as many differing questions, or a lower bound of it.
    `tests` is the factor by which p was multiplied, and `capable` is whether `least` would have come below the level.

    `mid_p` is McNemar's less conservative p, and `wilcoxon_p` that of the signed-rank test. Both are given in
    addition to the test that counts, and are not corrected.
    """

    # Else pytest collects it as a test class, by its name where it is imported.
    __test__ = False

    name: TestName
    p: float
    corrected: float
    least: float = 0.0
    tests: int = 1
    capable: bool = True
    mid_p: float | None = None
    wilcoxon_p: float | None = None


class EffectSizes(Record):
    """The size of a difference relative to its spread; positive if the method's figures are higher.

    `cohens_g` and `odds_ratio` are for 0/1 figures, `cohens_dz` and `rank_biserial` for others; None if undefined.
    """

    cohens_g: float | None = None
    odds_ratio: float | None = None
    cohens_dz: float | None = None
    rank_biserial: float | None = None


class DifferenceBounds(Record):
    """The difference over all questions if every missing figure were the worst, or the best, for the method."""

    worst: float
    best: float


class Contrast(Record):
    """A method compared with a baseline on one metric and group, over the `n` questions for which both have a figure.

    `group` is empty for all questions. `difference` is the method's mean minus the baseline's, in the metric's unit.
    `won` counts the questions on which the method is better, in the direction of `better`. `interval` is the expanded
    percentile bootstrap interval of the difference ("t" with few questions or clusters, "bounded" if all differences
    are equal), `percentile` the plain percentile interval, and `bca` the bias-corrected and accelerated one.
    `relative_difference` is the difference divided by the baseline's mean, with Fieller's interval. It is None if that
    mean is 0 or the scale does not begin at 0, as its ratios mean nothing then.
    `detectable` is the smallest difference that would probably be detected, None if none would be or the spread is
    not known. `judged_alike` is false if the two sides were judged by different definitions or judges. `computed` is
    true if the metric needs no judge. `won_questions` and `lost_questions` are the ids of the questions that the
    method won and lost, largest difference first.
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
    relative_difference: float | None = None
    relative_interval: Interval | None = None
    test: DifferenceTest | None = None
    effect: EffectSizes = EffectSizes()
    detectable: float | None = None
    method_left_out: LeftOutCounts = LeftOutCounts()
    baseline_left_out: LeftOutCounts = LeftOutCounts()
    bounds: DifferenceBounds | None = None
    judged_alike: bool = True
    computed: bool = False
    won_questions: tuple[str, ...] = ()
    lost_questions: tuple[str, ...] = ()
    verdict: ContrastVerdict = "nothing to compare"

    @property
    def difference_value(self) -> Measured:
        """The difference with its interval, or the reason why it is missing."""
        return build_measured(self.difference, self.n, "no question has both figures", interval=self.interval)


class MethodMean(Record):
    """The mean of one method over all questions of a group that have a figure; None if no question has one.

    `plain_mean` is given if the numbers are weighted by the probabilities of the values: the mean of what the values
    themselves read as. Else it is None.
    """

    metric: str
    group: str
    method: str
    n: int
    mean: float | None
    plain_mean: float | None = None

    @property
    def mean_value(self) -> Measured:
        """The mean, or the reason why it is missing."""
        return build_measured(self.mean, self.n, "no question has a figure")


class CorrectionFamily(Record):
    """The tests that are corrected together, and the family-wise error rate `alpha`.

    `counted` is the factor of the smallest p: the number of tests that can come below the level (Tarone's K).
    """

    tests: int
    counted: int
    told: str
    correction: Correction
    alpha: float


class DifferenceAxis(Record):
    """The axis on which the differences of all metrics of a unit are drawn, from minus `end` to `end`."""

    unit: str
    metrics: tuple[str, ...]
    end: float


class Comparison(NotebookDisplay, Record):
    """Methods of a run compared with one of them, with each other, or with an earlier run.

    `baseline` is None if all pairs of methods are compared. `without_numbers` are the metrics that cannot be compared
    because their values do not read as numbers.
    """

    folder: str
    against: str | None
    baseline: str | None
    methods: tuple[str, ...]
    by: tuple[str, ...]
    cluster_by: str | None
    level: float
    family: CorrectionFamily
    contrasts: tuple[Contrast, ...]
    levels: tuple[MethodMean, ...]
    axes: tuple[DifferenceAxis, ...] = ()
    without_numbers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    gate: tuple[GateCheck, ...] = ()

    def name_first(self, most: int) -> Comparison:
        """Return the comparison with at most `most` won and `most` lost questions named for each contrast."""
        names = ("won_questions", "lost_questions")
        cut = (
            contrast.model_copy(update={name: getattr(contrast, name)[:most] for name in names})
            for contrast in self.contrasts
        )
        return self.model_copy(update={"contrasts": tuple(cut)})
