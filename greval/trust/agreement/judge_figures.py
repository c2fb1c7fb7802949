"""The figures of judge and people over one group of items."""

from __future__ import annotations

from collections.abc import Sequence

from greval.records.scale import CategoricalScale, Scale, Value
from greval.stats.bootstrap import encode_names
from greval.stats.confusion import PARTS, confusion_matrix
from greval.stats.confusion import compare_choices as compared_choices
from greval.stats.correlation import compare_numbers as compared_numbers
from greval.stats.correlation import extract_spreads
from greval.stats.inter_rater import Distance, Ratings, compute_reliability
from greval.stats.measured import Measured
from greval.trust.agreement.records import CategoricalAgreement, ClassFigures, NumericAgreement
from greval.trust.agreement.value_pairs import ValuePair, build_choices, build_numbers, index_categories
from greval.trust.annotations.matching import AnnotatedItem

WEIGHTED_FIGURES = ("people mean", "judge mean", "bias", "mae", "pearson")


def compute_judge_figures(
    found: Sequence[ValuePair], things: Sequence[AnnotatedItem], scale: Scale, *, level: float
) -> CategoricalAgreement | NumericAgreement:
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
    alpha = build_ratings(both, things, scale)
    if isinstance(scale, CategoricalScale):
        columns = build_choices(found, scale)
        figures = compared_choices(columns, level=level)
        truth = columns.truth.tolist()
        classes = tuple(
            ClassFigures(
                name=name,
                support=truth.count(place),
                **{part: figures.pop(f"{part} {place}") for part in PARTS},
            )
            for place, name in enumerate(scale.names)
        )
        figures["alpha"] = compute_reliability(alpha, level=level)["alpha"]
        table = tuple(tuple(float(count) for count in row) for row in confusion_matrix(columns))
        return CategoricalAgreement(figures=figures, classes=classes, confusion=table)
    pairs = build_numbers(found)
    figures = compared_numbers(pairs, level=level)
    people, judge = extract_spreads(pairs, figures)
    return NumericAgreement(figures={**figures, **compute_reliability(alpha, level=level)}, people=people, judge=judge)


def compute_weighted_figures(found: Sequence[ValuePair], scale: Scale, *, level: float) -> dict[str, Measured]:
    """Compute the weighted figures, which estimate those of all items that the annotated ones were sampled from."""
    if isinstance(scale, CategoricalScale):
        figures = compared_choices(build_choices(found, scale, weighted=True), level=level)
        return {name: figure for name, figure in figures.items() if not name.split(" ")[-1].isdecimal()}
    figures = compared_numbers(build_numbers(found, weighted=True), level=level, ranks=False)
    return {name: figures[name] for name in WEIGHTED_FIGURES}


def build_ratings(values: Sequence[Sequence[Value]], things: Sequence[AnnotatedItem], scale: Scale) -> Ratings:
    """Build the ratings of several raters for the figures over all of them."""
    place = index_categories(scale)
    distance: Distance = "interval"
    if isinstance(scale, CategoricalScale):
        distance = "ordinal" if scale.ordered and len(place) > 2 else "nominal"  # noqa: PLR2004 - two have no order
    units = [[float(place[value] if place else value) for value in unit] for unit in values]
    return Ratings(units, encode_names([thing.sample_id for thing in things]), len(place), distance)
