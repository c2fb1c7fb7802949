"""Fusion depends on what it says it depends on: ranks, or scores up to a factor, and never on the order of inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.reference.fusion import fuse_minmax, fuse_ranks, fuse_weighted

ITEMS = st.integers(0, 12)
SCORES = st.dictionaries(ITEMS, st.integers(1, 1000).map(float))
RANKINGS = st.lists(st.dictionaries(ITEMS, st.integers(1, 20)), max_size=4)
ALPHA = st.floats(0, 1)
FACTOR = st.floats(1e-3, 1e3)


@given(RANKINGS, st.integers(1, 100), st.randoms())
def test_rrf_does_not_depend_on_the_order_of_rankings(rankings, k, random):
    """Rankings in another order give exactly the same scores."""
    assert fuse_ranks(rankings, k) == fuse_ranks(random.sample(rankings, len(rankings)), k)


def test_rrf_has_the_published_figures():
    """The score is the sum of 1 / (60 + rank), with ranks from 1."""
    fused = fuse_ranks([{1: 1, 2: 2, 3: 3}, {3: 1, 1: 2}], 60)
    assert fused == pytest.approx({1: 1 / 61 + 1 / 62, 2: 1 / 62, 3: 1 / 63 + 1 / 61})


@given(SCORES, SCORES, ALPHA, FACTOR, FACTOR)
def test_a_weighted_sum_does_not_depend_on_the_scale_of_scores(first, second, alpha, first_factor, second_factor):
    """Scores times a positive factor give the same sum."""
    scaled = fuse_weighted(
        {item: score * first_factor for item, score in first.items()},
        {item: score * second_factor for item, score in second.items()},
        alpha,
    )
    assert scaled == pytest.approx(fuse_weighted(first, second, alpha))


@given(SCORES, SCORES, ALPHA, st.randoms())
def test_a_weighted_sum_does_not_depend_on_the_order_of_items(first, second, alpha, random):
    """Items in another order give the same sums, and swapped scores those of the other weight."""
    shuffled = dict(random.sample([*first.items()], len(first)))
    assert fuse_weighted(shuffled, second, alpha) == fuse_weighted(first, second, alpha)
    assert fuse_weighted(second, first, 1 - alpha) == pytest.approx(fuse_weighted(first, second, alpha))


@given(SCORES, SCORES, ALPHA)
def test_a_weighted_sum_has_every_item_within_bounds(first, second, alpha):
    """Each item of either input has a score from 0 to 1, and no other item has one."""
    fused = fuse_weighted(first, second, alpha)
    assert set(fused) == {*first, *second}
    assert all(0 <= score <= 1 + 1e-12 for score in fused.values())


def test_a_weighted_sum_has_the_published_figures():
    """Both scores are divided by their highest, and 0.6 is the weight of vectors."""
    fused = fuse_weighted({1: 0.9, 2: 0.45}, {2: 1.0, 3: 0.5}, 0.6)
    assert fused == pytest.approx({1: 0.6, 2: 0.3 + 0.4, 3: 0.2})


@pytest.mark.parametrize("scores", [{}, {1: 0.0}, {1: -0.5, 2: -0.1}])
def test_scores_that_are_not_positive_add_nothing(scores):
    """Without a positive score there is nothing to divide by, and nothing is added."""
    assert fuse_weighted(scores, {5: 2.0}, 0.6) == {**dict.fromkeys(scores, 0.0), 5: 0.4}


@given(SCORES, SCORES, ALPHA, FACTOR, st.floats(-100, 100))
def test_a_sum_over_the_range_does_not_depend_on_scale_and_offset(first, second_scores, alpha, factor, offset):
    """Scores times a factor and plus an offset give the same sum."""
    second = {item: score for item, score in second_scores.items() if item in first}
    moved = fuse_minmax({item: score * factor + offset for item, score in first.items()}, second, alpha)
    assert moved == pytest.approx(fuse_minmax(first, second, alpha), abs=1e-6)
