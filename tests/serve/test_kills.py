"""Kills with -9 of a server, its workers and the processes of its runs, at random moments."""

from __future__ import annotations

import pytest
from server_kills import kill_at_random


@pytest.mark.nightly
def test_kills_at_random_moments_lose_nothing(tmp_path):
    """Every run ends, no finished judgement is asked again, usage covers all legs, and no process is left."""
    figures = kill_at_random(tmp_path, kills=8, runs=3, count=150, seed=11)
    assert (figures.lost, figures.repeated, figures.left) == ([], 0, 0)
    assert figures.cases <= figures.told <= figures.calls
