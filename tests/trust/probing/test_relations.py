"""Positions on a scale, and the relations between two verdicts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greval.records.scale import CategoricalScale, ValueScale
from greval.trust.probing.relations import Relation, compute_position, find_best_value, is_satisfied

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
    """Give all values of a scale."""
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
        assert is_satisfied(Relation.not_better, scale, one, one)
        assert is_satisfied(Relation.same, scale, one, one)
        for other in values_of(scale):
            both = is_satisfied(Relation.not_better, scale, one, other) and is_satisfied(
                Relation.not_better, scale, other, one
            )
            assert both == (one == other)
            assert not is_satisfied(Relation.worst, scale, one, other) or is_satisfied(Relation.bad, scale, one, other)
