"""Positions on a scale, and the relations between two verdicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.scale import CategoricalScale, ValueScale
from greval.trust.probing.checks import (
    VerdictRelation,
    compute_position,
    explain_unusable,
    find_best_value,
    is_satisfied,
)

SCALES = st.one_of(
    st.builds(
        lambda names, ordered: CategoricalScale.model_validate(
            {"categories": dict.fromkeys(names, ""), "ordered": ordered}
        ),
        st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=7, unique=True),
        st.just(True),
    ),
    st.builds(
        lambda low, wide, better: ValueScale(
            range=(low, low + wide), levels={low: "l", low + wide: "h"}, better=better
        ),
        st.integers(-5, 5),
        st.integers(1, 9),
        st.sampled_from(["higher", "lower"]),
    ),
)


def values_of(scale):
    return scale.names if isinstance(scale, CategoricalScale) else range(scale.range[0], scale.range[1] + 1)


@given(SCALES)
def test_the_order_of_a_scale_is_that_of_its_values(scale):
    """Values stand from 0 to 1 in the scale's order, the best at 1; a verdict is never better than itself."""
    places = [compute_position(scale, value) for value in values_of(scale)]
    rising = isinstance(scale, ValueScale) and scale.better == "higher"
    assert places == sorted(places, reverse=not rising)
    assert {0.0, 1.0} <= {*places}
    assert compute_position(scale, find_best_value(scale)) == 1
    for one in values_of(scale):
        assert is_satisfied(VerdictRelation.not_better, scale, one, one)
        assert is_satisfied(VerdictRelation.same, scale, one, one)
        for other in values_of(scale):
            both = is_satisfied(VerdictRelation.not_better, scale, one, other) and is_satisfied(
                VerdictRelation.not_better, scale, other, one
            )
            assert both == (one == other)
            assert not is_satisfied(VerdictRelation.worst, scale, one, other) or is_satisfied(
                VerdictRelation.bad, scale, one, other
            )


@given(SCALES)
def test_a_reference_is_used_exactly_if_a_verdict_could_get_better(scale):
    """For mutants that must not get better, a reference is unusable if and only if no value is better."""
    for before in values_of(scale):
        could_fail = any(
            not is_satisfied(VerdictRelation.not_better, scale, before, after) for after in values_of(scale)
        )
        assert (explain_unusable(VerdictRelation.not_better, scale, before) is None) == could_fail


@given(SCALES)
def test_a_fall_is_only_looked_for_from_the_better_half(scale):
    """For faults that must be punished, only a verdict in the better half can fall into the worse half."""
    for before in values_of(scale):
        usable = {
            explain_unusable(relation, scale, before) is None
            for relation in (VerdictRelation.bad, VerdictRelation.worst)
        }
        assert usable == {compute_position(scale, before) > 0.5}
        assert explain_unusable(VerdictRelation.same, scale, before) is None


@pytest.mark.parametrize(
    ("scores", "positions"),
    [
        ({"A": None, "B": 1.0}, [None, None]),
        ({"A": 2.0, "B": 2.0}, [None, None]),
        ({"A": 1.0, "B": 3.0, "C": 2.0}, [0.0, 1.0, 0.5]),
    ],
)
def test_unordered_categories_are_placed_by_their_scores(scores, positions):
    """Scores give an order if every category has one and they differ; otherwise no value is better than another."""
    categories = {name: {"means": "", "score": score} for name, score in scores.items()}
    scale = CategoricalScale.model_validate({"categories": categories, "ordered": False})
    assert [compute_position(scale, name) for name in scores] == positions
    best = find_best_value(scale)
    assert (best is None) == (positions[0] is None)
    if best is None:
        assert not is_satisfied(VerdictRelation.not_better, scale, "A", "B")
        assert is_satisfied(VerdictRelation.same, scale, "A", "A")
