"""Tests of the trip of a case: how many modules it enters in a run, and a request in the server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "trace_case.py"


@pytest.mark.nightly
def test_the_trips_keep_to_their_targets():
    """A case, a request and a push enter no more modules than planned: the benchmark fails if a figure exceeds it."""
    traced = subprocess.run([sys.executable, str(SCRIPT), "--path"], capture_output=True, text=True, check=False)
    assert traced.returncode == 0, traced.stdout + traced.stderr
    path = traced.stdout.splitlines()[0].split(" -> ")
    assert {"greval.runs.worker", "greval.judging.prompt", "greval.runs.store.writer"} <= {*path}
