"""The input of `greval evaluate`: cases joined with gold of other files."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_gold_of_a_file_of_its_own_is_joined_and_its_faults_are_told(greval_says, monkeypatch, tmp_path):
    """Gold is joined by id; a row that holds none, as by a slip in a name, ends the command before any figure."""
    (tmp_path / "cases.jsonl").write_text(
        '{"id": "q1", "question": "Who?", "chunks": [{"id": "c1", "text": "t", "doc_id": "d1"}]}\n', encoding="utf-8"
    )
    (tmp_path / "gold.jsonl").write_text('{"id": "q1", "essential_docs": ["d1", "d2"]}\n', encoding="utf-8")
    (tmp_path / "slip.jsonl").write_text('{"id": "q1", "esential_docs": ["d1"]}\n[]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command = ("evaluate", "cases.jsonl", "-m", "recall@5", "-o", "run")
    code, printed, told = greval_says(*command, "--gold", "gold.jsonl")
    assert code == 0, told
    assert "min 0.5, median 0.5, max 0.5" in printed
    code, _, told = greval_says(*command, "--gold", "slip.jsonl")
    assert code == 2
    assert "slip.jsonl:1: names no gold" in told
    assert "slip.jsonl:2: " in told
