"""A run whose definition can be improved, for the tests of alignment."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from aligned_runs import COUNT, TONE, follower, judged, labels, tones, wrong_in


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write a run whose judge improves much with examples or with rewritten texts."""
    truth = tones(COUNT)
    folder = tmp_path_factory.mktemp("made") / "run"
    return judged(folder, TONE, truth, follower(TONE, truth, wrong_in(0.4, 0.02))), truth


@pytest.fixture
def better(made, tmp_path):
    """Copy that run, and return it with its labels and a judge without calls."""
    run, truth = made
    folder = Path(shutil.copytree(run.folder, tmp_path / "run"))
    return replace(run, folder=folder), labels(TONE, truth), follower(TONE, truth, wrong_in(0.4, 0.02))
