"""`greval panel`: the agreement of judges by their run folders."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from command_line import case, write

from greval import Annotation, evaluate, load_metric, read_cases
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import keep_annotations

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def folders():
    """Judge six cases by two judges who differ in one of them."""
    write("cases.jsonl", [case(number) for number in range(6)])
    for name, last in (("a", 1), ("b", 0)):
        answers = [{"reason": "So.", "value": value} for value in (1, 0, 1, 0, 1, last)]
        evaluate(
            read_cases("cases.jsonl"), [load_metric("correctness")], ScriptedJudge(answers), out=name, concurrency=1
        )
    return "a", "b"


def test_a_panel_of_two_judges(greval_says, folders):
    """The report is a table or JSON, and both hold the same cases."""
    code, out, _ = greval_says("panel", *folders, "-m", "correctness")
    assert code == 0
    assert "correctness" in out
    panel = json.loads(greval_says("panel", *folders, "-m", "correctness", "--format", "json")[1])
    assert panel["metric"] == "correctness"


def test_the_panel_has_to_beat_the_floors(greval_says, folders):
    """With labels, the best floor is named, and those of the user stand beside the panel."""
    labels = [Annotation(sample_id=f"q{n}", metric="correctness", annotator="ana", value=(n + 1) % 2) for n in range(5)]
    keep_annotations("a", labels)
    out = greval_says("panel", *folders, "-m", "correctness", "--floor", "exact_match")[1]
    assert re.search("(The panel is|A rule of one line does) .*(baseline|the panel)", out)
    assert any(line.startswith("baseline: exact_match") for line in out.splitlines())


def test_the_verdicts_of_the_panel_are_written_as_annotations(greval_says, folders):
    """With -o each case has a row with the majority, which is empty for a tie of two judges."""
    code, _, _ = greval_says("panel", *folders, "-m", "correctness", "--combine", "majority", "-o", "panel.csv")
    assert code == 0
    with Path("panel.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert {row["sample_id"]: row["value"] for row in rows} == {
        **{f"q{n}": str((n + 1) % 2) for n in range(5)},
        "q5": "",
    }
