"""What damaged runs say through the command line: short versions of benchmarks/damage.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import damage


@pytest.mark.parametrize(
    ("damages", "results"), [(8, 60), pytest.param(200, 1_000, marks=pytest.mark.nightly)], ids=["few", "many"]
)
def test_random_damages(damages, results):
    """No internal error, no changed row, no figure that is silent about missing rows, and nothing whole is lost."""
    assert damage.measure(damages, results, seed=2).faults == []
