"""`greval batch`: submit the requests of a run, ask for their state, and judge with the replies."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from batch_server import BatchServer
from fault_server import sample
from typer.testing import CliRunner

from greval.cli.app import app

CASES = [{"id": f"q{n}", "question": f"Q{n}?", "answer": f"A{n}.", "chunks": ["a", "b", "c"]} for n in range(3)]


def test_the_commands_send_tell_and_collect(tmp_path, monkeypatch):
    """The three commands carry a run from cases to its report."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-batches")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in CASES))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = BatchServer(lambda body: json.dumps(sample(body["response_format"]["json_schema"]["schema"], body)))
    runner = asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    say = CliRunner()
    judged_by = ["--judge", "openai:fine", "--base-url", server.url]
    sent = say.invoke(app, ["batch", "submit", "cases.jsonl", "-m", "answer_quality", "-o", "run", *judged_by])
    assert "3 requests submitted" in sent.output, sent.output
    told = [say.invoke(app, ["batch", "status", "run"]).output for _ in range(4)]
    assert "completed, 3 of 3 answered" in told[-1]
    report = say.invoke(app, ["batch", "collect", "run"])
    assert report.exit_code == 0, report.output
    assert "answer_quality" in report.output
    assert "no batch is pending" in say.invoke(app, ["batch", "status", "run"]).output
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("submit", "cases.jsonl", "-m", "answer_quality", "--judge", "local", "-o", "run"), "expected openai:MODEL"),
        (("submit", "cases.jsonl", "-m", "answer_quality", "-o", "run"), "No judge is named"),
        (("submit", "cases.jsonl", "-m", "answer_quality", "--judge", "openai:m"), "--out"),
        (("status", "none"), "greval batch submit CASES -m METRIC -o none"),
        (("collect", "none"), "greval batch submit CASES -m METRIC -o none"),
    ],
)
def test_what_cannot_be_a_batch_ends_with_2(greval_says, empty_folder, words, part):
    """The embedded model has no batches, and a folder without one says how to send it."""
    (empty_folder / "cases.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in CASES), encoding="utf-8")
    code, out, err = greval_says("batch", *words)
    assert (code, out) == (2, "")
    assert part in err
    assert not Path("run").exists()
