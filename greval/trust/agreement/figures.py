"""Agreement of the judge with people, and agreement among the people, which is its ceiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

from greval.records.scale import CategoricalScale, Scale
from greval.stats.bootstrap import encode_names
from greval.stats.confusion import PARTS, Choices, compare_choices, confusion_matrix
from greval.stats.correlation import NumberPairs, compare_numbers, extract_spreads
from greval.stats.inter_rater import Ratings, compute_reliability
from greval.stats.interval import Distance, Measured
from greval.trust.agreement.records import (
    AnnotatorPair,
    CategoricalAgreement,
    ClassFigures,
    NumericAgreement,
    PeopleAgreement,
)
from greval.trust.agreement.value_pairs import ValuePair, build_choices, build_numbers, index_categories, name_first_f1
from greval.trust.annotations.matching import AnnotatedItem

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

MAX_PAIRS = 10
JUDGE = "the judge"
CATEGORICAL_FIGURES = ("accuracy", "kappa", "kappa linear", "kappa quadratic", "ac1")
NUMERIC_FIGURES = ("mae", "bias", "pearson", "spearman", "kendall")
WEIGHTED_FIGURES = ("people mean", "judge mean", "bias", "mae", "pearson")
MIN_ITEMS = 5
REFEREE_SHARE = 0.8


def compute_judge_figures(
    value_pairs: Sequence[ValuePair], things: Sequence[AnnotatedItem], scale: Scale, *, level: float
) -> CategoricalAgreement | NumericAgreement:
    """Compute the unweighted figures of judge and people, and alpha from the values of all annotators in `things`."""
    alpha = build_ratings(_add_judge(collect_ratings(things, scale), things, scale), scale)
    if isinstance(scale, CategoricalScale):
        columns = build_choices(value_pairs, scale)
        figures = compare_choices(columns, level=level)
        truth = columns.truth.tolist()
        classes = tuple(
            ClassFigures(
                name=name,
                support=truth.count(index),
                **{part: figures.pop(f"{part} {index}") for part in PARTS},
            )
            for index, name in enumerate(scale.names)
        )
        reliability = compute_reliability(alpha, level=level)
        # how well a search finds what is relevant is read off this one
        if things and things[0].item is not None:
            figures[name_first_f1(scale)] = classes[0].f1
        # The AC1 of judge and people is already there; that of `reliability` is over all raters.
        figures |= {name: figure for name, figure in reliability.items() if name not in figures}
        table = tuple(tuple(map(float, row)) for row in confusion_matrix(columns))
        return CategoricalAgreement(figures=figures, distance=alpha.distance, classes=classes, confusion=table)
    pairs = build_numbers(value_pairs)
    figures = compare_numbers(pairs, level=level)
    people, judge = extract_spreads(pairs, figures)
    return NumericAgreement(figures={**figures, **compute_reliability(alpha, level=level)}, people=people, judge=judge)


def _add_judge(ratings: RatingColumns, things: Sequence[AnnotatedItem], scale: Scale) -> RatingColumns:
    """Return the ratings of the annotators with those of the judge."""
    import numpy as np

    index = index_categories(scale)
    values = [float(index[thing.judge] if index else thing.judge) for thing in things]
    items = np.r_[ratings.items, np.arange(len(things))]
    who = np.r_[ratings.who, np.full(len(things), len(ratings.raters))]
    # Stable, so that the judge, the last of the raters, comes last within each item.
    order = np.argsort(items, kind="stable")
    return ratings._replace(
        raters=(*ratings.raters, JUDGE),
        items=items[order],
        who=who[order],
        numbers=np.r_[ratings.numbers, values][order],
    )


def compute_weighted_figures(pairs: Sequence[ValuePair], scale: Scale, *, level: float) -> dict[str, Measured]:
    """Compute the weighted figures, which estimate those of all items that the annotated ones were sampled from."""
    if isinstance(scale, CategoricalScale):
        figures = compare_choices(build_choices(pairs, scale, weighted=True), level=level)
        # Names that end in a number are those of single classes, which are reported for the unweighted figures only.
        return {name: figure for name, figure in figures.items() if not name.split(" ")[-1].isdecimal()}
    figures = compare_numbers(build_numbers(pairs, weighted=True), level=level, ranks=False)
    return {name: figures[name] for name in WEIGHTED_FIGURES}


class RatingColumns(NamedTuple):
    """The ratings of several raters: of each rating the item, the rater and the number, by item and then by rater.

    A category is given by its index on the scale. `questions` has the number of each item's question.
    """

    raters: tuple[str, ...]
    items: Integers
    who: Integers
    numbers: Floats
    questions: Integers


def collect_ratings(things: Sequence[AnnotatedItem], scale: Scale) -> RatingColumns:
    """Return the values of all annotators as columns; the annotators are in the order of their names."""
    import numpy as np

    index = index_categories(scale)
    raters = tuple(sorted({annotator for thing in things for annotator in thing.values}))
    number = {annotator: n for n, annotator in enumerate(raters)}
    counts = np.fromiter((len(thing.values) for thing in things), np.int64, len(things))
    items = np.repeat(np.arange(len(things)), counts)
    who = np.fromiter((number[annotator] for thing in things for annotator in thing.values), np.int64, len(items))
    values = (value for thing in things for value in thing.values.values())
    numbers = np.fromiter((float(index[value] if index else value) for value in values), float, len(items))
    order = np.lexsort((who, items))
    return RatingColumns(raters, items, who[order], numbers[order], encode_names([thing.sample_id for thing in things]))


def compute_rater_agreement(ratings: RatingColumns, scale: Scale, *, level: float) -> PeopleAgreement:
    """Compute the agreement among raters, or say that no two of them rated the same item."""
    common = _count_common_items(ratings)
    rated = build_ratings(ratings, scale)
    if not common:
        alone = "one annotator only" if len(ratings.raters) == 1 else "no two annotators valued the same item"
        return PeopleAgreement(annotators=ratings.raters, why=f"{alone}; have some items annotated by two people")
    most = common.most_common(MAX_PAIRS)
    return PeopleAgreement(
        annotators=ratings.raters,
        figures=compute_reliability(rated, level=level),
        distance=rated.distance,
        pairs=tuple(
            AnnotatorPair(
                annotators=(ratings.raters[first], ratings.raters[second]),
                n=n,
                figures=_compute_pair(ratings, (first, second), scale, level=level),
            )
            for (first, second), n in most
        ),
        left_out=len(common) - len(most),
    )


def _count_common_items(ratings: RatingColumns) -> Counter[tuple[int, int]]:
    """Count the items that each pair of raters rated."""
    import numpy as np

    # Mostly each rater rated each item, and nothing has to be counted.
    if len(ratings.who) == len(ratings.questions) * len(ratings.raters):
        return Counter(dict.fromkeys(combinations(range(len(ratings.raters)), 2), len(ratings.questions)))
    ends = np.cumsum(np.bincount(ratings.items, minlength=len(ratings.questions))).tolist()
    who = ratings.who.tolist()
    # Few sets of raters rate many items.
    sets = Counter(tuple(who[begin:end]) for begin, end in pairwise([0, *ends]))
    common: Counter[tuple[int, int]] = Counter()
    for raters, n in sets.items():
        for pair in combinations(raters, 2):
            common[pair] += n
    return common


def find_referees(things: Sequence[AnnotatedItem]) -> Iterator[str]:
    """Yield the annotators who mostly annotated items on which others disagree: they lower the agreement.

    If others disagree on more than half of all items, no annotator is named.
    """
    shared_values = [values for thing in things if len(values := thing.values) > 1]
    if sum(len({*values.values()}) > 1 for values in shared_values) > len(shared_values) / 2:
        return
    item_counts: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    for thing in things:
        for annotator in thing.values:
            item_counts[annotator] += 1
            apart[annotator] += len({value for who, value in thing.values.items() if who != annotator}) > 1
    yield from sorted(
        who for who, times in item_counts.items() if times >= MIN_ITEMS and apart[who] >= REFEREE_SHARE * times
    )


def build_ratings(ratings: RatingColumns, scale: Scale) -> Ratings:
    """Build the ratings of several raters for the figures over all of them."""
    import numpy as np

    size = len(index_categories(scale))
    distance: Distance = "interval"
    if isinstance(scale, CategoricalScale):
        distance = "ordinal" if scale.ordered and size > 2 else "nominal"  # noqa: PLR2004 - two have no order
    counts = np.bincount(ratings.items, minlength=len(ratings.questions))
    return Ratings(ratings.items, ratings.numbers, counts, ratings.questions, size, distance)


def _compute_pair(ratings: RatingColumns, pair: tuple[int, int], scale: Scale, *, level: float) -> dict[str, Measured]:
    """Compute the figures of two raters, the first in place of the people and the second in place of the judge."""
    import numpy as np

    first, second = (np.flatnonzero(ratings.who == rater) for rater in pair)
    items, *places = np.intersect1d(
        ratings.items[first], ratings.items[second], assume_unique=True, return_indices=True
    )
    sides = ratings.numbers[first[places[0]]], ratings.numbers[second[places[1]]]
    return compare_sides(sides, items, ratings.questions[items], scale, level=level)


def compare_sides(
    sides: tuple[Floats, Floats], items: Integers, questions: Integers, scale: Scale, *, level: float
) -> dict[str, Measured]:
    """Compute the figures of two sides, the first in place of the people and the second in place of the judge."""
    import numpy as np

    weights = np.ones(len(items))
    if isinstance(scale, CategoricalScale):
        truth, predicted = (side.astype(np.int64) for side in sides)
        choices = Choices(truth, predicted, weights, items, questions, len(scale.names), scale.ordered)
        figures = compare_choices(choices, level=level)
        return {name: figures[name] for name in CATEGORICAL_FIGURES if name in figures}
    figures = compare_numbers(NumberPairs(*sides, weights, items, questions), level=level)
    return {name: figures[name] for name in NUMERIC_FIGURES}
