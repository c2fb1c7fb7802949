"""An Argilla stand-in, and a run to push."""

from __future__ import annotations

import pytest
from argilla_stand_in import serve_argilla
from tone_metrics import PASSAGES, TONE, by_metric, cases

from greval import evaluate
from greval.testing import ScriptedJudge


@pytest.fixture
def stand_in():
    """Serve an Argilla stand-in without datasets."""
    with serve_argilla() as server:
        yield server


@pytest.fixture
def toned(tmp_path):
    return evaluate(cases(4), [TONE, PASSAGES], ScriptedJudge(by_metric), out=tmp_path / "run").folder
