"""A person answers on the web page in a real browser, and exactly that comes back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from judged_runs import DEPTH, TONE, judged, rows

from greval.argilla import pull, push

SCRIPT = Path(__file__).with_name("browser.py")


@pytest.fixture
def browser():
    """Give an interpreter that has playwright and the program of a browser, by the environment or as they are found."""
    python = os.environ.get("GREVAL_TEST_PLAYWRIGHT", sys.executable)
    program = os.environ.get("GREVAL_TEST_BROWSER") or shutil.which("chromium")
    if not program:
        pytest.skip("no browser is here: install chromium, or name one in GREVAL_TEST_BROWSER")
    if subprocess.run([python, "-c", "import playwright"], check=False, capture_output=True).returncode:
        pytest.skip("no playwright is here: name an interpreter that has it in GREVAL_TEST_PLAYWRIGHT")
    return python, program


@pytest.mark.parametrize(
    ("metric", "labels", "suggestions"),
    [
        pytest.param(TONE, ["Polite", "Rude", "Plain", "Rude"], False, id="labels-blind"),
        pytest.param(TONE, ["Polite", "Rude", "Plain", "Rude"], True, id="labels-suggested"),
        pytest.param(DEPTH, [4, 1, 5, 1], False, id="rating-blind"),
    ],
)
def test_what_a_person_does_on_the_page_comes_back(browser, owner, tmp_path, metric, labels, suggestions):
    """Submits, a discard and a draft made on the page are pulled with the right things; texts are shown as they are."""
    run = judged(tmp_path / "run", metric, 12)
    done = push(run, metric.name, dataset="d", workspace=owner.workspace, suggestions=suggestions)
    person = owner.person()
    python, program = browser
    words = [python, SCRIPT, program, owner.url, done.page, person["username"], "password1", *labels]
    ended = subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert "<script>alert(" in said["body"]
    things = {f"What is <number> {n}?": f"q{n}" for n in range(12)}
    expected = {things[one["question"]]: (one["button"], one["label"]) for one in said["done"]}
    assert len(expected) == 6

    pulled = pull(run, dataset="d", workspace=owner.workspace)
    found = {row["sample_id"]: (row["status"], row["value"]) for row in rows(run / "annotations.jsonl")}
    statuses = {"Submit": "submitted", "Discard": "discarded", "Save as draft": "draft"}
    assert {one: status for one, (status, _) in found.items()} == {
        one: statuses[button] for one, (button, _) in expected.items()
    }
    assert {one: str(found[one][1]) for one, (button, _) in expected.items() if button == "Submit"} == {
        one: label for one, (button, label) in expected.items() if button == "Submit"
    }
    (counts,) = pulled.annotators
    assert (counts.submitted, counts.draft, counts.discarded, counts.pending) == (4, 1, 1, 6)
