"""The figures of judge and people over one group of items."""

from __future__ import annotations

from collections.abc import Sequence

from greval.records.scale import CategoricalScale, Scale, Value
from greval.stats.confusion import PARTS, confusion
from greval.stats.confusion import compared as compared_choices
from greval.stats.correlation import compared as compared_numbers
from greval.stats.correlation import spreads
from greval.stats.inter_rater import Distance, Ratings, reliability
from greval.stats.measured import Measured, codes
from greval.trust.agreement.records import Categorical, Class, Numeric
from greval.trust.agreement.value_pairs import Side, choices, numbers, places
from greval.trust.annotations.matching import Thing

WITH_WEIGHTS = ("people mean", "judge mean", "bias", "mae", "pearson")


def judged(found: Sequence[Side], things: Sequence[Thing], scale: Scale, *, level: float) -> Categorical | Numeric:
    """Compute the unweighted figures of judge and people.

    Args:
        found: The pairs of values that are compared.
        things: The same items with the values of all annotators, for alpha.
        scale: The metric's scale.
        level: The confidence level of the intervals.

    Raises:
        MissingExtraError: If scikit-learn is not installed.
    """
    both = [[*thing.values.values(), thing.judgement.value] for thing in things]
    alpha = ratings(both, things, scale)
    if isinstance(scale, CategoricalScale):
        columns = choices(found, scale)
        figures = compared_choices(columns, level=level)
        truth = columns.truth.tolist()
        classes = tuple(
            Class(
                name=name,
                support=truth.count(place),
                **{part: figures.pop(f"{part} {place}") for part in PARTS},
            )
            for place, name in enumerate(scale.names)
        )
        figures["alpha"] = reliability(alpha, level=level)["alpha"]
        table = tuple(tuple(float(count) for count in row) for row in confusion(columns))
        return Categorical(figures=figures, classes=classes, confusion=table)
    pairs = numbers(found)
    figures = compared_numbers(pairs, level=level)
    people, judge = spreads(pairs, figures)
    return Numeric(figures={**figures, **reliability(alpha, level=level)}, people=people, judge=judge)


def weighted(found: Sequence[Side], scale: Scale, *, level: float) -> dict[str, Measured]:
    """Compute the weighted figures, which estimate those of all items that the annotated ones were sampled from."""
    if isinstance(scale, CategoricalScale):
        figures = compared_choices(choices(found, scale, weighted=True), level=level)
        return {name: figure for name, figure in figures.items() if not name.split(" ")[-1].isdecimal()}
    figures = compared_numbers(numbers(found, weighted=True), level=level, ranks=False)
    return {name: figures[name] for name in WITH_WEIGHTS}


def ratings(values: Sequence[Sequence[Value]], things: Sequence[Thing], scale: Scale) -> Ratings:
    """Build the ratings of several raters for the figures over all of them."""
    place = places(scale)
    distance: Distance = "interval"
    if isinstance(scale, CategoricalScale):
        distance = "ordinal" if scale.ordered and len(place) > 2 else "nominal"  # noqa: PLR2004 - two have no order
    units = [[float(place[value] if place else value) for value in unit] for unit in values]
    return Ratings(units, codes([thing.sample_id for thing in things]), len(place), distance)
