"""Tests of the way from a request to a queued job."""

from __future__ import annotations

from served_runs import rows, two_tenants, uploaded

from greval.serve.jobs.requests import MAX_QUEUED


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
        body = {"metrics": ["exact_match"]}
        for headers, status in ((ana, 429), (ben, 202)):
            body["dataset"] = uploaded(client, rows(1), headers=headers)
            answer = client.post("/v1/runs", json=body, headers=headers)
            assert answer.status_code == status
            assert (answer.headers.get("retry-after") == "60") == (status == 429)
