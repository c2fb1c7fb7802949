"""A threshold keeps what it promises, and is found if the judge is good enough."""

from __future__ import annotations

import numpy as np
import pytest

from greval.stats.fixed_sequence import ERROR, choose_threshold, count_labels_needed

AGREEMENT = 0.9
REPETITIONS = 1_000
LABELS, VERDICTS = 150, 600
CURVES = {
    # how often a judge of each certainty agrees with people
    "calibrated": lambda certainty: 0.5 + 0.5 * certainty,
    "says nothing": lambda certainty: np.full_like(certainty, 0.89),
    "at the edge": lambda certainty: np.where(certainty > 0.5, 0.899, 0.5),
    "the wrong way": lambda certainty: 1 - 0.3 * certainty,
    "in steps": lambda certainty: 0.6 + 0.32 * np.round(certainty * 3) / 3,
    "good": lambda certainty: np.minimum(1.0, 0.7 + 0.5 * certainty),
}


def draw_choice(curve, rng):
    """Choose a threshold on labels of a random sample; return the share that is decided, and its true agreement."""
    certainties = rng.random(VERDICTS)
    # as certain as shares of repeats are, with ties
    certainties = np.round(certainties * 3) / 3 if curve == "in steps" else certainties
    agrees = rng.random(VERDICTS) < CURVES[curve](certainties)
    labelled = [(float(certainties[n]), bool(agrees[n])) for n in rng.permutation(VERDICTS)[:LABELS]]
    threshold = choose_threshold(certainties.tolist(), labelled, AGREEMENT).threshold
    if threshold is None:
        return 0.0, 1.0
    decided = certainties >= threshold
    return decided.mean(), CURVES[curve](certainties[decided]).mean()


@pytest.mark.parametrize("curve", CURVES)
def test_the_agreement_is_missed_in_at_most_one_of_twenty_samples(curve):
    """1,000 samples of labels for each judge, whose certainty says much, little, nothing or the opposite."""
    rng = np.random.default_rng(20261127)
    agreements = [draw_choice(curve, rng)[1] for _ in range(REPETITIONS)]
    violations = sum(agreement < AGREEMENT - 1e-9 for agreement in agreements)
    assert violations <= ERROR * REPETITIONS


def test_a_good_judge_decides_most_cases():
    """A judge that errs only where it says so decides nearly all that it may."""
    rng = np.random.default_rng(1)
    assert np.mean([draw_choice("good", rng)[0] for _ in range(100)]) > 0.5


def test_a_judge_that_errs_too_often_decides_nothing_and_says_how_many_labels_help():
    """One disagreement in twenty needs more labels than there are, one in four no number of them."""
    certainties = [n / 100 for n in range(100)]
    for every, agreement, needed in ((20, 0.9, 175), (4, 0.97, None)):
        labelled = [(certainty, n % every > 0) for n, certainty in enumerate(certainties)]
        choice = choose_threshold(certainties, labelled, agreement)
        assert (choice.threshold, choice.labels_needed) == (None, needed)
    assert choose_threshold([], [], AGREEMENT).labels_needed == count_labels_needed(AGREEMENT) == 29
