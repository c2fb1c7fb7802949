"""Tests of the trip of a case: how many modules it enters in a run, and a request in the server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "trace_case.py"


@pytest.fixture(scope="module")
def traced():
    """Return the output of the benchmark, which fails if a figure exceeds its target."""
    return subprocess.run([sys.executable, str(SCRIPT), "--path"], capture_output=True, text=True, check=False)


@pytest.mark.nightly
def test_the_trips_keep_to_their_targets(traced):
    """A case, a request and a push enter no more modules than planned; the output names those that they do."""
    assert traced.returncode == 0, traced.stdout + traced.stderr
    *_, stays, modules, reads = traced.stdout.splitlines()
    assert stays.startswith("stays of a case in evaluate: ")
    assert modules.startswith("modules of greval.serve in POST /v1/evaluate: ")
    assert reads.startswith("reads of the run in push_to_argilla: ")


@pytest.mark.nightly
def test_the_trips_pass_the_expected_modules(traced):
    """The trace sees the worker, the judge and the log, and in the server the route and the middleware."""
    path = traced.stdout.splitlines()[0].split(" -> ")
    assert {"greval.runs.worker", "greval.judging.prompt", "greval.runs.store.writer"} <= {*path}
    for module in ("middleware.access", "middleware.request_body", "routes.evaluate"):
        assert f"greval.serve.{module}\n" in traced.stdout
