"""`greval questions`: questions with gold from an index or from documents, and what was left out."""

from __future__ import annotations

import json

import pytest
from fault_server import KEY, answers_as, error
from question_judge import script
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
    """Documents are indexed first; the report counts types, rejections and coverage, and stderr tells the files."""
    code, out, err = greval_says("questions", documents, "-n", 9, "-o", tmp_path / "q.jsonl")
    assert (code, err) == (0, "files read: 5 .txt\n")
    assert f"{tmp_path / 'q.jsonl'}: 9 questions of 9 wanted" in out
    assert f"{tmp_path / 'q.drafts.jsonl'}\n" in out
    assert "coverage: " in out
    assert len((tmp_path / "q.jsonl").read_text(encoding="utf-8").splitlines()) == 9


def test_an_index_gives_the_same_questions_as_its_documents(documents, tmp_path, greval_says):
    """The command on an index that `index build` made of the documents draws the same."""
    words = ("-n", 9, "--seed", 4)
    greval_says("index", "build", documents, "-o", tmp_path / "kept", "--embedding", "tfidf")
    for source, file in ((documents, "a.jsonl"), (tmp_path / "kept", "b.jsonl")):
        assert greval_says("questions", source, *words, "-o", tmp_path / file)[0] == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_dry_run_writes_nothing(documents, tmp_path, greval_says):
    """The report is the same, and no file appears."""
    code, out, _ = greval_says("questions", documents, "-o", tmp_path / "q.jsonl", "--dry-run", "--format", "json")
    assert code == 0
    assert json.loads(out)["accepted"]["single_fact"] > 0
    assert not (tmp_path / "q.jsonl").exists()


def test_files_that_are_no_documents_are_told(documents, tmp_path, greval_says):
    """The terms of a licence are passed over; a file that cannot be read is named, and the exit code says so."""
    (documents / "LICENSE.txt").write_text("Take it.", encoding="utf-8")
    (documents / "broken.txt").write_bytes(b"\xff\xfe\x00")
    code, out, err = greval_says("questions", documents, "-n", 3, "-o", tmp_path / "q.jsonl")
    assert code == 3
    assert "3 questions of 3 wanted" in out
    assert "files read: 6 .txt; passed over: 1 LICENSE.txt; a file that is named is read\n" in err
    assert "not a document: " in err
    assert "broken.txt: is UTF-16" in err


def test_texts_without_a_question_end_with_3(tmp_path, greval_says):
    """If nothing could be drawn, the exit code says so."""
    (tmp_path / "a.txt").write_text("Nothing to see. It rains.", encoding="utf-8")
    code, out, _ = greval_says("questions", tmp_path / "a.txt", "-o", tmp_path / "q.jsonl")
    assert code == 3
    assert "0 questions of 50 wanted" in out


@pytest.fixture
def ask(fault_server, tmp_path, greval_says, monkeypatch):
    """Run the command on the index of the fleet with a model on a server, which follows a script."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    fault_server.plan = answers_as({"fake": script()[0]})
    fleet = build_fleet(tmp_path / "index")

    def run(*words):
        model = ("--model", "openai:fake", "--base-url", fault_server.url, "--max-retries", 0)
        return greval_says("questions", fleet, "-o", tmp_path / "q.jsonl", *model, *words)

    return run


def test_a_model_words_questions_and_the_report_has_its_cost(ask, fault_server, tmp_path):
    """The report names the model, the share of accepted questions, calls, tokens and cost; again, nothing is asked."""
    code, out, err = ask("-n", 4)
    assert (code, err) == (0, "")
    assert "model: openai:fake; judge: openai:fake\naccepted: 4 of 4 that models worded or checked (100%)\n" in out
    tokens = f"{100 * fault_server.calls:,} input and {20 * fault_server.calls:,} output tokens"
    assert f"calls: {fault_server.calls}, {tokens}, cost unknown" in out
    assert "Please tell me: " in (tmp_path / "q.jsonl").read_text(encoding="utf-8")
    again = ask("-n", 4)[1]
    assert f"calls: 0, {fault_server.calls} reused, " in again
    assert f"all commands for this file: {fault_server.calls} calls" in again


def test_a_failed_call_ends_with_3_and_is_asked_again(ask, fault_server):
    """The report counts what failed, by its error; the same command makes it good."""
    plan = fault_server.plan
    requests = []

    def fail_once(body):
        requests.append(body["response_format"]["json_schema"]["name"])
        return error(500) if requests[-1] == "recall" and requests.count("recall") == 1 else plan(body)

    fault_server.plan = fail_once
    code, out, _ = ask("-n", 2, "--types", "single_fact")
    assert code == 3
    assert "accepted: 1 of 1 " in out
    assert "failed: 1 question; the same command asks them again\n      1  openai:fake: server: " in out
    fault_server.plan = plan
    code, out, _ = ask("-n", 2, "--types", "single_fact")
    assert (code, "failed: " in out) == (0, False)


def test_a_cap_ends_with_3_and_says_how_to_go_on(ask):
    """What is done is written, and the reason stands on stderr."""
    code, out, err = ask("-n", 4, "--max-calls", 3)
    assert code == 3
    assert "stopped: the cap of 3 calls is reached (--max-calls)" in err
    assert "calls: 3, " in out
