"""What a run survives, through the command line: short versions of benchmarks/durability.py."""

from __future__ import annotations

import signal
import sys
from itertools import count
from pathlib import Path

import fault_server as fault
import pytest
from tone_metrics import TONE, cases
from virtual_time import in_virtual_time, now

from greval import Judge, evaluate_async
from greval.judging.model.wait_times import FIRST_BACKOFF_SECONDS

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import durability

COUNT = 200


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "times"), [(signal.SIGKILL, 3), (signal.SIGTERM, 1)])
def test_a_run_that_is_stopped_goes_on(number, times):
    """Stopped at random moments, the same command ends with the log of an unbroken run; TERM repeats no call."""
    assert durability.kills(COUNT, times, number).missed == ()


def test_a_full_disk():
    """A full disk ends with 2 and what to do, breaks nothing, and with room the same command finishes."""
    assert durability.disk(COUNT, 400, mounted=False).missed == ()


@pytest.mark.nightly
def test_faults_of_all_kinds():
    """Refusals, errors, resets, broken answers and a hang lose no judgement and cost few calls."""
    missed = durability.mix(COUNT // 3, timeout=5).missed
    assert [one for one in missed if one != "the hang costs one deadline"] == []  # that is a figure of a quiet machine


def test_a_wrong_key():
    """A wrong key ends with 3 after a few calls and names the variable; with the right one the run finishes."""
    assert durability.key(COUNT).missed == ()


@in_virtual_time
async def test_hangs_cost_one_deadline(tmp_path):
    """Requests that hang for ever cost one deadline together, and one short pause before they are made again."""
    numbers, start = count(1), now()
    async with fault.FaultServer(lambda _: fault.hangs() if next(numbers) % 50 == 0 else fault.ok()) as server:
        judge = Judge("openai:fake", base_url=server.url, timeout=30)
        run = await evaluate_async(cases(COUNT), [TONE], judge, out=tmp_path, concurrency=8)
    assert (run.progress.scored, server.calls) == (COUNT, COUNT + COUNT // 50)
    assert 30 <= now() - start <= 30 + FIRST_BACKOFF_SECONDS
