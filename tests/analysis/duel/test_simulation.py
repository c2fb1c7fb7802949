"""Duels err as rarely as they promise: a short version of benchmarks/duel_simulation.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

from duel_simulation import measure_accusations, measure_coverage, measure_false_alarms

pytestmark = pytest.mark.long


def test_intervals_hold_the_truth():
    """Intervals of strengths and of win rates hold the truth in about 95 of 100 runs."""
    for share in measure_coverage(40, 200):
        assert 0.92 < share < 0.98


def test_equal_methods_are_rarely_told_apart():
    """Of three equal methods, some pair is called different in at most about 5 of 100 runs."""
    assert measure_false_alarms(40, 200) < 0.09


def test_a_judge_without_habits_is_rarely_accused():
    """A judge without habits has any warning of two metrics in at most about 5 of 100 runs."""
    assert measure_accusations(40, 200) < 0.09
