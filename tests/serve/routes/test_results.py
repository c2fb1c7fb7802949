"""Tests of the routes that list results and cases."""

from __future__ import annotations

import json
import time

import pytest
from served_runs import YES, all_results, ended, read_pages, rows, serving, slow, started, uploaded, waited


def test_every_row_is_read_once_page_by_page(client):
    """Pages of any size give each row once, in one order, and filters give exactly the rows that fit."""
    cases = rows(7, method="walk", tags={"kind": "movie"}) + rows(6, method="local", tags={"kind": "book: new"})
    run = started(client, uploaded(client, cases), "correctness", "exact_match")
    ended(client, run)
    results = all_results(client, run, limit=1000)
    assert len(results) == 26
    for limit in (1, 3, 13):
        assert all_results(client, run, limit=limit) == results
    for query, fits in [
        ({"metric": "correctness"}, lambda row: row["metric"] == "correctness"),
        ({"method": "local"}, lambda row: row["method"] == "local"),
        ({"tag": "kind:book: new"}, lambda row: row["tags"]["kind"] == "book: new"),
        ({"status": "scored", "value": "1"}, lambda row: row["outcome"]["judgements"][0]["value"] == 1),
        ({"status": "failed"}, lambda row: False),
        ({"method": ""}, lambda row: False),
    ]:
        assert all_results(client, run, limit=4, **query) == [*filter(fits, results)], query


@pytest.mark.nightly
def test_calls_are_read_page_by_page(client):
    """Pages of any size give each call once; filters give exactly the calls that fit; the option stores none."""
    data = uploaded(client, rows(5, method="walk") + rows(4, method="local"))
    run = started(client, data, "correctness", "exact_match")
    ended(client, run)

    def read(run_id=run, **query):
        return [call for page in read_pages(client, f"/v1/runs/{run_id}/calls", **query) for call in page["calls"]]

    calls = read(limit=1000)
    assert len(calls) == 9
    assert {call["metric"] for call in calls} == {"correctness"}
    assert json.loads(calls[0]["reply"]) == YES
    assert [message["role"] for message in calls[0]["messages"]] == ["system", "user"]
    assert read(limit=2) == calls
    assert read(limit=1, method="local") == [call for call in calls if call["method"] == "local"]
    assert read(sample_id="q1", metric="correctness") == [call for call in calls if call["sample_id"] == "q1"]
    without_calls = started(client, data, "correctness", name="off", store_calls=False)
    ended(client, without_calls)
    assert read(without_calls) == []


@pytest.mark.nightly
def test_pages_miss_nothing_while_the_run_writes(tmp_path):
    """Read while rows are written, the pages together hold every row once."""
    with serving(tmp_path / "runs", judges=slow(0.02)) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=2)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 5)
        sample_ids, cursor, finished = [], None, False
        while cursor or not finished:
            finished = client.get(f"/v1/runs/{run}").json()["status"] == "finished"
            query = {"limit": 7, **({"cursor": cursor} if cursor else {})}
            page = client.get(f"/v1/runs/{run}/results", params=query).json()
            if page["next"] is None and not finished:  # this page may still grow: it is read again
                time.sleep(0.02)
                continue
            sample_ids += [row["sample_id"] for row in page["results"]]
            cursor = page["next"]
    assert sorted(sample_ids) == sorted(f"q{n}" for n in range(60))


def test_a_case_with_all_of_its_results(client):
    """The list of cases tells how each metric ended; a case comes as it was judged, with its results."""
    cases = [{**rows(1)[0], "id": 'q"1/ü', "chunks": ["A text."]}, {"id": "q2", "question": "No answer?"}]
    metrics = {"correctness", "chunk_evaluation", "exact_match"}
    run = started(client, uploaded(client, cases), *sorted(metrics))
    ended(client, run)
    pages = read_pages(client, f"/v1/runs/{run}/cases", limit=1)
    statuses = {entry["sample_id"]: entry["statuses"] for page in pages for entry in page["cases"]}
    assert (statuses['q"1/ü'].keys(), statuses["q2"]) == (metrics, dict.fromkeys(metrics, "skipped"))
    detail = client.get(f"/v1/runs/{run}/case", params={"sample_id": 'q"1/ü'}).json()
    assert detail["case"]["chunks"][0]["text"] == "A text."
    assert {row["metric"] for row in detail["results"]} == metrics
