"""Snapshots of a run: the time that is left, and the calls per second."""

from __future__ import annotations

import pytest

from greval.records import Usage
from greval.runs.progress import Progress


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"total": 10, "done": 4, "seconds": 8.0}, 12.0),
        ({"total": 10, "done": 6, "kept": 4, "seconds": 2.0}, 4.0),
        ({"total": 10, "done": 10, "seconds": 5.0}, 0.0),
        ({"total": 3, "done": 4, "seconds": 5.0}, 0.0),
        ({"total": None, "done": 4, "seconds": 8.0}, None),
        ({"total": 10, "done": 0, "seconds": 8.0}, None),
        ({"total": 10, "done": 4, "kept": 4, "seconds": 8.0}, None),
    ],
)
def test_the_time_left_is_that_of_new_judgements(fields, left):
    """Stored results took no time; without a total or a new judgement there is no estimate."""
    assert Progress(**fields).seconds_left == left


def test_calls_per_second():
    """The rate is the mean since the start, and 0 at the start."""
    assert Progress(usage=Usage(calls=6), seconds=3.0).calls_per_second == 2.0
    assert Progress(usage=Usage(calls=6)).calls_per_second == 0.0
