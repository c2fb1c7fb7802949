"""Argilla over HTTP: the server and its key are the operator's; what goes wrong there is told and changes nothing."""

from __future__ import annotations

import json

import pytest
from agreed_runs import said, write
from served_runs import ended, rows, serving, started, uploaded

from greval.runs.store.disk import lock_folder
from greval.trust.annotations.files import FIELDS, read_run_annotations, write_annotations
from greval.trust.argilla.ledger import get_ledger_folder

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


JSONL = {"Content-Type": "application/jsonl"}


VERDICTS = ["Yes", "Yes", "No", "Yes", "No", "No", "Yes", "No"]


ANA = ["Yes", "No", "No", "Yes", "No", "Yes", "Yes", "No"]


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def lines_of(annotations) -> str:
    return "".join(f"{one.model_dump_json()}\n" for one in annotations)


def get(client, path, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def plain(record, folder) -> dict:
    """Give a record as the server tells it: the run's id in place of its folder."""
    return json.loads(record.model_dump_json().replace(str(folder), folder.name))


def test_annotations_take_the_place_of_older_ones(client, runs, tmp_path):
    """Sending a file again changes nothing; a value given anew counts; pages hold each annotation once."""
    write(runs / "judged", "right", VERDICTS)
    table = tmp_path / "ana.csv"
    write_annotations(said("right", "ana", ANA), table)
    for _ in range(2):
        sent = client.put(
            "/v1/runs/judged/annotations", content=table.read_bytes(), headers={"Content-Type": "text/csv"}
        )
        assert sent.json() == {"annotations": 8, "held": 8}
    client.put("/v1/runs/judged/annotations", content=lines_of(said("right", "ana", ["No"])), headers=JSONL)
    first = get(client, "/v1/runs/judged/annotations", limit=5)
    rest = get(client, "/v1/runs/judged/annotations", limit=5, cursor=first["next"])
    found = [*first["annotations"], *rest["annotations"]]
    assert rest["next"] is None
    assert sorted(one["value"] for one in found) == sorted(["No", *ANA[1:]])
    assert len(read_run_annotations(runs / "judged").annotations) == 8


def test_rows_that_are_no_annotations_keep_nothing(client, runs):
    """A faulty row refuses the whole file with its line and why; what was there stays, and no file is left behind."""
    write(runs / "judged", "right", VERDICTS)
    sent = (
        lines_of(said("right", "ana", ANA))
        + '{"sample_id": "q1", "metric": "right", "annotator": "b", "value": "Perhaps"}\n'
    )
    answer = client.put("/v1/runs/judged/annotations", content=sent, headers=JSONL)
    assert answer.status_code == 422
    assert answer.json()["faults"][0].startswith("line 9: value: ")
    assert get(client, "/v1/runs/judged/annotations") == {"annotations": [], "next": None}
    assert not [*(runs / "judged").glob("*annotations*")]
    answer = client.put("/v1/runs/judged/annotations", content=",".join(FIELDS), headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415


def test_annotations_that_somebody_writes_are_left_alone(client, runs):
    """While a pull writes annotations of a run, a file of them is refused for the moment."""
    write(runs / "judged", "right", VERDICTS)
    sent = lines_of(said("right", "ana", ANA))
    with lock_folder(get_ledger_folder(runs / "judged")):
        assert client.put("/v1/runs/judged/annotations", content=sent, headers=JSONL).status_code == 409
    assert client.put("/v1/runs/judged/annotations", content=sent, headers=JSONL).status_code == 200
