"""`greval questions`: questions with gold from an index or from documents, and what was left out."""

from __future__ import annotations

import json

import pytest
from question_worlds import FLEET, build_fleet


@pytest.fixture
def documents(tmp_path):
    """Return a folder with the documents of the fleet as texts."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in FLEET.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_questions_are_drawn_from_documents(documents, tmp_path, greval_says):
    """Documents are indexed first; the report counts types, rejections and coverage."""
    code, out, err = greval_says("questions", documents, "-n", 9, "-o", tmp_path / "q.jsonl")
    assert (code, err) == (0, "")
    assert f"{tmp_path / 'q.jsonl'}: 9 questions of 9 wanted" in out
    assert f"{tmp_path / 'q.drafts.jsonl'}\n" in out
    assert "coverage: " in out
    assert len((tmp_path / "q.jsonl").read_text(encoding="utf-8").splitlines()) == 9


def test_an_index_gives_the_same_questions_as_its_documents(documents, tmp_path, greval_says):
    """`--index` keeps the index of documents, and the command on it draws the same."""
    words = ("-n", 9, "--seed", 4)
    greval_says("questions", documents, *words, "-o", tmp_path / "a.jsonl", "--index", tmp_path / "kept")
    code, _, _ = greval_says("questions", tmp_path / "kept", *words, "-o", tmp_path / "b.jsonl")
    assert code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_dry_run_writes_nothing(documents, tmp_path, greval_says):
    """The report is the same, and no file appears."""
    code, out, _ = greval_says("questions", documents, "-o", tmp_path / "q.jsonl", "--dry-run", "--format", "json")
    assert code == 0
    assert json.loads(out)["accepted"]["single_fact"] > 0
    assert not (tmp_path / "q.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--types", "riddle"), "types: riddle unknown; the types are single_fact, "),
        (("--index", "other"), "is an index already; leave --index out"),
    ],
)
def test_wrong_use_says_what_to_do(tmp_path, greval_says, words, message):
    """An unknown type, or an index to keep of an index, ends with 2."""
    fleet = build_fleet(tmp_path / "index")
    code, _, err = greval_says("questions", fleet, "-o", tmp_path / "q.jsonl", *words)
    assert code == 2
    assert message in err


def test_texts_without_a_question_end_with_3(tmp_path, greval_says):
    """If nothing could be drawn, the exit code says so."""
    (tmp_path / "a.txt").write_text("Nothing to see. It rains.", encoding="utf-8")
    code, out, _ = greval_says("questions", tmp_path / "a.txt", "-o", tmp_path / "q.jsonl")
    assert code == 3
    assert "0 questions of 50 wanted" in out
