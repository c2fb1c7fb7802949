"""`greval replay`: what it prints and its exit codes."""

from __future__ import annotations

import json

import pytest
from command_line import TONE

from greval import evaluate
from greval.metrics.files import read_metric
from greval.testing import ScriptedJudge

CASES = [{"id": f"q{n}", "question": f"Question {n}?", "answer": f"Answer {n}."} for n in range(3)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tone.yaml").write_text(TONE)
    judge = ScriptedJudge([{"reason": "r", "value": "Rude"}])
    evaluate(CASES, [read_metric(tmp_path / "tone.yaml")], judge, out=tmp_path / "run")
    return tmp_path


def test_an_edited_score(folder, greval_says):
    """A line for each metric says how many results were read again, from and to which fingerprint."""
    (folder / "tone.yaml").write_text(TONE.replace("score: 0}", "score: 0.25}"))
    code, out, err = greval_says("replay", folder / "run", "-m", folder / "tone.yaml")
    assert (code, err) == (0, "")
    assert out.startswith("tone: 3 results read again (")
    assert "; 0 calls" in out
    code, out, _ = greval_says("replay", folder / "run")
    assert (code, "tone: 3 unchanged" in out) == (0, True)


def test_an_edited_step_ends_with_2(folder, greval_says):
    """A metric that is refused by name is on stderr with what changed, and the exit code is 2."""
    (folder / "tone.yaml").write_text(TONE.replace("Mark the words", "Count the words"))
    code, out, err = greval_says("replay", folder / "run", "-m", folder / "tone.yaml")
    assert (code, out) == (2, "")
    assert "tone: not replayed: the judge would be asked something else: steps.0 changed" in err


def test_reports_count_results_that_were_read_again(folder, greval_says):
    """The report on the terminal, as JSON and as HTML counts the results that were read again, and only those."""

    def report():
        page = folder / "report.html"
        greval_says("report", folder / "run", "--html", page)
        return (
            greval_says("report", folder / "run")[1],
            json.loads(greval_says("report", folder / "run", "--format", "json")[1])["replayed"],
            page.read_text(),
        )

    printed, counted, page = report()
    assert ("read again" in printed, counted, "read again" in page) == (False, {}, False)
    (folder / "tone.yaml").write_text(TONE.replace("score: 0}", "score: 0.25}"))
    greval_says("replay", folder / "run", "-m", folder / "tone.yaml")
    printed, counted, page = report()
    assert "tone: 3 results read again" in " ".join(printed.split())
    assert counted == {"tone": 3}
    assert "3 results read again" in page
