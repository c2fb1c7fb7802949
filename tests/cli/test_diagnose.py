"""`greval diagnose`: the causes of wrong answers, by tag, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import case, write

from greval import Annotation, evaluate, load_metric, read_cases
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import keep_annotations

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def run():
    """Judge four cases, of which every second is wrong because its document was not retrieved."""
    gold = {"essential_docs": ["d1"]}
    rows = []
    for number in range(4):
        name, answer = ("d1", "Yes.") if number % 2 == 0 else ("d9", "No.")
        rows.append(case(number, answer=answer, gold=gold, chunks=[{"id": "c", "text": "Text.", "doc_id": name}]))
    write("cases.jsonl", rows)
    judge = ScriptedJudge([{"reason": "So.", "value": 1}, {"reason": "So.", "value": 0}])
    evaluate(read_cases("cases.jsonl"), [load_metric("correctness")], judge, out="run", concurrency=1)
    return "run"


def test_a_table_and_the_command_for_the_cases(greval_says, run):
    """The table counts the causes; the last line is the command that lists the cases."""
    code, out, _ = greval_says("diagnose", run)
    assert code == 0
    (header,) = [line for line in out.splitlines() if line.startswith("method")]
    (figures,) = [line for line in out.splitlines() if line.startswith("(none)")]
    assert header.split("  ")[-1].strip() == "all"
    assert figures.split()[1:] == ["2", "2", "4"]
    assert out.splitlines()[-1].endswith(f"greval diagnose {run} --show CAUSE")


def test_labels_say_how_far_the_verdicts_can_be_believed(greval_says, run):
    """The deciding metric has the paragraph of its agreement, if people labelled it."""
    labels = [Annotation(sample_id=f"q{n}", metric="correctness", annotator="ana", value=1 - n % 2) for n in range(4)]
    keep_annotations(run, labels)
    assert "correctness: What this means: " in greval_says("diagnose", run)[1]


def test_json_holds_the_diagnosis_of_each_case(greval_says, run):
    """Each case has one cause, and groups are by the tags of the command."""
    diagnosis = json.loads(greval_says("diagnose", run, "--by", "kind", "--format", "json")[1])
    assert [row["sample_id"] for row in diagnosis["rows"]] == ["q0", "q1", "q2", "q3"]
    right = [row["sample_id"] for row in diagnosis["rows"] if row["cause"] == "answered rightly"]
    assert right == ["q0", "q2"]
    (cause,) = {row["cause"] for row in diagnosis["rows"]} - {"answered rightly"}
    selection = json.loads(greval_says("diagnose", run, "--show", cause, "--format", "json")[1])
    assert [row["sample_id"] for row in selection["rows"]] == ["q1", "q3"]


def test_walks_of_wrong_answers_are_drawn(greval_says):
    """Each wrong answer with a walk has a file; a right one and one without a walk have none."""
    walk = {"start_nodes": ["a"], "traversed_edges": [["a", "to", "b"]]}
    gold = {"essential_docs": ["d1"], "expected_edges": [["a", "to", "c"]]}
    answers = [("Yes.", walk), ("No.", walk), ("No.", None)]
    write("cases.jsonl", [case(n, answer=answer, gold=gold, traversal=way) for n, (answer, way) in enumerate(answers)])
    judge = ScriptedJudge([{"reason": "So.", "value": value} for value in (1, 0, 0)])
    evaluate(read_cases("cases.jsonl"), [load_metric("correctness")], judge, out="run", concurrency=1)
    code, out, err = greval_says("diagnose", "run", "--svg", "drawn", "--format", "json")
    assert (code, err) == (0, "drawn: 1 walk drawn\n")
    assert json.loads(out)["rows"]
    (path,) = Path("drawn").iterdir()
    assert path.name == "001-q1.svg"
    assert "expected, not walked: a -to-&gt; c" in path.read_text(encoding="utf-8")
