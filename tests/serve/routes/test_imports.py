"""Tests of the import of verdicts as a run."""

from __future__ import annotations

import pytest
from served_runs import rows, serving, uploaded

from greval.serve.quotas import parse_quota

VERDICTS = """\
id,question,answer,gpt4,why
q1,Who?,Ada.,yes,The expected person.
q2,When?,In 1842.,no,It was 1843.
q3,Where?,London.,perhaps,Nobody knows.
"""
CSV = {"Content-Type": "text/csv"}
COLUMNS = {"column": ["value=gpt4", "reason=why"]}


def send(client, text=VERDICTS, kind=CSV, **query):
    return client.post("/v1/runs/import", params={"name": "gpt4", **query}, content=text, headers=kind)


def test_verdicts_become_a_run(client, runs):
    """The run has the imported results with their reasons, and is read like any other."""
    answer = send(client, scale="yes/no", metric="right", judge="gpt-4", **COLUMNS)
    assert answer.status_code == 201, answer.text
    counts, info = answer.json(), answer.json()["run"]
    path = f"/v1/runs/{info['id']}"
    assert answer.headers["location"] == path
    assert [counts[name] for name in ("scored", "skipped", "failed", "unread_count")] == [2, 0, 1, 0]
    assert (info["status"], info["metrics"]) == ("finished", ["right"])
    (first, *_) = client.get(f"{path}/results").json()["results"]
    assert (first["tier"], first["judge"]) == ("imported", "imported:gpt-4")
    assert first["outcome"]["judgements"][0]["reason"] == "The expected person."
    report = client.get(f"{path}/report")
    assert ("gpt4.csv" in str(report.json()["imported"]), str(runs) in report.text) == (True, False)
    assert [entry["id"] for entry in client.get("/v1/runs").json()["runs"]] == [info["id"]]
    assert not [*runs.glob(".new-*")]


def test_cases_come_from_a_data_set(client):
    """A file of ids and values is joined with the cases of a data set, so that texts can be shown."""
    dataset = uploaded(client, rows(2))
    answer = send(client, '{"id": "q0", "value": 1}\n{"id": "q1", "value": 0}\n', {"Content-Type": "application/jsonl"},
                  metric="correctness", dataset=dataset)  # fmt: skip
    assert answer.status_code == 201, answer.text
    run = answer.json()["run"]["id"]
    assert client.get(f"/v1/runs/{run}/case", params={"sample_id": "q1"}).json()["case"]["question"] == "Who is 1?"


@pytest.mark.parametrize("quota", ["runs=1", "disk=1MB"])
def test_a_quota_holds_for_imported_runs(runs, quota):
    """An import is a run, and takes disk: a second one, or a large one, is refused, and nothing of it is left."""
    with serving(runs, quotas=(parse_quota(quota),)) as client:
        assert send(client, scale="yes/no", **COLUMNS).status_code == 201
        row = f"q,Who?,{'x' * 1000},yes,y\n"
        answer = send(client, VERDICTS + row * 1500, scale="yes/no", **COLUMNS)
        assert (answer.status_code, answer.json()["code"]) == (409, "quota_full"), answer.text
        assert len(client.get("/v1/runs").json()["runs"]) == 1
        assert not [*runs.glob(".new-*")]
