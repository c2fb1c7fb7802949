"""The result of a panel of judges: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from greval.records.record import Record
from greval.stats.interval import Measured
from greval.trust.agreement.records import Baseline, BaselineVerdict, PeopleAgreement, TreatAs

CombineJudges = Literal["majority", "median", "mean"]
"""How the verdicts of several judges become one: the majority, or the median or mean of their numbers."""


class SideAgreement(Record):
    """One side compared with another on the `n` items on which both have a verdict.

    `figures` are for categories "accuracy", "kappa" (for ordered scales also "kappa linear" and "kappa quadratic") and
    "ac1", for numbers "mae", "bias" (this side minus the other), "pearson", "spearman" and "kendall". `ties` is the
    number of items on which the other side, or the panel, has no verdict. `why` is the reason if there are no figures.
    """

    n: int
    figures: dict[str, Measured] = Field(default_factory=dict)
    ties: int = 0
    why: str | None = None


class JudgeFigures(Record):
    """The figures of one judge, compared with the combined verdict of the others, and with people if known.

    `alpha_without` is the alpha of the other judges among themselves: if it is above the alpha of all, this judge
    lowers it. It is None for two judges. On a scale of numbers the same items are drawn for all judges, so that
    the intervals of their `alpha_without` can be compared with each other.
    """

    name: str
    others: SideAgreement
    people: SideAgreement | None = None
    alpha_without: Measured | None = None


class PanelGroup(Record):
    """The figures of all items, or of those with one value of the tags; `name` is empty for all items.

    `among` is the agreement among the judges, `unanimous` the share of items on which all give the same verdict,
    `ties` the number of items without a verdict of the panel, and `people` the panel compared with people. If people
    gave values, `baselines` are what the panel has to beat, `standings` the verdict on each, and `best_floor` is the
    name of the one that decides.
    """

    name: str
    things: int
    questions: int
    ties: int
    unanimous: Measured
    among: PeopleAgreement
    judges: tuple[JudgeFigures, ...]
    people: SideAgreement | None = None
    baselines: tuple[Baseline, ...] = ()
    standings: dict[str, BaselineVerdict] = Field(default_factory=dict)
    best_floor: str | None = None


class PanelRun(Record):
    """One run of a panel: its judges, and the numbers of its verdicts.

    `missing` counts the items that another run judged and this one did not, because it `failed` or never tried.
    """

    name: str
    folder: str
    judges: tuple[str, ...]
    verdicts: int
    failed: int
    skipped: int
    missing: int


class Panel(Record):
    """Several judges on the same cases and metric.

    The first of `groups` is all items. `outlier` is the judge that agrees with the others significantly less than
    they do. `why_none` is the reason if none is named.
    """

    metric: str
    runs: tuple[PanelRun, ...]
    annotators: tuple[str, ...] = ()
    treat_as: TreatAs
    combine: CombineJudges
    by: tuple[str, ...]
    level: float
    groups: tuple[PanelGroup, ...]
    outlier: str | None = None
    why_none: str | None = None
    warnings: tuple[str, ...] = ()
