"""Tests of annotated values, parsed on the scale of their metric."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.annotation import Annotation
from greval.records.scale import CategoricalScale, OffScaleError, ValueScale
from greval.records.scale_values import parse_on_scale
from greval.trust.annotations.reading import parse_annotation_value

DEPTH = ValueScale(range=(-2, 5), levels={-2: "Shallow.", 5: "Deep."})
TONE = CategoricalScale.model_validate({"categories": {"Polite": "", "Rude": ""}})


@given(st.integers(-2, 5))
def test_a_level_is_read_from_a_number_or_its_text(level):
    """A table holds texts only, so a number may be one."""
    assert parse_on_scale(DEPTH, level) == parse_on_scale(DEPTH, str(level)) == parse_on_scale(DEPTH, f"{level}.0")


@given(st.integers(max_value=-3) | st.integers(min_value=6) | st.sampled_from(["", "x", "4 or 5", "nan", "inf"]))
def test_a_value_off_the_scale_is_refused(value):
    """It is never moved to the nearest level."""
    with pytest.raises(OffScaleError):
        parse_on_scale(DEPTH, value)


def test_a_category_is_read_by_its_name():
    """A number that is the name of no category is refused."""
    assert parse_on_scale(TONE, "Rude") == "Rude"
    with pytest.raises(OffScaleError):
        parse_on_scale(TONE, 1)


def annotation(**fields):
    """Build an annotation of the metric "depth"."""
    return Annotation(**{"sample_id": "q1", "metric": "depth", "annotator": "ana", **fields})


def test_only_submitted_values_of_known_metrics_are_parsed():
    """Drafts stay as they are, and so do values of metrics whose scale is not known."""
    scales = {"depth": DEPTH}
    assert parse_annotation_value(annotation(value="4"), scales).value == 4
    for kept in (annotation(value="99", status="draft"), annotation(value="99", metric="other")):
        assert parse_annotation_value(kept, scales) is kept
    with pytest.raises(OffScaleError, match="is submitted without a value"):
        parse_annotation_value(annotation(), scales)
    with pytest.raises(OffScaleError):
        parse_annotation_value(annotation(value="99"), scales)
