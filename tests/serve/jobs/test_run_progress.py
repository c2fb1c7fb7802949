"""Tests of the progress of a run over all of its legs."""

from __future__ import annotations

import pytest

from greval.records.result import Usage
from greval.runs.progress import Progress
from greval.serve.jobs.run_progress import add_leg, read_earlier_progress


@pytest.mark.parametrize("done", range(12))
def test_counts_never_fall_while_a_leg_catches_up(done):
    """Until a leg is where the run was, the counts of before stay; usage, cost and time grow from the start."""
    earlier = Progress(total=9, done=6, scored=5, failed=1, seconds=4.0, usage=Usage(calls=6), cost=0.5)
    leg = Progress(total=9, done=done, scored=done, kept=min(done, 5), seconds=1.0, usage=Usage(calls=2), cost=0.25)
    progress = add_leg(earlier, leg)
    assert progress.done == max(6, done)
    assert progress.done == progress.scored + progress.failed
    assert (progress.usage.calls, progress.cost, progress.seconds, progress.kept) == (8, 0.75, 5.0, 0)


def test_before_the_first_leg_nothing_is_known(tmp_path):
    """A run that has no log yet begins at 0."""
    assert read_earlier_progress(tmp_path, None) == Progress()
