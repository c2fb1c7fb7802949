"""`greval history`: what it prints, its page, its JSON and frame, and the exit codes of its gate."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from compared_runs import LATENCY, RIGHT, write

from greval.analysis.history.api import build_history
from greval.runs.store import FILE


@pytest.fixture
def runs(tmp_path):
    """Write eight runs, of which the last three are worse, and the first was judged by another judge."""
    rng = np.random.default_rng(3)
    for number in range(8):
        share = 0.3 if number > 4 else 0.95
        figures = {("", "right"): (rng.random(40) < share).astype(int).tolist(), ("", "latency"): [1.0, 2.0, 3.0]}
        run = write(tmp_path / f"r{number}", figures, metrics=[RIGHT, LATENCY], judge="j" if number else "<b>other</b>")
        os.utime(run / FILE, (1_764_000_000 + 86_400 * number,) * 2)
    return tmp_path


def test_what_changed_is_said_first(greval_says, runs):
    """A sentence on each change comes before the tables, in which runs that are not compared say why."""
    code, out, _ = greval_says("history", runs)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("8 runs from 2025-11-24")
    assert lines[1].startswith("right is worse from r5 on: 0.9")
    assert lines[2] == "No change was found in 1 metric of 2."
    (changed,) = [line for line in lines if line.startswith("r5") and "worse" in line]
    assert "-0." in changed
    assert any("new judge" in line for line in lines if line.startswith("r1"))
    assert "latency (lower is better)" in out


def test_the_gate_ends_the_command(greval_says, runs):
    """Exit code 1 if the newest run is below its history, 0 if it is not, 2 if a name is wrong."""
    code, out, _ = greval_says("history", runs, "-m", "right", "--fail-if", "right < history - 0.9")
    assert code == 0
    assert "passed: right < history - 0.9" in out
    code, out, err = greval_says("history", runs, "--last", 6, "--format", "json", "--fail-if", "right < 0.5")
    assert code == 1
    assert json.loads(out)["gate"][0]["met"] is True
    assert "right < 0.5" in err
    code, _, err = greval_says("history", runs, "--fail-if", "wrong < history")
    assert code == 2
    assert "wrong" in err


def test_the_page_has_every_run(greval_says, runs, tmp_path):
    """The page is one file with a row and a drawing for each run; names are text and no markup."""
    page = tmp_path / "history.html"
    assert greval_says("history", runs, "--html", page)[0] == 0
    text = page.read_text()
    assert text.count('<svg class="interval"') == 16
    assert "right is worse from" in text
    assert "<b>other" not in text


def test_a_history_shows_itself(runs):
    """It is printed as by the command, has a frame with a row for each point, and a plot."""
    history = build_history([runs])
    assert "right is worse from r5 on" in str(history)
    frame = history.frame()
    assert len(frame) == 16
    assert frame[frame.change == "worse"].run.tolist() == ["r5"]
    assert len(history.plot().axes) == 2
