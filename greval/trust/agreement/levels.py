"""Value scales compared as categories: a scale of two levels, such as 1 and 0, is a choice between right and wrong."""

from __future__ import annotations

from collections.abc import Sequence

from greval.errors import DataError
from greval.records.scale import MAX_ENUM_LEVELS, CategoricalScale, MeasureScale, Scale, Value, ValueScale
from greval.trust.agreement.records import TreatAs
from greval.trust.annotations.matching import AnnotatedItem

BINARY_SIZE = 2
"""The number of levels at which a value scale is compared as categories by default."""


def convert_items(
    metric: str, scale: Scale, things: Sequence[AnnotatedItem], wanted: TreatAs | None
) -> tuple[Scale, tuple[AnnotatedItem, ...]]:
    """Return the scale and the items in the form in which they are compared.

    A value scale of two levels is compared as categories by default. A judge's value between two levels, such as the
    mean of repeats, is not a category; such items are left out.

    Raises:
        DataError: If the scale cannot be compared in the requested way.
    """
    match scale:
        case CategoricalScale():
            if wanted == "numbers":
                raise DataError(f"{metric}: its values are categories; they cannot be compared as numbers")
        case ValueScale(size=size):
            if (wanted or ("categories" if size == BINARY_SIZE else "numbers")) == "categories":
                return _convert_scale(metric, scale), tuple(
                    one for thing in things for one in _convert_item(thing, scale)
                )
        case MeasureScale():
            if wanted == "categories":
                raise DataError(f"{metric}: is measured; its numbers cannot be compared as categories")
    return scale, tuple(things)


def _convert_scale(metric: str, scale: ValueScale) -> CategoricalScale:
    """Return a categorical scale whose categories are the levels, best first."""
    if scale.size > MAX_ENUM_LEVELS:
        raise DataError(f"{metric}: has {scale.size} levels, too many for categories; compare them as numbers")
    levels = scale.values
    best_first = levels[::-1] if scale.better == "higher" else levels
    return CategoricalScale.model_validate({"categories": {str(level): "" for level in best_first}})


def _convert_item(thing: AnnotatedItem, scale: ValueScale) -> tuple[AnnotatedItem, ...]:
    """Return an item with level names as values, or nothing if the judge's value is not a level."""
    judge = _name_level(thing.judgement.value, scale)
    if judge is None:
        return ()
    values: dict[str, Value] = {
        who: name for who, value in thing.values.items() if (name := _name_level(value, scale)) is not None
    }
    judgement = thing.judgement.model_copy(update={"value": judge})
    return (thing.model_copy(update={"values": values, "judgement": judgement}),)


def _name_level(value: Value, scale: ValueScale) -> str | None:
    """Return the name of the level that equals a value, or None."""
    number = float(value)
    return str(scale.find_nearest(number)) if scale.find_nearest(number) == number else None
