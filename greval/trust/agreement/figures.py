"""Agreement among people, which is the ceiling for the agreement of any judge with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from greval.records.scale import CategoricalScale, Scale
from greval.stats.confusion import compared as compared_choices
from greval.stats.correlation import compared as compared_numbers
from greval.stats.inter_rater import reliability
from greval.stats.measured import Measured
from greval.trust.agreement.judge_figures import ratings
from greval.trust.agreement.records import Pair, People
from greval.trust.agreement.value_pairs import Side, choices, numbers
from greval.trust.annotations.matching import Thing

MOST_PAIRS = 10
OF_CATEGORIES = ("accuracy", "kappa", "kappa linear", "kappa quadratic", "ac1")
OF_NUMBERS = ("mae", "bias", "pearson", "spearman", "kendall")
FEW = 5
NEARLY = 0.8


def people(things: Sequence[Thing], scale: Scale, *, level: float) -> People:
    """Compute the agreement among annotators.

    If there is one annotator, or no item that two of them annotated, the result has the reason instead of figures.
    """
    annotators = tuple(sorted({annotator for thing in things for annotator in thing.values}))
    common = Counter(pair for thing in things for pair in combinations(sorted(thing.values), 2))
    if not common:
        alone = "one annotator only" if len(annotators) == 1 else "no two annotators valued the same thing"
        return People(annotators=annotators, why=f"{alone}: have some things annotated twice")
    most = common.most_common(MOST_PAIRS)
    values = [[*thing.values.values()] for thing in things]
    return People(
        annotators=annotators,
        figures=reliability(ratings(values, things, scale), level=level),
        pairs=tuple(Pair(annotators=who, n=n, figures=_pair(things, who, scale, level=level)) for who, n in most),
        left_out=len(common) - len(most),
    )


def referees(things: Sequence[Thing]) -> Iterator[str]:
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
    yield from sorted(who for who, times in seen.items() if times >= FEW and apart[who] >= NEARLY * times)


def _pair(things: Sequence[Thing], who: tuple[str, str], scale: Scale, *, level: float) -> dict[str, Measured]:
    """Compute the figures of two annotators, the first in place of the people and the second in place of the judge."""
    first, second = who
    found = [
        Side(thing, number, thing.values[first], thing.values[second])
        for number, thing in enumerate(things)
        if first in thing.values and second in thing.values
    ]
    if isinstance(scale, CategoricalScale):
        figures = compared_choices(choices(found, scale), level=level)
        return {name: figures[name] for name in OF_CATEGORIES if name in figures}
    figures = compared_numbers(numbers(found), level=level)
    return {name: figures[name] for name in OF_NUMBERS}
