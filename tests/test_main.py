"""`python -m greval` is the command line."""

from __future__ import annotations

import subprocess
import sys

import pytest

import greval


@pytest.mark.parametrize(
    ("words", "code", "said"), [(["--version"], 0, greval.__version__), (["results", "no-such-run"], 2, "no-such-run")]
)
def test_the_package_runs_as_a_module(tmp_path, words, code, said):
    """It does what the script does, with its exit codes."""
    ran = subprocess.run(
        [sys.executable, "-m", "greval", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == code, ran.stderr
    assert said in ran.stdout + ran.stderr
