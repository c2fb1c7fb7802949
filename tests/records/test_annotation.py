"""Annotations: what a person may give, and what counts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from greval.records.annotation import Annotation

WHO = {"sample_id": "q1", "metric": "tone", "annotator": "ana"}


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
