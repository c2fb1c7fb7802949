"""Values of annotations, parsed on the scale of their metric and never changed to fit it."""

from __future__ import annotations

from collections.abc import Mapping

from greval.records.annotation import Annotation
from greval.records.scale import CategoricalScale, OffScaleError, Scale, Value


def parse_on_scale(scale: Scale, value: Value) -> Value:
    """Return the value of the scale that an annotated value denotes; numbers may be text, as in a table.

    Raises:
        OffScaleError: If the value is not on the scale.

    Example:
        >>> from greval.records.scale import ValueScale
        >>> parse_on_scale(ValueScale(range=(1, 5), levels={1: "Useless.", 5: "Perfect."}), "4")
        4
    """
    if isinstance(scale, CategoricalScale):
        return scale.read(str(value))
    return scale.read(_parse_number(value))


def parse_annotation_value(annotation: Annotation, scales: Mapping[str, Scale]) -> Annotation:
    """Return an annotation with its value parsed on the scale of its metric, if that scale is known.

    Raise `OffScaleError` if it is submitted without a value, or the value is not on the scale.
    """
    if annotation.status != "submitted":
        return annotation
    if annotation.value is None:
        raise OffScaleError("is submitted without a value; give one, or another status")
    scale = scales.get(annotation.metric)
    if scale is None:
        return annotation
    value = parse_on_scale(scale, annotation.value)
    return annotation if value == annotation.value else annotation.model_copy(update={"value": value})


def _parse_number(value: Value) -> object:
    """Parse a number given as text; anything else is left for the scale to reject."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value
