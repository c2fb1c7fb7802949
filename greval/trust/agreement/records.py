"""What an agreement holds: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greval.records.record import Record
from greval.stats.correlation import Spread
from greval.stats.measured import Measured

Combine = Literal["majority", "mean", "each"]
"""What stands for the people: the majority's value, the mean of their numbers, or each of their values by itself."""


TreatAs = Literal["categories", "numbers"]
"""How the levels of a value scale are compared."""


class Class(Record):
    """One category as the classification report has it; `support` is how often people chose it."""

    name: str
    support: int
    precision: Measured
    recall: Measured
    f1: Measured


class Categorical(Record):
    """Judge and people choosing categories.

    `figures` are "accuracy", "kappa" (Cohen's; of ordered scales also "kappa linear" and "kappa
    quadratic"), "ac1" (Gwet's), "alpha" (Krippendorff's, the judge one more among all annotators), and
    "macro" and "weighted" before "precision", "recall" and "f1", as in "macro f1". `confusion` has a row
    for each category of the people, a column for each of the judge; its entries are sums of weights
    where these count.
    """

    kind: Literal["categorical"] = "categorical"
    figures: dict[str, Measured]
    classes: tuple[Class, ...]
    confusion: tuple[tuple[float, ...], ...]


class Numeric(Record):
    """Judge and people giving numbers.

    `figures` are "mae" (mean absolute error), "bias" (judge less people), "pearson", "spearman",
    "kendall" (tau-b) and "alpha" (Krippendorff's of intervals, the judge one more among all annotators).
    """

    kind: Literal["numeric"] = "numeric"
    figures: dict[str, Measured]
    people: Spread
    judge: Spread


class Pair(Record):
    """Two annotators on the `n` things that both valued."""

    annotators: tuple[str, str]
    n: int
    figures: dict[str, Measured]


class People(Record):
    """The people among themselves, the ceiling of what a judge can reach.

    `figures` are "alpha" and, of categories, "ac1", over all annotators; `pairs` the pairs with the most
    things in common, `left_out` how many others there are. `why` tells why there is nothing.
    """

    annotators: tuple[str, ...]
    figures: dict[str, Measured] = Field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    left_out: int = 0
    why: str | None = None


class Baseline(Record):
    """What costs nothing, the floor that a judge must pass; `why` tells why there is nothing."""

    name: str
    figures: dict[str, Measured] = Field(default_factory=dict)
    why: str | None = None


class Group(Record):
    """All things, or those with one value of the tags; `name` is empty for all.

    `judge` are the figures over the annotated things as they are. Where these were not drawn evenly,
    `enriched` is true, and `weighted` holds the figures that stand for all things they were drawn from.
    """

    name: str
    things: int
    questions: int
    enriched: bool
    judge: Annotated[Categorical | Numeric, Field(discriminator="kind")]
    weighted: dict[str, Measured] = Field(default_factory=dict)
    people: People
    baselines: tuple[Baseline, ...]


class Agreement(Record):
    """How far the judge of a run agrees with people on one metric.

    `judges` are the models whose verdicts were compared, `groups` begins with all things. `unread`
    are rows of the files that are no annotation, or whose value is not on the scale, with their place.
    `changed` are things that people were shown with another text than the judge: what was said of that
    text is left out.
    """

    folder: str
    metric: str
    judges: tuple[str, ...]
    annotators: tuple[str, ...]
    treat_as: TreatAs
    combine: Combine
    by: tuple[str, ...]
    level: float
    statuses: dict[str, int]
    groups: tuple[Group, ...]
    unread: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
