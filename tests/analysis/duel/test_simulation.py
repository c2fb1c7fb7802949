"""Duels err as rarely as they promise: a short version of benchmarks/duel_simulation.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

from duel_simulation import simulate

pytestmark = [pytest.mark.nightly, pytest.mark.no_cover]  # its lines are reached by other tests, and it is slow enough
REPEATS = 200


def test_intervals_hold_the_truth():
    """Intervals of win rates and of strengths hold the truth in about 95 of 100 runs of two metrics."""
    simulated = simulate("different", 40, REPEATS)
    for held, count in (simulated.rates, simulated.strengths):
        assert 0.92 < held / count < 0.98


def test_equal_methods_are_rarely_told_apart_and_a_judge_without_habits_is_rarely_accused():
    """Of four equal methods some pair is called different, and some habit is named, in at most about 5 of 100 runs."""
    simulated = simulate("equal", 40, REPEATS)
    assert simulated.alarms / REPEATS < 0.09
    assert simulated.accused / REPEATS < 0.09
