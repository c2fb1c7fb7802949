"""Values of annotations, parsed on the scale of their metric and never changed to fit it."""

from __future__ import annotations

from collections.abc import Mapping

from greval.records.annotation import Annotation
from greval.records.scale import OffScaleError, Scale
from greval.records.scale_values import is_missing_value, parse_on_scale


def parse_annotation_value(annotation: Annotation, scales: Mapping[str, Scale]) -> Annotation:
    """Return an annotation with its value parsed on the scale of its metric, if that scale is known.

    Raise `OffScaleError` if it is submitted without a value, or the value is not on the scale.
    """
    if annotation.status != "submitted":
        return annotation
    scale = scales.get(annotation.metric)
    if is_missing_value(scale, annotation.value):
        raise OffScaleError("is submitted without a value; give one, or another status")
    if scale is None:
        return annotation
    value = parse_on_scale(scale, annotation.value)
    return annotation if value == annotation.value else annotation.model_copy(update={"value": value})
