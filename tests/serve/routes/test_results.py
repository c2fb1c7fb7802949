"""Tests of the routes that list results and cases."""

from __future__ import annotations

import json
import time

import pytest
from served_runs import YES, all_results, ended, rows, serving, slow, started, uploaded, waited


def test_every_row_is_read_once_page_by_page(client):
    """Pages of any size give each row once, in one order, and filters give exactly the rows that fit."""
    given = rows(7, method="walk", tags={"kind": "movie"}) + rows(6, method="local", tags={"kind": "book: new"})
    run = started(client, uploaded(client, given), "correctness", "exact_match")
    ended(client, run)
    whole = all_results(client, run, limit=1000)
    assert len(whole) == 26
    for limit in (1, 3, 13):
        assert all_results(client, run, limit=limit) == whole
    for query, true in [
        ({"metric": "correctness"}, lambda one: one["metric"] == "correctness"),
        ({"method": "local"}, lambda one: one["method"] == "local"),
        ({"tag": "kind:book: new"}, lambda one: one["tags"]["kind"] == "book: new"),
        ({"status": "scored", "value": "1"}, lambda one: one["outcome"]["judgements"][0]["value"] == 1),
        ({"status": "failed"}, lambda one: False),
        ({"method": ""}, lambda one: False),
    ]:
        assert all_results(client, run, limit=4, **query) == [one for one in whole if true(one)], query


@pytest.mark.nightly
def test_calls_are_read_page_by_page(client):
    """Pages of any size give each call once; filters give exactly the calls that fit; the option stores none."""
    given = rows(5, method="walk") + rows(4, method="local")
    data = uploaded(client, given)
    run = started(client, data, "correctness", "exact_match")
    ended(client, run)

    def read(**query):
        found, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = client.get(f"/v1/runs/{run}/calls", params={**query, **more}).json()
            found += page["calls"]
            if (cursor := page["next"]) is None:
                return found

    whole = read(limit=1000)
    assert len(whole) == 9
    assert {call["metric"] for call in whole} == {"correctness"}
    assert json.loads(whole[0]["reply"]) == YES
    assert [message["role"] for message in whole[0]["messages"]] == ["system", "user"]
    assert read(limit=2) == whole
    assert read(limit=1, method="local") == [call for call in whole if call["method"] == "local"]
    assert read(sample_id="q1", metric="correctness") == [call for call in whole if call["sample_id"] == "q1"]
    assert client.get(f"/v1/runs/{run}/calls?sample=q1").json()["detail"].endswith("did you mean sample_id?")
    assert client.get("/v1/runs/none/calls").status_code == 404
    asked = {"dataset": data, "metrics": ["correctness"], "name": "off", "store_calls": False}
    run = client.post("/v1/runs", json=asked).json()["id"]
    ended(client, run)
    assert read() == []


@pytest.mark.nightly
def test_pages_miss_nothing_while_the_run_writes(tmp_path):
    """Read while rows are written, the pages together hold every row once."""
    with serving(tmp_path / "runs", judges=slow(0.02)) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=2)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 5)
        found, cursor, over = [], None, False
        while cursor or not over:
            over = client.get(f"/v1/runs/{run}").json()["status"] == "finished"
            query = {"limit": 7, **({"cursor": cursor} if cursor else {})}
            page = client.get(f"/v1/runs/{run}/results", params=query).json()
            if page["next"] is None and not over:  # this page may still grow: it is read again
                time.sleep(0.02)
                continue
            found += [one["sample_id"] for one in page["results"]]
            cursor = page["next"]
    assert sorted(found) == sorted(f"q{n}" for n in range(60))


def test_a_case_with_all_of_its_results(client):
    """The list of cases tells how each metric ended; a case comes as it was judged, with its results."""
    given = [{**rows(1)[0], "id": 'q"1/ü', "chunks": ["A text."]}, {"id": "q2", "question": "No answer?"}]
    run = started(client, uploaded(client, given), "correctness", "chunk_evaluation", "exact_match")
    ended(client, run)
    listed = client.get(f"/v1/runs/{run}/cases", params={"limit": 1}).json()
    rest = client.get(f"/v1/runs/{run}/cases", params={"cursor": listed["next"]}).json()
    statuses = {one["sample_id"]: one["statuses"] for one in (*listed["cases"], *rest["cases"])}
    assert rest["next"] is None
    assert set(statuses['q"1/ü']) == {"correctness", "chunk_evaluation", "exact_match"}
    assert statuses["q2"] == dict.fromkeys(["correctness", "chunk_evaluation", "exact_match"], "skipped")
    found = client.get(f"/v1/runs/{run}/case", params={"sample_id": 'q"1/ü'}).json()
    assert found["case"]["chunks"][0]["text"] == "A text."
    assert {one["metric"] for one in found["results"]} == {"correctness", "chunk_evaluation", "exact_match"}
    assert client.get(f"/v1/runs/{run}/case", params={"sample_id": "q3"}).status_code == 404
