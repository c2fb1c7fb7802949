"""Two methods of equal true quality: a short version of benchmarks/simulation.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from simulation import ALONE, FEW_CHANGE, TWENTY, alarms, coverage, shares, skewed

pytestmark = [pytest.mark.nightly, pytest.mark.no_cover]  # its lines are reached by other tests, and it is slow enough

REPEATS = 200
ERROR = 0.047
"""Three standard errors of a share of 0.95 in 200 repeats."""


@pytest.mark.parametrize("layout", [ALONE, TWENTY], ids=["alone", "clustered"])
@pytest.mark.parametrize("draw", [shares, skewed], ids=["0/1", "long tails"])
def test_intervals_hold_what_they_promise(draw, layout):
    """The interval of a difference holds the true one in 95 % of comparisons, clustered or not."""
    assert coverage(draw, layout, REPEATS).shown == pytest.approx(0.95, abs=ERROR)


def test_clusters_must_be_told():
    """Without their clusters, questions of one document give intervals that promise far too much."""
    told = coverage(shares, TWENTY, REPEATS)
    alone = coverage(lambda rng, _: shares(rng, TWENTY.documents), ALONE, REPEATS)
    assert alone.shown < told.shown - ERROR


@pytest.mark.parametrize("layout", [ALONE, TWENTY], ids=["alone", "clustered"])
def test_a_family_gives_few_false_alarms(layout):
    """Of families of twelve tests at most 5 % have a false alarm after the correction, but for the error of drawing."""
    found = alarms(layout, 120)
    assert found["holm"] == found["bonferroni"] <= 0.05 + 0.06


@pytest.mark.parametrize("layout", [ALONE, TWENTY], ids=["alone", "clustered"])
def test_few_changes_give_few_false_alarms(layout):
    """If most tests cannot come below the level and so do not count, false alarms stay as rare."""
    found = alarms(layout, 400, draws=FEW_CHANGE)
    assert 0 < found["bonferroni"] == found["holm"] <= 0.05 + 0.033
