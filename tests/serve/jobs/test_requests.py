"""Tests of the way from a request to a queued job."""

from __future__ import annotations

from served_runs import rows, two_tenants, uploaded

from greval.serve.jobs.requests import MAX_QUEUED


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
