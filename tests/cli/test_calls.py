"""`greval calls`: its filters and formats."""

from __future__ import annotations

import json

import pytest
from tone_metrics import PASSAGES, TONE, by_metric, cases

from greval import evaluate
from greval.testing import ScriptedJudge


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls") / "run"
    return evaluate(cases(2), [TONE, PASSAGES], ScriptedJudge(by_metric), out=folder, concurrency=1)


def test_json_lines_are_the_calls_of_the_sdk(run, greval_says, tmp_path):
    """Each line is a call as `Run.calls` gives it, filtered alike; -o writes the same to a file."""
    for options, filters in [
        ((), {}),
        (("--case", "q1"), {"sample_id": "q1"}),
        (("--metric", "passages", "--method", ""), {"metric": "passages", "method": ""}),
    ]:
        code, out, _ = greval_says("calls", run.folder, *options)
        expected = [call.model_dump(mode="json") for call in run.calls(**filters)]
        assert [json.loads(line) for line in out.splitlines()] == expected
        assert code == 0
        assert expected
    greval_says("calls", run.folder, "-o", tmp_path / "calls.jsonl")
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == 4


def test_failed_results_have_their_calls(greval_says, tmp_path):
    """`--status failed` prints every attempt at what failed, the reply verbatim, and nothing of other results."""
    judge = ScriptedJudge(lambda messages: "no JSON" if "Answer 1." in messages[1].text else by_metric(messages))
    run = evaluate(cases(2), [TONE], judge, out=tmp_path, retry_failed=False)
    _, out, _ = greval_says("calls", run.folder, "--status", "failed")
    calls = [json.loads(line) for line in out.splitlines()]
    assert [(call["sample_id"], call["reply"]) for call in calls] == [("q1", "no JSON")] * 2
    assert "That answer cannot be used" in calls[1]["messages"][-1]["text"]
    assert calls == [call.model_dump(mode="json") for call in run.calls(status="failed")]
    assert {call.sample_id for call in run.calls(status="scored")} == {"q0"}


def test_text_shows_prompt_and_reply(run, greval_says):
    """The text has a line on the call, then each message and the reply below its role."""
    _, out, _ = greval_says("calls", run.folder, "--case", "q1", "-m", "tone", "--format", "text")
    lines = out.splitlines()
    assert lines[0] == "q1  tone  (ScriptedJudge, 100 input tokens, 20 output tokens)"
    assert [line for line in lines if line.startswith("---")] == ["--- system", "--- user", "--- reply"]
    assert json.loads(lines[lines.index("--- reply") + 1]) == {"reason": "r", "value": "Polite"}


def test_no_calls(greval_says, tmp_path):
    """Without a call a line says why."""
    evaluate(cases(1), [TONE], ScriptedJudge(by_metric), out=tmp_path / "off", store_calls=False)
    code, out, err = greval_says("calls", tmp_path / "off")
    assert (code, out) == (0, "")
    assert "--no-store-calls" in err
