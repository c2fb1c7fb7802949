"""The figures of a panel over one group of items, and its outlier: a judge that agrees least with the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from greval.records.scale import CategoricalScale, Scale
from greval.stats.bootstrap import BootstrapSample, ValueBasis, bootstrap_values, build_sparse
from greval.stats.inter_rater import compute_alphas_without, compute_reliability
from greval.stats.measured import Measured, MeasuredValue
from greval.trust.agreement.figures import RatingColumns, build_ratings, compare_sides, compute_rater_agreement
from greval.trust.panels.columns import PanelColumns, combine_columns
from greval.trust.panels.records import CombineJudges, JudgeFigures, PanelGroup, SideAgreement

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats

MIN_JUDGES = 3
NO_OUTLIER = "no judge agrees with the others clearly less than the rest do"
TIED = "no verdict to compare with: all are tied"


class PanelSettings(NamedTuple):
    """The settings for the figures; `with_people` is whether the sides are compared with people too."""

    scale: Scale
    combine: CombineJudges
    level: float
    with_people: bool


def build_group(name: str, columns: PanelColumns, settings: PanelSettings) -> PanelGroup:
    """Compute the figures of a group."""
    import numpy as np

    panel = combine_columns(columns.verdicts, settings.combine, columns.size)
    return PanelGroup(
        name=name,
        things=len(panel),
        questions=len(np.unique(columns.questions)),
        ties=int(np.isnan(panel).sum()),
        unanimous=compute_unanimity(columns, level=settings.level),
        among=compute_rater_agreement(_list_ratings(columns), settings.scale, level=settings.level),
        seats=tuple(
            _build_judge_figures(place, columns, settings, panel).model_copy(update={"alpha_without": alpha})
            for place, alpha in enumerate(_compute_alphas_without_judges(columns, settings))
        ),
        people=_compare_with_people(columns, panel, settings, panel),
    )


def compute_unanimity(columns: PanelColumns, *, level: float) -> Measured:
    """Compute the share of items on which all judges give the same verdict."""
    import numpy as np

    n = len(columns.verdicts)
    same = (columns.verdicts == columns.verdicts[:, :1]).all(axis=1).astype(float)
    rows = build_sparse(
        (np.repeat(np.arange(n), 2), np.tile([0, 1], n)), np.stack([same, np.ones(n)], axis=1).ravel(), (n, 2)
    )

    def compute_share(sums: Floats) -> dict[str, Floats]:
        return {"unanimous": sums[:, 0] / sums[:, 1]}

    sample = BootstrapSample(rows, np.arange(n), columns.questions)
    basis = ValueBasis(n=n, why="nothing was judged", share=True)
    values = {"unanimous": float(same.mean())}
    return bootstrap_values(sample, compute_share, lambda _: basis, values=values, level=level)["unanimous"]


def _list_ratings(columns: PanelColumns) -> RatingColumns:
    """Return the verdicts one after the other, those of each item in the order of the judges' names."""
    import numpy as np

    items, judges = columns.verdicts.shape
    order = sorted(range(judges), key=columns.judges.__getitem__)
    return RatingColumns(
        raters=tuple(columns.judges[place] for place in order),
        items=np.repeat(np.arange(items), judges),
        who=np.tile(np.arange(judges), items),
        numbers=columns.verdicts[:, order].ravel(),
        questions=columns.questions,
    )


def _compute_alphas_without_judges(columns: PanelColumns, settings: PanelSettings) -> Sequence[Measured | None]:
    """Compute the alpha of the other judges without each judge in turn; None for two judges.

    For numbers all judges share the draws of the resamples. For categories each has resamples of its own, as few
    distinct items occur, so that their draws are cheap.
    """
    import numpy as np

    names = columns.judges
    if len(names) < MIN_JUDGES:
        return [None] * len(names)
    if not isinstance(settings.scale, CategoricalScale):
        order = sorted(range(len(names)), key=names.__getitem__)
        alphas = compute_alphas_without(columns.verdicts[:, order], columns.questions, level=settings.level)
        return [alphas[order.index(place)] for place in range(len(names))]
    rest = (
        columns._replace(judges=names[:place] + names[place + 1 :], verdicts=np.delete(columns.verdicts, place, axis=1))
        for place in range(len(names))
    )
    ratings = (build_ratings(_list_ratings(part), settings.scale) for part in rest)
    return [compute_reliability(one, level=settings.level)["alpha"] for one in ratings]


def _build_judge_figures(place: int, columns: PanelColumns, settings: PanelSettings, panel: Floats) -> JudgeFigures:
    """Compare one judge with the others and with people."""
    import numpy as np

    own, rest = columns.verdicts[:, place], np.delete(columns.verdicts, place, axis=1)
    return JudgeFigures(
        name=columns.judges[place],
        others=_compare_sides(columns, combine_columns(rest, settings.combine, columns.size), own, settings),
        people=_compare_with_people(columns, own, settings, panel),
    )


def _compare_with_people(
    columns: PanelColumns, own: Floats, settings: PanelSettings, panel: Floats
) -> SideAgreement | None:
    """Compare a side with people on the items that have a verdict of the panel; None if people gave no values.

    All sides are thus compared on the same items.
    """
    import numpy as np

    if not settings.with_people:
        return None
    known = np.flatnonzero(~np.isnan(columns.people))
    if not len(known):
        return SideAgreement(n=0, why="people gave no verdict on these items")
    other = np.where(np.isnan(panel), np.nan, columns.people)[known]
    return _compare_sides(columns.select(known), other, own[known], settings)


def _compare_sides(columns: PanelColumns, other: Floats, own: Floats, settings: PanelSettings) -> SideAgreement:
    """Compare one side with another by the figures of two annotators; NaN stands for no verdict."""
    import numpy as np

    both = np.flatnonzero(~np.isnan(other) & ~np.isnan(own))
    if not len(both):
        return SideAgreement(n=0, ties=len(own), why=TIED)
    sides = other[both], own[both]
    figures = compare_sides(sides, both, columns.questions[both], settings.scale, level=settings.level)
    return SideAgreement(n=len(both), figures=figures, ties=len(own) - len(both))


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
