"""The figures of a panel over one group of items, and its outlier: a judge that agrees least with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from greval.records.scale import Scale, Value
from greval.runs.run_reader import ItemKey
from greval.stats.bootstrap import BootstrapSample, ValueBasis, bootstrap_values, build_sparse, encode_names
from greval.stats.inter_rater import compute_reliability
from greval.stats.measured import Measured, MeasuredValue
from greval.trust.agreement.figures import build_ratings, compute_people_agreement
from greval.trust.annotations.adjudication import find_majority
from greval.trust.annotations.matching import AnnotatedItem
from greval.trust.panels.records import CombineJudges, JudgeFigures, PanelGroup, SideAgreement

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats

OTHER, THIS = "the other side", "this side"
"""The names of two sides, in the order in which they are compared."""
MIN_JUDGES = 3
NO_OUTLIER = "no judge agrees with the others clearly less than the rest do"
TIED = "no verdict to compare with: all are tied"


class PanelSettings(NamedTuple):
    """The settings for the figures; `people` has the people's value for each item on which they are not tied."""

    scale: Scale
    combine: CombineJudges
    level: float
    people: Mapping[ItemKey, Value]


def combine_verdicts(values: Sequence[Value], how: CombineJudges | str) -> Value | None:
    """Combine several verdicts into one; None if several values have the most votes.

    Example:
        >>> combine_verdicts(["Yes", "Yes", "No"], "majority"), combine_verdicts(["Yes", "No"], "majority")
        ('Yes', None)
        >>> combine_verdicts([1, 2, 5], "median")
        2
    """
    if how == "majority":
        return find_majority(values)
    numbers = [float(value) for value in values]
    found = median(numbers) if how == "median" else fmean(numbers)
    return int(found) if found.is_integer() and all(isinstance(value, int) for value in values) else found


def build_group(name: str, things: Sequence[AnnotatedItem], settings: PanelSettings) -> PanelGroup:
    """Compute the figures of a group."""
    verdicts = {thing.key: combine_verdicts([*thing.values.values()], settings.combine) for thing in things}
    names = [*things[0].values]
    return PanelGroup(
        name=name,
        things=len(things),
        questions=len({thing.sample_id for thing in things}),
        ties=sum(verdict is None for verdict in verdicts.values()),
        unanimous=compute_unanimity(things, level=settings.level),
        among=compute_people_agreement(things, settings.scale, level=settings.level),
        seats=tuple(_build_judge_figures(judge, things, settings, verdicts) for judge in names),
        people=_compare_with_people(things, verdicts, settings, verdicts) if settings.people else None,
    )


def compute_unanimity(things: Sequence[AnnotatedItem], *, level: float) -> Measured:
    """Compute the share of items on which all judges give the same verdict."""
    import numpy as np

    n = len(things)
    same = np.array([float(len({*thing.values.values()}) == 1) for thing in things])
    rows = build_sparse(
        (np.repeat(np.arange(n), 2), np.tile([0, 1], n)), np.stack([same, np.ones(n)], axis=1).ravel(), (n, 2)
    )

    def compute_share(sums: Floats) -> dict[str, Floats]:
        return {"unanimous": sums[:, 0] / sums[:, 1]}

    sample = BootstrapSample(rows, np.arange(n), encode_names([thing.sample_id for thing in things]))
    basis = ValueBasis(n=n, why="nothing was judged", share=True)
    values = {"unanimous": float(same.mean())}
    return bootstrap_values(sample, compute_share, lambda _: basis, values=values, level=level)["unanimous"]


def _build_judge_figures(
    judge: str, things: Sequence[AnnotatedItem], settings: PanelSettings, verdicts: Mapping[ItemKey, Value | None]
) -> JudgeFigures:
    """Compare one judge with the others and with people."""
    own = {thing.key: thing.values[judge] for thing in things}
    rest = [[value for name, value in thing.values.items() if name != judge] for thing in things]
    others = {thing.key: combine_verdicts(values, settings.combine) for thing, values in zip(things, rest, strict=True)}
    alpha = None
    if len(rest[0]) > 1:
        alpha = compute_reliability(build_ratings(rest, things, settings.scale), level=settings.level)["alpha"]
    return JudgeFigures(
        name=judge,
        others=_compare_sides(things, others, own, settings),
        people=_compare_with_people(things, own, settings, verdicts) if settings.people else None,
        alpha_without=alpha,
    )


def _compare_with_people(
    things: Sequence[AnnotatedItem],
    own: Mapping[ItemKey, Value | None],
    settings: PanelSettings,
    verdicts: Mapping[ItemKey, Value | None],
) -> SideAgreement:
    """Compare a side with people on the items that have a verdict of the panel.

    All sides are thus compared on the same items.
    """
    known = [thing for thing in things if thing.key in settings.people]
    if not known:
        return SideAgreement(n=0, why="people gave no verdict on these items")
    return _compare_sides(
        known,
        {key: None if verdicts[key] is None else value for key, value in settings.people.items() if key in verdicts},
        own,
        settings,
    )


def _compare_sides(
    things: Sequence[AnnotatedItem],
    other: Mapping[ItemKey, Value | None],
    own: Mapping[ItemKey, Value | None],
    settings: PanelSettings,
) -> SideAgreement:
    """Compare one side with another by the figures of two annotators."""
    both = [
        thing.model_copy(update={"values": {OTHER: other[key], THIS: own[key]}})
        for thing in things
        if other[key := thing.key] is not None and own[key] is not None
    ]
    if not both:
        return SideAgreement(n=0, ties=len(things), why=TIED)
    pair = compute_people_agreement(both, settings.scale, level=settings.level).pairs[0]
    return SideAgreement(n=pair.n, figures=pair.figures, ties=len(things) - len(both))


def find_outlier(judges: Sequence[JudgeFigures]) -> tuple[str | None, str | None]:
    """Return the outlier, or the reason why none is named.

    The judge with the lowest kappa with the others (for numbers: the largest mean absolute error) is named if its
    interval excludes the figures of all others. The interval by question is used if there is one.
    """
    if len(judges) < MIN_JUDGES:
        return None, "an outlier needs at least three judges"
    known = {seat.name: figure for seat in judges if (figure := _measure_distance(seat))}
    if len(known) < len(judges):
        return None, "the figures of a judge with the others are undefined"
    farthest = max(known, key=lambda name: known[name][0])
    nearest_end = known[farthest][1]
    rest = [figure[0] for name, figure in known.items() if name != farthest]
    if nearest_end is None or nearest_end <= max(rest):
        return None, NO_OUTLIER
    return farthest, None


def _measure_distance(seat: JudgeFigures) -> tuple[float, float | None] | None:
    """Return the distance of a judge from the others, and the nearest end of its interval."""
    name, sign = ("kappa", -1) if "kappa" in seat.others.figures else ("mae", 1)
    figure = seat.others.figures.get(name)
    if not isinstance(figure, MeasuredValue):
        return None
    ends = figure.clustered or figure.interval
    return sign * figure.value, min(sign * ends.low, sign * ends.high) if ends else None
