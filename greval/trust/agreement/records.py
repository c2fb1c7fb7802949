"""The result of an agreement analysis: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greval._util.notebook_display import NotebookDisplay
from greval.records.record import Record
from greval.stats.interval import Distance, Measured, NumberSpread

CombineAnnotators = Literal["majority", "mean", "each"]
"""How the values of several people become one: majority, mean, or each value counted separately."""


TreatAs = Literal["categories", "unordered", "numbers"]
"""Whether values are compared as categories, as categories without an order, or as numbers."""


class ClassFigures(Record):
    """One category of the classification report; `support` is the number of times people chose it."""

    name: str
    support: int
    precision: Measured
    recall: Measured
    f1: Measured


class CategoricalAgreement(Record):
    """Figures of judge and people on a categorical scale.

    `figures` are "accuracy", "kappa" (Cohen's; for ordered scales also "kappa linear" and "kappa quadratic"), "ac1"
    (Gwet's), "alpha" (Krippendorff's, with the judge as one more annotator), and "precision", "recall" and "f1" with
    the prefix "macro" or "weighted", as in "macro f1". "kappa" is unweighted. `distance` is that of "alpha": ordinal
    for ordered scales with more than two categories, which have "alpha nominal" too, and nominal for others.
    `confusion` has a row for each category of the people and a column for each category of the judge. Its entries are
    sums of weights if items are weighted.
    """

    kind: Literal["categorical"] = "categorical"
    figures: dict[str, Measured]
    distance: Distance = "nominal"
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[float, ...], ...]


class NumericAgreement(Record):
    """Figures of judge and people on a numeric scale.

    `figures` are "mae" (mean absolute error), "bias" (judge minus people), "pearson", "spearman", "kendall" (tau-b)
    and "alpha" (Krippendorff's, with the judge as one more annotator), whose `distance` is interval.
    """

    kind: Literal["numeric"] = "numeric"
    figures: dict[str, Measured]
    distance: Distance = "interval"
    people: NumberSpread
    judge: NumberSpread


class AnnotatorPair(Record):
    """Two annotators on the `n` items that both annotated."""

    annotators: tuple[str, str]
    n: int
    figures: dict[str, Measured]


class PeopleAgreement(Record):
    """Agreement among people: the ceiling of what a judge can reach.

    `figures` are "alpha" and, for categories, "ac1", over all annotators. `distance` is that of "alpha", None without
    figures; if it is ordinal, "alpha nominal" ignores the order. `pairs` are the pairs of annotators with the most
    items in common, and `left_out` is the number of other pairs. `why` is the reason if there are no figures.
    """

    annotators: tuple[str, ...]
    figures: dict[str, Measured] = Field(default_factory=dict)
    distance: Distance | None = None
    pairs: tuple[AnnotatorPair, ...] = ()
    left_out: int = 0
    why: str | None = None


class Baseline(Record):
    """A floor that a judge must exceed: a constant value, or a rule of one line. `why` is the reason without figures.

    `lead` is how much more the judge agrees with people than the rule does, on the items that the rule decides: the
    difference of their kappas, with an interval that resamples both together; for numbers that of the mean absolute
    errors or of Spearman's correlations. `rule` is the rule with its threshold. `metric` is the computed metric that it
    reads, or for items the one that decides by it. `formula` decides by the `number` of this metric. Both are empty if
    nothing computes the rule.
    """

    name: str
    figures: dict[str, Measured] = Field(default_factory=dict)
    lead: Measured | None = None
    rule: str = ""
    metric: str = ""
    formula: str = ""
    why: str | None = None


class AgreementGroup(Record):
    """The figures of all items, or of those with one value of the tags; `name` is empty for all items.

    `judge` are the unweighted figures over the annotated items. If these were sampled with unequal probabilities,
    `enriched` is true and `weighted` are the figures that estimate those of all items they were sampled from.
    """

    name: str
    things: int
    questions: int
    enriched: bool
    judge: Annotated[CategoricalAgreement | NumericAgreement, Field(discriminator="kind")]
    weighted: dict[str, Measured] = Field(default_factory=dict)
    people: PeopleAgreement
    baselines: tuple[Baseline, ...]


BaselineVerdict = Literal["better", "not better", "not shown", "not known"]
"""How the judge stands against a baseline: intervals apart, apart on the wrong side, overlapping, or missing."""
PeopleVerdict = Literal["as good", "worse", "not shown", "not known"]
"""Whether the judge agrees with people as they agree with each other."""
JudgeUse = Literal["single cases", "means", "nothing yet", "nothing"]
"""What the judge can be relied on for."""


class AgreementVerdict(Record):
    """What an agreement says about the use of its judge, by the rules of docs/agreement.md.

    `use` is what the judge can be relied on for, and `why` the reason if the rules do not apply. `baselines` has the
    verdict on each baseline, `best_floor` is the name of the baseline that decides, and `people` is the verdict on
    people. `difference` is how much more the judge agrees with people than
    people do with each other. `same` is the share of items with people's value, within a tenth of the scale. `mean_of`
    is the number of items from which a mean is exact to a tenth of the scale, without the bias. `bias` is the mean
    error as a share of the scale's width.
    """

    use: JudgeUse
    why: str | None = None
    baselines: dict[str, BaselineVerdict] = Field(default_factory=dict)
    best_floor: str | None = None
    people: PeopleVerdict = "not known"
    difference: Measured | None = None
    same: Measured | None = None
    mean_of: int | None = None
    bias: Measured | None = None


class Agreement(NotebookDisplay, Record):
    """How far the judge of a run agrees with people on one metric.

    `judges` are the models whose verdicts were compared, and the first of `groups` is all items. `verdict` says what
    the judge can be used for. `unread` are rows of
    the files that are not annotations, or whose value is not on the scale, with their place. `changed` are items of
    which people were shown another text than the judge; their annotations are left out. `label_columns` names the
    columns that were read as labels, with their files, and `notes` say what people should know of how these were read.
    """

    folder: str
    metric: str
    judges: tuple[str, ...]
    annotators: tuple[str, ...]
    treat_as: TreatAs
    combine: CombineAnnotators
    by: tuple[str, ...]
    level: float
    statuses: dict[str, int]
    groups: tuple[AgreementGroup, ...]
    verdict: AgreementVerdict
    unread: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    label_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
