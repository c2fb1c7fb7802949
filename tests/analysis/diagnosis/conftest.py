"""A judged run whose answers are wrong for different causes."""

from __future__ import annotations

import pytest
from diagnosed_cases import CASES, told_right

from greval import evaluate, load_metric
from greval.testing import ScriptedJudge


@pytest.fixture
def run(tmp_path):
    """Return the folder of a run with a right answer, two wrong ones of a walk, one of a vector search, one failed."""
    evaluate(CASES, [load_metric("correctness")], ScriptedJudge(told_right), out=tmp_path / "run")
    return tmp_path / "run"
