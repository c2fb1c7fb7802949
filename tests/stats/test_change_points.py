"""Change points: how often one is found if nothing changed, how fast if something did, and what is compared."""

import numpy as np
import pytest

from greval.stats.change_points import contrast_levels, find_change_points, spend_error

HISTORIES, CHANGED_HISTORIES, RUNS, QUESTIONS = 200, 1_000, 20, 100
MOST_ALARMS, LEAST_FOUND = 0.05, 0.8


def draw_shares(rng, runs):
    """Draw 0/1 figures of questions that are easy or hard, each with luck in each run."""
    return (rng.random((runs, QUESTIONS)) < rng.beta(4, 1.5, QUESTIONS)).astype(float)


def draw_means(rng, runs):
    """Draw figures of five levels without any effect of the question."""
    return rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], p=[0.05, 0.1, 0.2, 0.35, 0.3], size=(runs, QUESTIONS))


def draw_fresh(rng, runs):
    """Draw runs of questions that no other run has."""
    figures = np.full((runs, QUESTIONS * runs), np.nan)
    for run, own in enumerate(draw_means(rng, runs)):
        figures[run, run * QUESTIONS : (run + 1) * QUESTIONS] = own
    return figures


def draw_rare_faults(rng, runs):
    """Draw 0/1 figures of which 95 % are 1, so that every few runs one is without a fault."""
    return (rng.random((runs, QUESTIONS)) < rng.beta(19, 1, QUESTIONS)).astype(float)


DRAWN = {
    "shares": draw_shares,
    "means": draw_means,
    "other questions in each run": draw_fresh,
    "rare faults": draw_rare_faults,
    "rare successes": lambda rng, runs: 1 - draw_rare_faults(rng, runs),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", DRAWN)
def test_a_flat_history_is_left_alone(name):
    """Of 200 histories of 20 runs without a change, at most 5 % have an alarm at any of their looks."""
    rng = np.random.default_rng(43)
    alarms = sum(bool(find_change_points(DRAWN[name](rng, RUNS))) for _ in range(HISTORIES))
    assert alarms <= MOST_ALARMS * HISTORIES


@pytest.mark.nightly
@pytest.mark.parametrize("before", [6, 10, 20])
@pytest.mark.parametrize("kind", ["numbers", "shares"])
def test_a_planted_drop_is_found_within_two_runs(kind, before):
    """A drop of three standard errors of a run's mean is found at the first or the second run in 80 % of histories."""
    rng, found = np.random.default_rng(44), 0
    for _ in range(CHANGED_HISTORIES):
        if kind == "numbers":
            runs = rng.normal(0.7, 0.2, size=(before + 2, QUESTIONS))
            runs[before:] -= 3 * 0.2 / np.sqrt(QUESTIONS)
        else:
            chances = np.repeat([rng.beta(4, 1.5, QUESTIONS)], before + 2, axis=0)
            chances[before:] -= 3 * np.sqrt(chances[0].mean() * (1 - chances[0].mean()) / QUESTIONS)
            runs = (rng.random(chances.shape) < chances).astype(float)
        found += any(change.found >= before for change in find_change_points(runs))
    assert found >= LEAST_FOUND * CHANGED_HISTORIES


def test_a_lucky_run_is_no_change():
    """A run without a fault after runs of which each has a few is noise, of the same questions or of others."""
    rng = np.random.default_rng(48)
    runs = (rng.random((20, QUESTIONS)) < 0.95).astype(float)
    runs[19] = 1
    assert find_change_points(runs) == []
    others = np.full((20, 20 * QUESTIONS), np.nan)
    for run in range(20):
        others[run, run * QUESTIONS : (run + 1) * QUESTIONS] = runs[run]
    assert find_change_points(others) == []


def test_few_histories_without_a_change_have_an_alarm():
    """The same on a few histories, with each change of the code."""
    rng = np.random.default_rng(47)
    assert sum(bool(find_change_points(draw_shares(rng, 12))) for _ in range(40)) <= 2


def test_a_change_is_at_the_first_run_after_it():
    """A slow change is found later than it began, and is at the run where it began; then a new level counts."""
    rng = np.random.default_rng(46)
    runs = rng.normal(0.7, 0.2, size=(16, QUESTIONS))
    runs[6:11] -= 0.16
    changes = find_change_points(runs)
    assert [change.first for change in changes] == [6, 11]
    assert [change.contrast.difference < 0 for change in changes] == [True, False]
    # what is better is the other way round
    assert [change.first for change in find_change_points(1 - runs, better="lower")] == [6, 11]


def test_no_test_reaches_over_a_break():
    """Runs that were judged otherwise are not compared with those before, however large the difference is."""
    runs = np.concatenate([np.zeros((4, QUESTIONS)), np.ones((4, QUESTIONS))]) + np.eye(8, QUESTIONS) / 10
    assert [change.first for change in find_change_points(runs)] == [4]
    assert find_change_points(runs, breaks=[4]) == []


def test_sides_are_paired_where_questions_are_shared():
    """Shared questions are compared one by one; of other questions both means have an error of their own."""
    easy, hard = [0.9, 0.8, 0.85, 0.95], [0.1, 0.2, 0.15, 0.05]
    old = np.array([[*easy, *hard]])
    shared = contrast_levels(old, old - 0.05 + np.eye(1, 8) / 100)
    assert (shared.paired, shared.n) == (True, 8)
    assert shared.difference == pytest.approx(-0.04875)
    other = contrast_levels(
        np.concatenate([old, np.full((1, 8), np.nan)], 1), np.concatenate([np.full((1, 8), np.nan), old - 0.05], 1)
    )
    assert (other.paired, other.n) == (False, 8)
    assert other.difference == pytest.approx(-0.05)
    assert other.error > 10 * shared.error
    assert contrast_levels(old[:, :1], old[:, :1]) is None


def test_all_looks_together_spend_the_error_once():
    """However many looks there are, their shares do not exceed the whole."""
    spent = sum(map(spend_error, range(1, 2_000)))
    assert 0.99 < spent < 1
    assert spend_error(24) > spend_error(25) > spend_error(121)
    assert spend_error(4) < spend_error(5)
