"""Agreement among people, which is the ceiling for the agreement of any judge with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from greval.records.scale import CategoricalScale, Scale
from greval.stats.confusion import compare_choices as compared_choices
from greval.stats.correlation import compare_numbers as compared_numbers
from greval.stats.inter_rater import compute_reliability
from greval.stats.measured import Measured
from greval.trust.agreement.judge_figures import build_ratings
from greval.trust.agreement.records import AnnotatorPair, PeopleAgreement
from greval.trust.agreement.value_pairs import ValuePair, build_choices, build_numbers
from greval.trust.annotations.matching import AnnotatedItem

MAX_PAIRS = 10
CATEGORICAL_FIGURES = ("accuracy", "kappa", "kappa linear", "kappa quadratic", "ac1")
NUMERIC_FIGURES = ("mae", "bias", "pearson", "spearman", "kendall")
MIN_ITEMS = 5
REFEREE_SHARE = 0.8


def compute_people_agreement(things: Sequence[AnnotatedItem], scale: Scale, *, level: float) -> PeopleAgreement:
    """Compute the agreement among annotators.

    If there is one annotator, or no item that two of them annotated, the result has the reason instead of figures.
    """
    annotators = tuple(sorted({annotator for thing in things for annotator in thing.values}))
    common = Counter(pair for thing in things for pair in combinations(sorted(thing.values), 2))
    if not common:
        alone = "one annotator only" if len(annotators) == 1 else "no two annotators valued the same thing"
        return PeopleAgreement(annotators=annotators, why=f"{alone}: have some things annotated twice")
    most = common.most_common(MAX_PAIRS)
    values = [[*thing.values.values()] for thing in things]
    return PeopleAgreement(
        annotators=annotators,
        figures=compute_reliability(build_ratings(values, things, scale), level=level),
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
            others = {value for who, value in thing.values.items() if who != annotator}
            apart[annotator] += len(others) > 1
    yield from sorted(who for who, times in seen.items() if times >= MIN_ITEMS and apart[who] >= REFEREE_SHARE * times)


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
        figures = compared_choices(build_choices(found, scale), level=level)
        return {name: figures[name] for name in CATEGORICAL_FIGURES if name in figures}
    figures = compared_numbers(build_numbers(found), level=level)
    return {name: figures[name] for name in NUMERIC_FIGURES}
