"""The figures of a panel over one group of items, and its outlier: a judge that agrees least with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from greval.records.scale import CategoricalScale, Scale, Value
from greval.runs.run_reader import ItemKey
from greval.stats.bootstrap import BootstrapSample, ValueBasis, bootstrap_values, build_sparse
from greval.stats.inter_rater import compute_alphas_without, compute_reliability
from greval.stats.interval import Measured, MeasuredValue
from greval.trust.agreement.baselines import compute_baselines
from greval.trust.agreement.figures import (
    RatingColumns,
    build_ratings,
    collect_ratings,
    compare_sides,
    compute_rater_agreement,
)
from greval.trust.agreement.records import Baseline
from greval.trust.agreement.rules import Rule
from greval.trust.agreement.value_pairs import ValuePair, index_categories
from greval.trust.agreement.verdict import rank_baselines
from greval.trust.annotations.matching import AnnotatedItem
from greval.trust.panels.records import CombineJudges, JudgeFigures, PanelGroup, SideAgreement

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

MIN_JUDGES = 3
NO_OUTLIER = "no judge agrees with the others clearly less than the rest do"
TIED = "no verdict to compare with: all are tied"


class PanelSettings(NamedTuple):
    """The settings for the figures.

    `judges` are in the order in which they are listed, and `people` has the people's combined value of each item on
    which they are not tied; it is empty if they gave no values. `rules` are what the panel has to beat.
    """

    judges: Sequence[str]
    scale: Scale
    combine: CombineJudges
    level: float
    people: Mapping[ItemKey, Value]
    rules: Sequence[Rule] = ()


class _GroupVerdicts(NamedTuple):
    """The verdicts on a group of items, a row for each item and a column for each judge, in the order of the judges.

    A category is given by its index on the scale. `panel` has the combined verdicts and `people` the values of people;
    a missing value is NaN.
    """

    verdicts: Floats
    panel: Floats
    people: Floats
    questions: Integers


def build_group(name: str, things: Sequence[AnnotatedItem], settings: PanelSettings) -> PanelGroup:
    """Compute the figures of a group of items, each of which all judges annotated."""
    import numpy as np

    ratings = collect_ratings(things, settings.scale)
    order = [ratings.raters.index(judge) for judge in settings.judges]
    verdicts = ratings.numbers.reshape(len(things), len(order))[:, order]
    panel = combine_verdicts(verdicts, settings.combine, settings.scale)
    index = index_categories(settings.scale)
    values = (settings.people.get(thing.key) for thing in things)
    people = [np.nan if value is None else float(index[value] if index else value) for value in values]
    group = _GroupVerdicts(verdicts, panel, np.array(people), ratings.questions)
    with_people = _compare_with_people(panel, group, settings)
    baselines = _compute_baselines(things, settings) if not name and with_people and with_people.figures else ()
    standings, best_floor = rank_baselines(with_people.figures if with_people else {}, baselines)
    return PanelGroup(
        name=name,
        things=len(things),
        questions=len(np.unique(ratings.questions)),
        ties=int(np.isnan(panel).sum()),
        unanimous=compute_unanimity(verdicts, ratings.questions, level=settings.level),
        among=compute_rater_agreement(ratings, settings.scale, level=settings.level),
        judges=tuple(
            _build_judge_figures(number, group, settings, alpha)
            for number, alpha in enumerate(_compute_alphas_without_judges(ratings, order, settings))
        ),
        people=with_people,
        baselines=baselines,
        standings=standings,
        best_floor=best_floor,
    )


def _compute_baselines(things: Sequence[AnnotatedItem], settings: PanelSettings) -> tuple[Baseline, ...]:
    """Compute the baselines of a panel on the items on which neither it nor people are tied."""
    verdicts = combine_items(things, settings.combine, settings.scale)
    pairs = [
        ValuePair(thing, number, settings.people[thing.key], verdict)
        for number, (thing, verdict) in enumerate(zip(things, verdicts, strict=True))
        if verdict is not None and thing.key in settings.people
    ]
    return compute_baselines(pairs, settings.scale, settings.rules, level=settings.level)


def combine_verdicts(verdicts: Floats, how: CombineJudges, scale: Scale) -> Floats:
    """Combine the verdicts in each row, one for each judge, into one number; NaN for a tie of categories."""
    import numpy as np

    if how != "majority":
        middle = np.median(verdicts, axis=1) if how == "median" else [fmean(row) for row in verdicts.tolist()]
        return np.asarray(middle, dtype=float)
    size = len(index_categories(scale))
    cells = verdicts.astype(np.int64) + size * np.arange(len(verdicts))[:, None]
    votes = np.bincount(cells.ravel(), minlength=size * len(verdicts)).reshape(-1, size)
    most = votes.max(axis=1, keepdims=True)
    return np.where((votes == most).sum(axis=1) == 1, votes.argmax(axis=1).astype(float), np.nan)


def combine_items(things: Sequence[AnnotatedItem], how: CombineJudges, scale: Scale) -> list[Value | None]:
    """Return the combined verdict on each item, None for a tie."""
    numbers = collect_ratings(things, scale).numbers.reshape(len(things), -1)
    categories = [*index_categories(scale)]
    return [
        None if isnan(number) else categories[int(number)] if categories else number
        for number in combine_verdicts(numbers, how, scale).tolist()
    ]


def compute_unanimity(verdicts: Floats, questions: Integers, *, level: float) -> Measured:
    """Compute the share of items on which all judges give the same verdict."""
    import numpy as np

    n = len(verdicts)
    same = (verdicts == verdicts[:, :1]).all(axis=1).astype(float)
    rows = build_sparse(
        (np.repeat(np.arange(n), 2), np.tile([0, 1], n)), np.stack([same, np.ones(n)], axis=1).ravel(), (n, 2)
    )

    def compute_share(sums: Floats) -> dict[str, Floats]:
        return {"unanimous": sums[:, 0] / sums[:, 1]}

    sample = BootstrapSample(rows, np.arange(n), questions)
    basis = ValueBasis(n=n, why="nothing was judged", share=True)
    values = {"unanimous": float(same.mean())}
    return bootstrap_values(sample, compute_share, lambda _: basis, values=values, level=level)["unanimous"]


def _compute_alphas_without_judges(
    ratings: RatingColumns, order: Sequence[int], settings: PanelSettings
) -> Sequence[Measured | None]:
    """Compute the alpha of the other judges without each judge in turn; None for two judges."""
    if len(order) < MIN_JUDGES:
        return [None] * len(order)
    if not isinstance(settings.scale, CategoricalScale):
        table = ratings.numbers.reshape(-1, len(order))
        # All judges share the draws of the resamples, so that their intervals can be compared.
        alphas = compute_alphas_without(table, ratings.questions, level=settings.level)
        return [alphas[rater] for rater in order]
    # Few distinct items occur with categories, so draws for each judge are cheap.
    remaining = (build_ratings(_leave_out(ratings, rater), settings.scale) for rater in order)
    return [compute_reliability(raters, level=settings.level)["alpha"] for raters in remaining]


def _leave_out(ratings: RatingColumns, rater: int) -> RatingColumns:
    """Return the ratings of all raters but one."""
    stays = ratings.who != rater
    who = ratings.who[stays]
    return ratings._replace(
        raters=ratings.raters[:rater] + ratings.raters[rater + 1 :],
        items=ratings.items[stays],
        who=who - (who > rater),
        numbers=ratings.numbers[stays],
    )


def _build_judge_figures(
    number: int, group: _GroupVerdicts, settings: PanelSettings, alpha_without: Measured | None
) -> JudgeFigures:
    """Compare one judge with the others and with people."""
    import numpy as np

    verdicts, remaining = group.verdicts[:, number], np.delete(group.verdicts, number, axis=1)
    combined = combine_verdicts(remaining, settings.combine, settings.scale)
    return JudgeFigures(
        name=settings.judges[number],
        others=_compare_sides(combined, verdicts, group.questions, settings),
        people=_compare_with_people(verdicts, group, settings),
        alpha_without=alpha_without,
    )


def _compare_with_people(verdicts: Floats, group: _GroupVerdicts, settings: PanelSettings) -> SideAgreement | None:
    """Compare verdicts with people on the items that have a verdict of the panel; None if people gave no values."""
    import numpy as np

    if not settings.people:
        return None
    labelled = np.flatnonzero(~np.isnan(group.people))
    if not len(labelled):
        return SideAgreement(n=0, why="people gave no verdict on these items")
    # Items on which the panel is tied are left out for all, so that all are compared on the same ones.
    people = np.where(np.isnan(group.panel), np.nan, group.people)[labelled]
    return _compare_sides(people, verdicts[labelled], group.questions[labelled], settings)


def _compare_sides(truth: Floats, verdicts: Floats, questions: Integers, settings: PanelSettings) -> SideAgreement:
    """Compare verdicts with another side by the figures of two annotators; NaN stands for no verdict."""
    import numpy as np

    both = np.flatnonzero(~np.isnan(truth) & ~np.isnan(verdicts))
    ties = len(verdicts) - len(both)
    if not len(both):
        return SideAgreement(n=0, ties=ties, why=TIED)
    sides = truth[both], verdicts[both]
    figures = compare_sides(sides, both, questions[both], settings.scale, level=settings.level)
    return SideAgreement(n=len(both), figures=figures, ties=ties)


def find_outlier(judges: Sequence[JudgeFigures]) -> tuple[str | None, str | None]:
    """Return the outlier, or the reason why none is named.

    The judge with the lowest kappa with the others (for numbers: the largest mean absolute error) is named if its
    interval excludes the figures of all others. The interval by question is used if there is one.
    """
    if len(judges) < MIN_JUDGES:
        return None, "an outlier needs at least three judges"
    distances = {judge.name: distance for judge in judges if (distance := _measure_distance(judge))}
    if len(distances) < len(judges):
        return None, "the figures of a judge with the others are undefined"
    farthest = max(distances, key=lambda name: distances[name][0])
    nearest_end = distances[farthest][1]
    other_distances = [distance[0] for name, distance in distances.items() if name != farthest]
    if nearest_end is None or nearest_end <= max(other_distances):
        return None, NO_OUTLIER
    return farthest, None


def _measure_distance(judge: JudgeFigures) -> tuple[float, float | None] | None:
    """Return the distance of a judge from the others, and the nearest end of its interval."""
    name, sign = ("kappa", -1) if "kappa" in judge.others.figures else ("mae", 1)
    figure = judge.others.figures.get(name)
    if not isinstance(figure, MeasuredValue):
        return None
    ends = figure.clustered or figure.interval
    return sign * figure.value, min(sign * ends.low, sign * ends.high) if ends else None
