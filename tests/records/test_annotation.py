"""Annotations: what a person may give, and what counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from greval.records.annotation import Annotation

WHO = {"sample_id": "q1", "metric": "tone", "annotator": "ana"}


@given(
    value=st.none() | st.integers(-5, 5) | st.text(max_size=5) | st.floats(-5, 5),
    weight=st.floats(min_value=1e-6, max_value=1e6),
    suggested=st.booleans(),
)
def test_annotations_survive_json(value, weight, suggested):
    """An annotation read from its own JSON is equal to it."""
    given_ = Annotation(**WHO, value=value, weight=weight, suggested=suggested)
    assert Annotation.model_validate_json(given_.model_dump_json()) == given_


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan")])
def test_a_weight_is_positive_and_finite(weight):
    """The inverse of a probability is above 0 and finite."""
    with pytest.raises(ValidationError, match="weight"):
        Annotation(**WHO, weight=weight)


def test_defaults_are_those_of_a_plain_label():
    """Without further fields an annotation is submitted, of the whole case, of weight 1 and made unseen."""
    label = Annotation(**WHO, value="Polite")
    assert (label.status, label.item, label.weight, label.suggested) == ("submitted", None, 1.0, False)
    with pytest.raises(ValidationError, match="status"):
        Annotation(**WHO, status="done")
