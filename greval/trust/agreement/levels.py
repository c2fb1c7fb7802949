"""The levels of a value scale taken as categories: right or wrong is a choice, even where it is written 1 and 0."""

from __future__ import annotations

from collections.abc import Sequence

from greval.errors import DataError
from greval.records.scale import MAX_ENUM_LEVELS, CategoricalScale, MeasureScale, Scale, Value, ValueScale
from greval.trust.agreement.records import TreatAs
from greval.trust.annotations.matching import Thing

OF_TWO = 2
"""A scale of so many levels is a choice."""


def treated(
    metric: str, scale: Scale, things: Sequence[Thing], wanted: TreatAs | None
) -> tuple[Scale, tuple[Thing, ...]]:
    """Give the scale and the things as they are compared: a value scale of two levels as categories, unless told.

    A judge's value between two levels, the mean of repeats, is no category: such things are left out.

    Raises:
        DataError: Where the scale cannot be taken so.
    """
    match scale:
        case CategoricalScale():
            if wanted == "numbers":
                raise DataError(f"{metric}: its values are categories; they cannot be compared as numbers")
        case ValueScale(size=size):
            if (wanted or ("categories" if size == OF_TWO else "numbers")) == "categories":
                return _as_categories(metric, scale), tuple(one for thing in things for one in _named(thing, scale))
        case MeasureScale():
            if wanted == "categories":
                raise DataError(f"{metric}: is measured; its numbers cannot be compared as categories")
    return scale, tuple(things)


def _as_categories(metric: str, scale: ValueScale) -> CategoricalScale:
    """Give the levels as categories, the best first."""
    if scale.size > MAX_ENUM_LEVELS:
        raise DataError(f"{metric}: has {scale.size} levels, too many for categories; compare them as numbers")
    levels = scale.values
    best_first = levels[::-1] if scale.better == "higher" else levels
    return CategoricalScale.model_validate({"categories": {str(level): "" for level in best_first}})


def _named(thing: Thing, scale: ValueScale) -> tuple[Thing, ...]:
    """Give a thing with its levels as names; nothing where the judge's value is no level."""
    judge = _name(thing.judgement.value, scale)
    if judge is None:
        return ()
    values: dict[str, Value] = {
        who: name for who, value in thing.values.items() if (name := _name(value, scale)) is not None
    }
    judgement = thing.judgement.model_copy(update={"value": judge})
    return (thing.model_copy(update={"values": values, "judgement": judgement}),)


def _name(value: Value, scale: ValueScale) -> str | None:
    number = float(value)
    return str(scale.find_nearest(number)) if scale.find_nearest(number) == number else None
