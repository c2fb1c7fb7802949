"""Fusion depends on what it says it depends on: ranks, or scores up to a factor, and never on the order of inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.reference.fusion import fuse_minmax, fuse_ranks, fuse_weighted

ITEMS = st.integers(0, 12)
SCORES = st.dictionaries(ITEMS, st.integers(1, 1000).map(float))
RANKING = st.dictionaries(ITEMS, st.integers(1, 20))
ALPHA = st.floats(0, 1)
FACTOR = st.floats(1e-3, 1e3)


@given(st.lists(st.tuples(RANKING, ALPHA), max_size=4), st.integers(1, 100), st.randoms())
def test_rrf_does_not_depend_on_the_order_of_rankings(weighted, k, random):
    """Rankings in another order give exactly the same scores."""
    shuffled = random.sample(weighted, len(weighted))
    fused, again = (
        fuse_ranks([ranking for ranking, _ in pairs], [weight for _, weight in pairs], k)
        for pairs in (weighted, shuffled)
    )
    assert fused == again


def test_rrf_has_the_published_figures():
    """The score is the sum of 1 / (60 + rank), with ranks from 1."""
    fused = fuse_ranks([{1: 1, 2: 2, 3: 3}, {3: 1, 1: 2}], [1, 1], 60)
    assert fused == pytest.approx({1: 1 / 61 + 1 / 62, 2: 1 / 62, 3: 1 / 63 + 1 / 61})


@given(SCORES, SCORES, ALPHA, st.sampled_from([fuse_weighted, fuse_minmax]))
def test_a_ranking_without_weight_or_without_items_changes_no_score(first, second, alpha, fuse):
    """A ranking of weight 0 adds its items with a score of 0, and an empty one adds nothing."""
    weights = (alpha, 1 - alpha)
    fused = fuse((first, second), weights)
    assert fuse((first, second, {}), (*weights, 1)) == fused
    assert fuse((first, second, {99: 1.0}), (*weights, 0)) == {**fused, 99: 0}


@given(SCORES, SCORES, ALPHA, FACTOR, FACTOR)
def test_a_weighted_sum_does_not_depend_on_the_scale_of_scores(first, second, alpha, first_factor, second_factor):
    """Scores times a positive factor give the same sum."""
    scaled = (
        {item: score * factor for item, score in scores.items()}
        for scores, factor in ((first, first_factor), (second, second_factor))
    )
    weights = (alpha, 1 - alpha)
    assert fuse_weighted([*scaled], weights) == pytest.approx(fuse_weighted((first, second), weights))


@given(SCORES, SCORES, ALPHA, st.randoms())
def test_a_weighted_sum_does_not_depend_on_the_order_of_items(first, second, alpha, random):
    """Items in another order give the same sums, and so do rankings with their weights."""
    shuffled = dict(random.sample([*first.items()], len(first)))
    fused = fuse_weighted((first, second), (alpha, 1 - alpha))
    assert fuse_weighted((shuffled, second), (alpha, 1 - alpha)) == fused
    assert fuse_weighted((second, first), (1 - alpha, alpha)) == fused


@given(SCORES, SCORES, ALPHA)
def test_a_weighted_sum_has_every_item_within_bounds(first, second, alpha):
    """Each item of either input has a score from 0 to 1, and no other item has one."""
    fused = fuse_weighted((first, second), (alpha, 1 - alpha))
    assert set(fused) == {*first, *second}
    assert all(0 <= score <= 1 + 1e-12 for score in fused.values())


def test_a_weighted_sum_has_the_published_figures():
    """Both scores are divided by their highest, and 0.6 is the weight of vectors."""
    fused = fuse_weighted(({1: 0.9, 2: 0.45}, {2: 1.0, 3: 0.5}), (0.6, 0.4))
    assert fused == pytest.approx({1: 0.6, 2: 0.3 + 0.4, 3: 0.2})


@pytest.mark.parametrize("scores", [{}, {1: 0.0}, {1: -0.5, 2: -0.1}])
def test_scores_that_are_not_positive_add_nothing(scores):
    """Without a positive score there is nothing to divide by, and nothing is added."""
    assert fuse_weighted((scores, {5: 2.0}), (0.6, 0.4)) == {**dict.fromkeys(scores, 0.0), 5: 0.4}


@given(SCORES, SCORES, ALPHA, FACTOR, st.floats(-100, 100))
def test_a_sum_over_the_range_does_not_depend_on_scale_and_offset(first, second, alpha, factor, offset):
    """Scores times a factor and plus an offset give the same sum."""
    moved = {item: score * factor + offset for item, score in first.items()}
    weights = (alpha, 1 - alpha)
    assert fuse_minmax((moved, second), weights) == pytest.approx(fuse_minmax((first, second), weights), abs=1e-6)
