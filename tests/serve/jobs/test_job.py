"""Tests of a job: how it ends, and what it reports."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from fastapi.testclient import TestClient
from served_runs import YES, ended, rows, serving, started, uploaded, waited

from greval.runs.store import FILE
from greval.serve.app import create_app
from greval.serve.jobs.manager import MAX_DEATHS
from greval.serve.jobs.messages import SHUTDOWN_SECONDS
from greval.serve.jobs.queue import SPEC_FILE, read_job_state
from greval.serve.settings import MEGABYTE, ServerLimits, ServerSettings
from greval.testing import ScriptedJudge

DEADLY = """
import os, sys
def deadly(answer):
    if sys.argv[0].endswith("child.py"):  # not in the forecast of the run
        os.kill(os.getpid(), 9)
    return 1.0
"""
SLEEPY = f"""
import pathlib, time
def sleepy(answer):
    time.sleep({SHUTDOWN_SECONDS // 2})
    pathlib.Path(answer).touch()
    return 1.0
"""


@pytest.mark.nightly
def test_a_run_without_calls_does_not_delay_the_end(runs, tmp_path):
    """A run that has asked for no call has nothing to store: it is killed with the server, and resumed by the next."""
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    awake = tmp_path / "awake"
    with serving(runs, metrics=(f"{tmp_path}/sleepy.py:sleepy",)) as client:
        run = started(client, uploaded(client, [{**rows(1)[0], "answer": str(awake)}]), "sleepy")
        waited(client, run, lambda info: info["status"] == "running")
    assert not awake.exists()
    assert read_job_state(runs / run).status == "running"


@pytest.mark.nightly
def test_a_run_that_breaks_says_why(client, runs):
    """A run whose data set is broken meanwhile is failed, with the reason and no path, and nothing hangs."""
    data = uploaded(client, rows(3))
    run = started(client, data, max_calls=1)
    assert ended(client, run)["status"] == "stopped"
    (runs / ".datasets" / data / "cases.jsonl").unlink()
    client.post(f"/v1/runs/{run}/resume", json={"max_calls": 9})
    info = ended(client, run)
    assert (info["status"], "mine" in info["why"], str(runs) in info["why"]) == ("failed", True, False)


@pytest.mark.nightly
def test_an_internal_error_fails_the_run_without_its_message(tmp_path, capfd):
    """What nobody foresaw ends the run as failed; the trace is in the server's log only, and other runs go on."""
    with serving(tmp_path / "runs") as client:
        data = uploaded(client, rows(4))
        run, other_run = started(client, data, max_calls=1), started(client, data)
        ended(client, run)
        file = tmp_path / "runs" / run / SPEC_FILE
        file.write_text(json.dumps({**json.loads(file.read_text()), "definitions": [{"name": "no metric"}]}))
        client.post(f"/v1/runs/{run}/resume")
        info = ended(client, run)
        assert ended(client, other_run)["status"] == "finished"
    assert (info["status"], info["why"]) == ("failed", "an internal error of the server; see its log")
    assert "ValidationError" in capfd.readouterr().err


@pytest.mark.nightly
def test_a_run_of_another_version_of_the_log_fails_and_says_why(client, runs):
    """A run whose log this version cannot read does not stay at work for ever: it has failed, and says why."""
    run = started(client, uploaded(client, rows(2)))
    ended(client, run)
    with closing(sqlite3.connect(runs / run / FILE)) as log:
        log.execute("PRAGMA user_version = 7")
    assert client.post(f"/v1/runs/{run}/resume").status_code == 202
    info = ended(client, run)
    assert (info["status"], "another version" in info["why"], str(runs) in info["why"]) == ("failed", True, False)


@pytest.mark.nightly
def test_a_process_that_dies_again_and_again_fails_its_run(runs, tmp_path):
    """A metric that kills its process does not start for ever: the run has failed, with the signal; others go on."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    with serving(runs, metrics=(f"{tmp_path}/deadly.py:deadly",)) as client:
        data = uploaded(client, rows(3))
        run, other_run = started(client, data, "deadly"), started(client, data)
        assert ended(client, other_run)["status"] == "finished"
        info = ended(client, run)
    assert info["status"] == "failed"
    assert not [part for part in (f"died {MAX_DEATHS} times", "SIGKILL") if part not in info["why"]]
    assert not [*(runs / ".queue").iterdir()]


@pytest.mark.nightly
def test_a_run_that_needs_too_much_memory_fails(runs):
    """A data set that does not fit into the memory of a run ends this run only, with the option to raise."""
    with serving(runs, limits=ServerLimits(run_memory=64 * MEGABYTE)) as client:
        wide = "s" * 190_000 + "\N{GRINNING FACE}"  # which has four bytes for each of its characters
        content = json.dumps([{**rows(1)[0], "chunks": [wide]}] * 150)
        sent = client.post("/v1/datasets?name=big", content=content, headers={"Content-Type": "application/json"})
        info = ended(client, started(client, sent.json()["id"], "exact_match"))
        assert info["status"] == "failed"
        assert not [part for part in ("64 MB of memory", "--run-memory") if part not in info["why"]]
        assert ended(client, started(client, uploaded(client, rows(2))))["status"] == "finished"


@pytest.mark.nightly
def test_what_a_metric_prints_is_no_message(tmp_path):
    """Standard output of a run's process is the server's pipe: a metric that prints harms nothing."""
    (tmp_path / "loud.py").write_text("def loud(answer):\n    print('{\"asked\": 5}', flush=True)\n    return 1.0\n")
    with serving(tmp_path / "runs", metrics=(f"{tmp_path}/loud.py:loud",)) as client:
        assert ended(client, started(client, uploaded(client, rows(3)), "loud"))["progress"]["scored"] == 3
        assert client.app.state.service.call_limit.in_flight == 0


def test_a_chat_model_of_the_server_cannot_judge_a_run(tmp_path):
    """A judge that is no setting cannot be passed to a process: the run is refused, and says what is needed."""
    app = create_app(ServerSettings(runs=tmp_path / "runs"), {"scripted": ScriptedJudge([YES])})
    with TestClient(app, base_url="http://127.0.0.1") as client:
        body = {"dataset": uploaded(client, rows(1)), "metrics": ["correctness"]}
        answer = client.post("/v1/runs", json=body)
    assert (answer.status_code, "runs need the settings of a judge" in answer.text) == (502, True)
