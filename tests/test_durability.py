"""What a run survives, through the command line: short versions of benchmarks/durability.py."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import durability

pytestmark = pytest.mark.long

COUNT = 200


@pytest.mark.parametrize(("number", "times"), [(signal.SIGKILL, 3), (signal.SIGTERM, 1)])
def test_a_run_that_is_stopped_goes_on(number, times):
    """Stopped at random moments, the same command ends with the log of an unbroken run; TERM repeats no call."""
    assert durability.kills(COUNT, times, number).missed == ()


def test_a_full_disk():
    """A full disk ends with 2 and what to do, breaks nothing, and with room the same command finishes."""
    assert durability.disk(COUNT, 400, mounted=False).missed == ()


def test_faults_of_all_kinds():
    """Refusals, errors, resets, broken answers and a hang lose no judgement and cost few calls."""
    assert durability.mix(COUNT // 3, timeout=2).missed == ()


def test_a_wrong_key():
    """A wrong key ends with 3 after a few calls and names the variable; with the right one the run finishes."""
    assert durability.key(COUNT).missed == ()


def test_two_runs_in_one_folder():
    """The second run ends at once, says why, and does no harm to the first."""
    assert durability.two(COUNT).missed == ()


def test_hangs_cost_one_deadline():
    """Requests that hang for ever cost one deadline together."""
    assert durability.hang(COUNT, timeout=3).missed == ()
