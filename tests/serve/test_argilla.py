"""Argilla over HTTP: the server and its key are the operator's; what goes wrong there is told and changes nothing."""

from __future__ import annotations

import pytest
from served_runs import ended, rows, serving, started, uploaded

PUSH = {"metric": "correctness", "dataset": "people"}
PULL = {"dataset": "people"}
BOTH = pytest.mark.parametrize(("action", "body"), [("push", PUSH), ("pull", PULL)])


@pytest.fixture
def client(tmp_path, monkeypatch):
    """Give a client of a server whose operator has set up an Argilla server that is not there."""
    monkeypatch.setenv("ARGILLA_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ARGILLA_API_KEY", "argilla.secret-of-the-operator")
    with serving(tmp_path / "runs") as client:
        yield client


@pytest.fixture
def run(client):
    """Give a run with verdicts."""
    run = started(client, uploaded(client, rows(2)))
    assert ended(client, run)["status"] == "finished"
    return run


@BOTH
def test_a_server_that_is_away(client, run, tmp_path, action, body):
    """An Argilla server that does not answer is a 502 that says so, without its key or a path."""
    answer = client.post(f"/v1/runs/{run}/argilla/{action}", json=body)
    assert (answer.status_code, "no answer" in answer.text) == (502, True), answer.text
    assert "secret-of-the-operator" not in answer.text
    assert str(tmp_path) not in answer.text


def test_what_was_not_judged_is_not_pushed(client, run, tmp_path):
    """A metric that the run does not hold is told, without a path."""
    answer = client.post(f"/v1/runs/{run}/argilla/push", json={**PUSH, "metric": "tone"})
    assert (answer.status_code, "tone" in answer.text, str(tmp_path) in answer.text) == (422, True, False)


@BOTH
def test_without_a_server_of_the_operator(client, run, monkeypatch, action, body):
    """Where the operator named none, the answer is 501 with what the operator sets; clients cannot name one."""
    monkeypatch.delenv("ARGILLA_API_KEY")
    answer = client.post(f"/v1/runs/{run}/argilla/{action}", json=body)
    assert (answer.status_code, "ARGILLA_API_KEY" in answer.text) == (501, True)
    answer = client.post(f"/v1/runs/{run}/argilla/{action}", json={**body, "url": "http://elsewhere"})
    assert (answer.status_code, "url" in answer.text) == (422, True)


@pytest.mark.parametrize(
    "change",
    [{"sample": "all"}, {"sample": "random:0"}, {"min_submitted": 0}, {"metric": ""}, {"dataset": ""}, {"key": "x"}],
)
def test_requests_that_are_none(client, run, change):
    """What could not be pushed is refused before anybody is asked."""
    assert client.post(f"/v1/runs/{run}/argilla/push", json={**PUSH, **change}).status_code == 422


def test_a_run_that_is_not_there(client):
    """A run that is not there is 404, whatever Argilla holds."""
    assert client.post("/v1/runs/none/argilla/push", json=PUSH).status_code == 404
    assert client.post("/v1/runs/none/argilla/pull", json=PULL).status_code == 404
