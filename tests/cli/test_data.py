"""`greval data`: what was recognised in a file, and which metrics fit it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("empty_folder")

ROWS = [
    {"user_input": "Who wrote it?", "response": "Ada", "reference": "Ada Lovelace", "topic": "notes"},
    {"user_input": "When \x1b[31mwas it?", "response": "word " * 90, "retrieved_contexts": ["In 1843.", "b"]},
    {"response": "Nine.", "rows": {"a": 1}},
]


def write_rows(path="cases.jsonl"):
    """Write the rows as JSON lines."""
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    return path


def test_everything_is_shown_in_80_columns(greval_says, monkeypatch):
    """Fields with their columns and counts, faulty rows with their lines, metrics and examples; nothing is wider."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = greval_says("data", write_rows())
    assert (code, err) == (0, "")
    lines = [line.rstrip() for line in out.splitlines()]
    for line in (
        "cases.jsonl: 2 cases, 1 row not a case",
        "question         user_input               2",
        "chunks           retrieved_contexts  1 of 2",
        "tags.topic       topic               1 of 2",
        "rows      no field has this name",
        "judged        2  answer_claims, answer_quality, completeness",
        "triples                   triple_evaluation, triple_words",
        "  question         Who wrote it?",
        "  chunks    2 chunks, the first: In 1843.",
        "next: greval evaluate cases.jsonl -m correctness --judge openai:gpt-5.4-mini",
    ):
        assert line in lines, line
    assert any(line.startswith("not a case: cases.jsonl:3: question: is missing") for line in lines)
    assert max(len(line) for line in lines if not line.startswith("not a case")) <= 80
    assert "\x1b" not in out
    assert "␛[31m" in out


def test_the_next_command_names_a_judge_that_is_there(greval_says, monkeypatch):
    """Without a key it is the embedded one; none is named if the environment names it."""
    cases = write_rows()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert f"next: greval evaluate {cases} -m correctness --judge local\n" in greval_says("data", cases)[1]
    monkeypatch.setenv("GREVAL_JUDGE", "openai:my-model")
    assert f"next: greval evaluate {cases} -m correctness\n" in greval_says("data", cases)[1]


def test_gold_and_walks_of_other_files_count(greval_says):
    """What is joined is counted as the fields of the cases, metrics that need it fit, and the next command has it."""
    cases = write_rows()
    Path("gold.json").write_text('[{"id": "row-1", "essential_docs": ["d1"]}]', encoding="utf-8")
    Path("logs.jsonl").write_text('{"id": "row-2", "traversed_edges": [["a", "b"]]}', encoding="utf-8")
    code, out, _ = greval_says("data", cases, "--gold", "gold.json", "--traversal", "logs.jsonl")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert any(line.startswith("gold") and line.endswith("1 of 2") for line in lines)
    assert any(line.startswith("traversal") and line.endswith("1 of 2") for line in lines)
    assert lines[-1].endswith("--gold gold.json --traversal logs.jsonl")


def test_columns_can_be_named(greval_says):
    """The columns of a file in another language are named once, and the next command repeats them."""
    Path("fragen.csv").write_text("Frage;Antwort\nWer?;Ada\n", encoding="utf-8")
    code, _, err = greval_says("data", "fragen.csv")
    assert code == 2
    assert "(columns: Frage, Antwort); name it with --column question=NAME" in err
    code, out, _ = greval_says("data", "fragen.csv", "--column", "question=Frage", "--column", "answer=Antwort")
    assert code == 0
    assert "-m completeness --judge openai:gpt-5.4-mini --column question=Frage --column answer=Antwort" in out


def test_json(greval_says):
    """As JSON everything is there, the examples included."""
    code, out, _ = greval_says("data", write_rows(), "--format", "json")
    summary = json.loads(out)
    assert (code, summary["cases"], summary["fault_count"]) == (0, 2, 1)
    assert summary["fields"][0] == {"field": "question", "columns": ["user_input"], "cases": 2}
    assert summary["examples"][0]["answer"] == "Ada"
    assert {"metric": "correctness", "kind": "judged", "cases": 1} in summary["fitting"]


def test_a_file_without_cases_ends_with_2(greval_says):
    """If no row is a case, the columns and the first faults are shown."""
    Path("a.jsonl").write_text('{"Frage": "Wer?"}\n', encoding="utf-8")
    code, out, _ = greval_says("data", "a.jsonl")
    assert code == 2
    assert "its columns are Frage" in out
    assert "next:" not in out
