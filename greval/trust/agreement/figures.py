"""Agreement of the judge with people, and agreement among the people, which is its ceiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from greval.records.scale import CategoricalScale, Scale, Value
from greval.stats.bootstrap import encode_names
from greval.stats.confusion import PARTS, compare_choices, confusion_matrix
from greval.stats.correlation import compare_numbers, extract_spreads
from greval.stats.inter_rater import Distance, Ratings, compute_reliability
from greval.stats.measured import Measured
from greval.trust.agreement.records import (
    AnnotatorPair,
    CategoricalAgreement,
    ClassFigures,
    NumericAgreement,
    PeopleAgreement,
)
from greval.trust.agreement.value_pairs import ValuePair, build_choices, build_numbers, index_categories
from greval.trust.annotations.matching import AnnotatedItem

MAX_PAIRS = 10
CATEGORICAL_FIGURES = ("accuracy", "kappa", "kappa linear", "kappa quadratic", "ac1")
NUMERIC_FIGURES = ("mae", "bias", "pearson", "spearman", "kendall")
WEIGHTED_FIGURES = ("people mean", "judge mean", "bias", "mae", "pearson")
MIN_ITEMS = 5
REFEREE_SHARE = 0.8


def compute_judge_figures(
    found: Sequence[ValuePair], things: Sequence[AnnotatedItem], scale: Scale, *, level: float
) -> CategoricalAgreement | NumericAgreement:
    """Compute the unweighted figures of judge and people, and alpha from the values of all annotators in `things`.

    Raise `MissingExtraError` if scikit-learn is not installed.
    """
    alpha = build_ratings([[*thing.values.values(), thing.judgement.value] for thing in things], things, scale)
    if isinstance(scale, CategoricalScale):
        columns = build_choices(found, scale)
        figures = compare_choices(columns, level=level)
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
        table = tuple(tuple(map(float, row)) for row in confusion_matrix(columns))
        return CategoricalAgreement(figures=figures, classes=classes, confusion=table)
    pairs = build_numbers(found)
    figures = compare_numbers(pairs, level=level)
    people, judge = extract_spreads(pairs, figures)
    return NumericAgreement(figures={**figures, **compute_reliability(alpha, level=level)}, people=people, judge=judge)


def compute_weighted_figures(found: Sequence[ValuePair], scale: Scale, *, level: float) -> dict[str, Measured]:
    """Compute the weighted figures, which estimate those of all items that the annotated ones were sampled from."""
    if isinstance(scale, CategoricalScale):
        figures = compare_choices(build_choices(found, scale, weighted=True), level=level)
        return {name: figure for name, figure in figures.items() if not name.split(" ")[-1].isdecimal()}
    figures = compare_numbers(build_numbers(found, weighted=True), level=level, ranks=False)
    return {name: figures[name] for name in WEIGHTED_FIGURES}


def compute_people_agreement(things: Sequence[AnnotatedItem], scale: Scale, *, level: float) -> PeopleAgreement:
    """Compute the agreement among annotators.

    If there is one annotator, or no item that two of them annotated, the result has the reason instead of figures.
    """
    annotators = tuple(sorted({annotator for thing in things for annotator in thing.values}))
    common = Counter(pair for thing in things for pair in combinations(sorted(thing.values), 2))
    if not common:
        alone = "one annotator only" if len(annotators) == 1 else "no two annotators valued the same item"
        return PeopleAgreement(annotators=annotators, why=f"{alone}: have some items annotated twice")
    most = common.most_common(MAX_PAIRS)
    return PeopleAgreement(
        annotators=annotators,
        figures=compute_reliability(
            build_ratings([[*thing.values.values()] for thing in things], things, scale), level=level
        ),
        pairs=tuple(
            AnnotatorPair(annotators=who, n=n, figures=_compute_pair(things, who, scale, level=level))
            for who, n in most
        ),
        left_out=len(common) - len(most),
    )


def find_referees(things: Sequence[AnnotatedItem]) -> Iterator[str]:
    """Yield the annotators who mostly annotated items on which others disagree: they lower the agreement.

    If others disagree on more than half of all items, no annotator is named.
    """
    twice = [values for thing in things if len(values := thing.values) > 1]
    if sum(len({*values.values()}) > 1 for values in twice) > len(twice) / 2:
        return
    seen: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    for thing in things:
        for annotator in thing.values:
            seen[annotator] += 1
            apart[annotator] += len({value for who, value in thing.values.items() if who != annotator}) > 1
    yield from sorted(who for who, times in seen.items() if times >= MIN_ITEMS and apart[who] >= REFEREE_SHARE * times)


def build_ratings(values: Sequence[Sequence[Value]], things: Sequence[AnnotatedItem], scale: Scale) -> Ratings:
    """Build the ratings of several raters for the figures over all of them."""
    place = index_categories(scale)
    distance: Distance = "interval"
    if isinstance(scale, CategoricalScale):
        distance = "ordinal" if scale.ordered and len(place) > 2 else "nominal"  # noqa: PLR2004 - two have no order
    units = [[float(place[value] if place else value) for value in unit] for unit in values]
    return Ratings(units, encode_names([thing.sample_id for thing in things]), len(place), distance)


def _compute_pair(
    things: Sequence[AnnotatedItem], who: tuple[str, str], scale: Scale, *, level: float
) -> dict[str, Measured]:
    """Compute the figures of two annotators, the first in place of the people and the second in place of the judge."""
    first, second = who
    found = [
        ValuePair(thing, number, thing.values[first], thing.values[second])
        for number, thing in enumerate(things)
        if first in thing.values and second in thing.values
    ]
    if isinstance(scale, CategoricalScale):
        figures = compare_choices(build_choices(found, scale), level=level)
        return {name: figures[name] for name in CATEGORICAL_FIGURES if name in figures}
    figures = compare_numbers(build_numbers(found), level=level)
    return {name: figures[name] for name in NUMERIC_FIGURES}
