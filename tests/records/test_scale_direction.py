"""Tests of the direction of a scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.scale import CategoricalScale, MeasureScale, ScaleDirection, ValueScale, find_direction

ENDS = st.tuples(st.integers(-50, 50), st.integers(1, 100)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(ENDS, st.sampled_from(["higher", "lower"]))
def test_a_value_scale_has_both_ends_and_its_own_direction(ends, better):
    """The ends are those of the range, and a difference reaches from one end to the other both ways."""
    low, high = ends
    found = find_direction(ValueScale(range=ends, levels={low: "Low.", high: "High."}, better=better))
    assert found.ends == (low, high)
    assert found.better == better
    assert found.difference_ends == (low - high, high - low)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5, unique=True))
def test_categories_reach_from_the_lowest_to_the_highest_score(scores):
    """Higher scores are better, whether or not the categories are listed by them."""
    content = {f"c{n}": {"score": score} for n, score in enumerate(scores)}
    scale = CategoricalScale.model_validate({"categories": content, "ordered": False})
    assert find_direction(scale) == ScaleDirection("higher", min(scores), max(scores))


def test_a_measure_without_an_upper_end_has_no_ends():
    """One known end is kept, but neither pair of ends exists."""
    found = find_direction(MeasureScale(unit="s", better="lower"))
    assert (found.better, found.low, found.high) == ("lower", 0.0, None)
    assert found.ends is None
    assert found.difference_ends is None


@pytest.mark.parametrize("scores", [(None, None), (1.0, None)])
def test_categories_with_fewer_than_two_scores_have_no_ends(scores):
    """A figure on such a scale does not exist."""
    content = {f"c{n}": {} if x is None else {"score": x} for n, x in enumerate(scores)}
    assert find_direction(CategoricalScale.model_validate({"categories": content})).ends is None
