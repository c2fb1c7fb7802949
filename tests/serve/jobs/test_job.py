"""Tests of a job: how it ends, and what it reports."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from served_runs import ended, rows, serving, started, uploaded

from greval.runs.store import FILE
from greval.serve.jobs.queue import SPEC_FILE


@pytest.fixture
def client(tmp_path):
    with serving(tmp_path / "runs") as client:
        yield client


def test_a_run_that_breaks_says_why(client, tmp_path):
    """A run whose data set is broken meanwhile is failed, with the reason and no path, and nothing hangs."""
    data = uploaded(client, rows(3))
    (tmp_path / "runs" / ".datasets" / data / "cases.jsonl").unlink()
    info = ended(client, started(client, data))
    assert (info["status"], str(tmp_path) in info["why"]) == ("failed", False)
    assert "mine" in info["why"]
    order = json.loads((tmp_path / "runs" / info["id"] / SPEC_FILE).read_text())
    assert order["asked"]["dataset"] == data


def test_a_fault_of_the_server_s_own_is_told_without_its_words(tmp_path, caplog):
    """What nobody foresaw ends the run as failed; the trace is in the server's log only, and other runs go on."""
    with serving(tmp_path / "runs") as client:
        data = uploaded(client, rows(4))
        run, other = started(client, data, max_calls=1), started(client, data)
        ended(client, run)
        file = tmp_path / "runs" / run / SPEC_FILE
        file.write_text(json.dumps({**json.loads(file.read_text()), "definitions": [{"name": "no metric"}]}))
        client.post(f"/v1/runs/{run}/resume")
        info = ended(client, run)
        assert ended(client, other)["status"] == "finished"
    assert (info["status"], info["why"]) == ("failed", "an internal error of the server; see its log")
    assert "ValidationError" in caplog.text


def test_a_run_of_another_version_of_the_log_fails_and_says_why(client, tmp_path):
    """A run whose log this version cannot read does not stay at work for ever: it has failed, and says why."""
    run = started(client, uploaded(client, rows(2)))
    ended(client, run)
    with closing(sqlite3.connect(tmp_path / "runs" / run / FILE)) as log:
        log.execute("PRAGMA user_version = 7")
    assert client.post(f"/v1/runs/{run}/resume").status_code == 202
    found = ended(client, run)
    assert (found["status"], "another version" in found["why"]) == ("failed", True), found
    assert str(tmp_path) not in found["why"]
