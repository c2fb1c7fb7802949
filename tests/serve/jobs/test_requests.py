"""Tests of the way from a request to a queued job."""

from __future__ import annotations

import pytest
from served_runs import rows, serving, two_tenants, uploaded

from greval.serve.jobs.requests import MAX_QUEUED


@pytest.fixture
def client(tmp_path):
    with serving(tmp_path / "runs") as client:
        yield client


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"dataset": "none"}, 404, "data set 'none'"),
        ({"metrics": ["no_such"]}, 404, "no_such"),
        ({"metrics": ["../../x.yaml"]}, 404, "x.yaml"),
        ({"judge": "other"}, 404, "it has scripted"),
        ({"metrics": []}, 422, "metrics"),
        ({"max_cost": 1.0}, 409, "max_calls"),
        ({"name": "../x"}, 422, "name"),
        ({"base_url": "http://elsewhere"}, 422, "base_url"),
    ],
)
def test_what_cannot_start_is_told_at_once(client, tmp_path, change, status, told):
    """A request that could not run is refused with what, where and what to do, and leaves no run."""
    asked = {"dataset": uploaded(client, rows(1)), "metrics": ["correctness"], **change}
    answer = client.post("/v1/runs", json=asked)
    assert (answer.status_code, told in answer.text) == (status, True), answer.text
    assert str(tmp_path) not in answer.text
    assert client.get("/v1/runs").json() == {"runs": [], "next": None}


def test_a_data_set_without_a_case_cannot_be_judged(client, tmp_path):
    """A data set without a case, as older servers stored them, is refused with what is wrong with its first row."""
    data = uploaded(client, [*rows(1), {"answer": "no question"}])
    file = tmp_path / "runs" / ".datasets" / data / "dataset.json"
    file.write_text(file.read_text().replace('"cases":1', '"cases":0').replace("mine:2", "mine:1"))
    answer = client.post("/v1/runs", json={"dataset": data, "metrics": ["correctness"]})
    assert (answer.status_code, "mine:1" in answer.text) == (409, True)


def test_nobody_fills_the_queue(tmp_path):
    """A client with a hundred runs in the queue is told to wait; another's do not count."""
    with two_tenants(tmp_path) as (client, ana, ben):
        queue = tmp_path / "runs" / ".queue"
        queue.mkdir(parents=True)
        for n in range(MAX_QUEUED):
            (queue / f"{n}-run").write_text(f"ana/run{n}")
        asked = {"metrics": ["exact_match"]}
        for headers, status in ((ana, 429), (ben, 202)):
            asked["dataset"] = uploaded(client, rows(1), headers=headers)
            answer = client.post("/v1/runs", json=asked, headers=headers)
            assert answer.status_code == status
            assert (answer.headers.get("retry-after") == "60") == (status == 429)
