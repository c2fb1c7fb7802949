"""Folds of similar sizes, and nested cross-validation of a choice, in which noise has no gain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from noisy_scores import draw_noise

from greval.stats.cross_validation import assign_folds, choose_candidate, split_folds, validate_choice


def compute_flattered_gain(scores):
    """Return the gain of the best candidate on the questions that chose it."""
    means = scores.mean(axis=0)
    return means.max() - means[0]


@given(st.dictionaries(st.text(max_size=5), st.integers(1, 9), min_size=1, max_size=40), st.integers(2, 6))
def test_folds_have_similar_sizes(sizes, count):
    """Each cluster has one fold, and no fold is larger than another by more than a cluster."""
    folds = assign_folds(sizes, count)
    assert {*folds} == {*sizes}
    held = [sum(sizes[name] for name in folds if folds[name] == fold) for fold in range(count)]
    assert max(held) - min(held) <= max(sizes.values())


@given(st.lists(st.integers(0, 30), min_size=1, max_size=100))
def test_folds_keep_clusters_whole(clusters):
    """Each observation is held out once, with all of its cluster, and folds have similar sizes."""
    numbers = np.array(clusters)
    folds = split_folds(numbers)
    distinct = len({*clusters})
    assert len(folds) == (min(10, distinct) if distinct > 1 else 0)
    for held_out in folds:
        assert not {*numbers[held_out].tolist()} & {*numbers[~held_out].tolist()}
    if folds:
        assert np.array(folds).sum(axis=0).tolist() == [1] * len(numbers)
        sizes = [int(held_out.sum()) for held_out in folds]
        assert max(sizes) - min(sizes) <= np.bincount(numbers).max()


@given(st.integers(0, 1000), st.integers(0, 4))
def test_a_fold_has_no_part_in_its_own_choice(seed, fold):
    """Whatever the scores of a fold are, the candidate that is measured on it is the same."""
    scores = draw_noise(seed, questions=40, candidates=8)
    folds = np.arange(40) % 5
    changed = scores.copy()
    changed[folds == fold] = np.random.default_rng(seed + 1).random((int((folds == fold).sum()), 8))
    before, after = (validate_choice(given_scores, folds).folds[fold] for given_scores in (scores, changed))
    assert before.candidate == after.candidate
    assert before.learned_gain == pytest.approx(after.learned_gain)


@given(st.integers(0, 1000))
def test_the_gains_are_those_of_the_chosen_candidates(seed):
    """The gain of a question is the score of its fold's candidate less that of the current one."""
    scores = draw_noise(seed, questions=30, candidates=6)
    folds = np.arange(30) % 3
    found = validate_choice(scores, folds)
    for one in found.folds:
        held = folds == one.fold
        others = scores[~held].mean(axis=0)
        assert others[one.candidate] == pytest.approx(others.max())
        assert found.gains[held] == pytest.approx(scores[held, one.candidate] - scores[held, 0])
        assert (one.questions, one.gain) == (held.sum(), pytest.approx(found.gains[held].mean()))


def test_a_tie_leaves_the_current_settings():
    """If another candidate is equally good, nothing changes."""
    assert choose_candidate(np.array([[0.1 + 0.2, 0.3], [0.5, 0.5]])) == 0


def test_noise_has_a_gain_only_if_it_is_not_nested():
    """Over 40 worlds without any difference, the best candidate looks better, and is not when measured anew."""
    folds = np.arange(60) % 5
    flattered, nested = [], []
    for seed in range(40):
        scores = draw_noise(seed)
        flattered.append(compute_flattered_gain(scores))
        nested.append(validate_choice(scores, folds).gains.mean())
    assert min(flattered) >= 0
    assert np.mean(flattered) > 0.05
    assert abs(np.mean(nested)) < 2.5 * np.std(nested) / len(nested) ** 0.5
    assert abs(np.mean(nested)) < np.mean(flattered) / 4
