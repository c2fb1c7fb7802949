"""Pairs of a value from people and a value from the judge, as columns for the statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from greval.records.scale import CategoricalScale, Scale, Value
from greval.stats.confusion import Choices
from greval.stats.correlation import Numbers
from greval.stats.measured import codes
from greval.trust.agreement.records import Combine
from greval.trust.annotations.adjudication import majority
from greval.trust.annotations.matching import Thing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Side(NamedTuple):
    """A value from people and the judge's value for one item.

    With `combine="each"` an item has one pair for each annotation.
    """

    thing: Thing
    number: int
    people: Value
    judge: Value


def sides(things: Sequence[Thing], combine: Combine) -> tuple[Side, ...]:
    """Return the pairs of the people's value and the judge's; items on which people are tied are left out."""
    return tuple(
        Side(thing, number, value, thing.judgement.value)
        for number, thing in enumerate(things)
        for value in _people(thing, combine)
    )


def _people(thing: Thing, combine: Combine) -> Iterator[Value]:
    """Yield the value or values that represent the people on an item."""
    match combine:
        case "each":
            yield from thing.values.values()
        case "mean":
            yield fmean(float(value) for value in thing.values.values())
        case "majority":
            value = majority(thing.values.values())
            if value is not None:
                yield value


def choices(found: Sequence[Side], scale: CategoricalScale, *, weighted: bool = False) -> Choices:
    """Build the columns of categories, each as its index on the scale."""
    import numpy as np

    place = places(scale)
    things, questions, weights = _columns(found, weighted=weighted)
    return Choices(
        truth=np.array([place[one.people] for one in found], dtype=np.int64),
        given=np.array([place[one.judge] for one in found], dtype=np.int64),
        weights=weights,
        things=things,
        questions=questions,
        size=len(place),
        ordered=scale.ordered,
    )


def numbers(found: Sequence[Side], *, weighted: bool = False) -> Numbers:
    """Build the columns of numbers."""
    import numpy as np

    things, questions, weights = _columns(found, weighted=weighted)
    people = np.array([float(one.people) for one in found])
    judge = np.array([float(one.judge) for one in found])
    return Numbers(people, judge, weights, things, questions)


def places(scale: Scale) -> Mapping[Value, int]:
    """Return the index of each category on its scale, or an empty mapping for other scales."""
    return {name: place for place, name in enumerate(scale.names)} if isinstance(scale, CategoricalScale) else {}


def _columns(found: Sequence[Side], *, weighted: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Build the columns of item numbers, question numbers and weights."""
    import numpy as np

    things = np.array([one.number for one in found], dtype=np.int64)
    weights = np.array([one.thing.weight if weighted else 1.0 for one in found])
    return things, codes([one.thing.sample_id for one in found]), weights
