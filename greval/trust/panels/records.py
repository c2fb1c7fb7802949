"""What a panel of judges holds: frozen values that every renderer reads."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from greval.records.record import Record
from greval.stats.measured import Measured
from greval.trust.agreement.records import People, TreatAs

CombineJudges = Literal["majority", "median", "mean"]
"""What the verdict of several judges is: what most of them say, or the middle or mean of their numbers."""


class Against(Record):
    """One side held against another on the `n` things on which both have a verdict.

    `figures` are of categories "accuracy", "kappa" (of ordered scales also "kappa linear" and "kappa
    quadratic") and "ac1", of numbers "mae", "bias" (this side less the other), "pearson", "spearman"
    and "kendall". `ties` are the things on which the other side, or the panel, has no verdict. `why`
    tells why there is nothing.
    """

    n: int
    figures: dict[str, Measured] = Field(default_factory=dict)
    ties: int = 0
    why: str | None = None


class Seat(Record):
    """One judge: held against the verdict of all others, and against people where these are known.

    `alpha_without` is the alpha of the other judges among themselves: where it is above that of all,
    this judge lowers it. None of two judges.
    """

    name: str
    others: Against
    people: Against | None = None
    alpha_without: Measured | None = None


class Jury(Record):
    """All things, or those with one value of the tags; `name` is empty for all.

    `among` are the judges among themselves, `unanimous` the share of things on which all say the same,
    `ties` how many things have no verdict of the panel, `people` the panel held against people.
    """

    name: str
    things: int
    questions: int
    ties: int
    unanimous: Measured
    among: People
    seats: tuple[Seat, ...]
    people: Against | None = None


class Bench(Record):
    """One run: who judged, and how many things it has a verdict on.

    `missing` are those that another run has and this one has not, as it `failed` or was never asked.
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

    `groups` begins with all things. `outlier` is the judge that agrees with the others clearly less than
    each of them does; `why_none` tells why none is named.
    """

    metric: str
    benches: tuple[Bench, ...]
    annotators: tuple[str, ...] = ()
    treat_as: TreatAs
    combine: CombineJudges
    by: tuple[str, ...]
    level: float
    groups: tuple[Jury, ...]
    outlier: str | None = None
    why_none: str | None = None
    warnings: tuple[str, ...] = ()
