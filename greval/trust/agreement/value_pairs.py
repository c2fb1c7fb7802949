"""Pairs of a value from people and a value from the judge, as columns for the statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from greval.records.scale import CategoricalScale, Scale, Value
from greval.stats.bootstrap import encode_names
from greval.stats.confusion import Choices
from greval.stats.correlation import NumberPairs
from greval.trust.agreement.records import CombineAnnotators
from greval.trust.annotations.adjudication import find_majority
from greval.trust.annotations.matching import AnnotatedItem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class ValuePair(NamedTuple):
    """A value from people and the judge's value for one item.

    With `combine="each"` an item has one pair for each annotation.
    """

    thing: AnnotatedItem
    number: int
    people: Value
    judge: Value


def pair_values(things: Sequence[AnnotatedItem], combine: CombineAnnotators) -> tuple[ValuePair, ...]:
    """Return the pairs of the people's value and the judge's; items on which people are tied are left out."""
    return tuple(
        ValuePair(thing, number, value, thing.judgement.value)
        for number, thing in enumerate(things)
        for value in _combine_people(thing, combine)
    )


def _combine_people(thing: AnnotatedItem, combine: CombineAnnotators) -> Iterator[Value]:
    """Yield the value or values that represent the people on an item."""
    match combine:
        case "each":
            yield from thing.values.values()
        case "mean":
            yield fmean(float(value) for value in thing.values.values())
        case "majority":
            value = find_majority(thing.values.values())
            if value is not None:
                yield value


def build_choices(found: Sequence[ValuePair], scale: CategoricalScale, *, weighted: bool = False) -> Choices:
    """Build the columns of categories, each as its index on the scale."""
    import numpy as np

    place = index_categories(scale)
    things, questions, weights = _build_columns(found, weighted=weighted)
    return Choices(
        truth=np.array([place[one.people] for one in found], dtype=np.int64),
        given=np.array([place[one.judge] for one in found], dtype=np.int64),
        weights=weights,
        things=things,
        questions=questions,
        size=len(place),
        ordered=scale.ordered,
    )


def build_numbers(found: Sequence[ValuePair], *, weighted: bool = False) -> NumberPairs:
    """Build the columns of numbers."""
    import numpy as np

    things, questions, weights = _build_columns(found, weighted=weighted)
    people = np.array([float(one.people) for one in found])
    judge = np.array([float(one.judge) for one in found])
    return NumberPairs(people, judge, weights, things, questions)


def index_categories(scale: Scale) -> Mapping[Value, int]:
    """Return the index of each category on its scale, or an empty mapping for other scales."""
    return {name: place for place, name in enumerate(scale.names)} if isinstance(scale, CategoricalScale) else {}


def _build_columns(
    found: Sequence[ValuePair], *, weighted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Build the columns of item numbers, question numbers and weights."""
    import numpy as np

    things = np.array([one.number for one in found], dtype=np.int64)
    weights = np.array([one.thing.weight if weighted else 1.0 for one in found])
    return things, encode_names([one.thing.sample_id for one in found]), weights
