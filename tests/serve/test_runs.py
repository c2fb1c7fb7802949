"""Runs over HTTP: the same run folders as on the command line, followed, read by page, cancelled and resumed."""

from __future__ import annotations

import pytest
from served_runs import YES, all_results, ended, get_json, read_pages, rows, serving, slow, started, uploaded, waited

import greval
from greval.testing import ScriptedJudge

MALFORMED = "no verdict"


def same(result: dict) -> dict:
    """Give a row without what differs from one run to the next."""
    return {name: value for name, value in result.items() if name not in {"latency", "usage"}}


def test_a_run_gives_what_the_command_line_gives(client, runs, tmp_path):
    """The rows equal those of the library's own run of the same metrics, judge and cases; the folder is one of its."""
    run = started(client, uploaded(client, rows(5)), "correctness", "exact_match", name="first")
    info = ended(client, run)
    assert (info["status"], info["judge"], info["metrics"]) == ("finished", "scripted", ["correctness", "exact_match"])
    assert info["progress"]["done"] == info["progress"]["total"] == 10
    metrics = [greval.load_metric(name) for name in ("correctness", "exact_match")]
    of_library = greval.evaluate(rows(5), metrics, client.app.state.service.find_judge(), out=tmp_path / "other")

    def order(results):
        rows_of_results = [result if isinstance(result, dict) else result.model_dump(mode="json") for result in results]
        return sorted(map(same, rows_of_results), key=lambda row: (row["metric"], row["sample_id"]))

    expected = order(of_library.results())
    assert order(all_results(client, run)) == expected
    assert order(greval.Run(runs / run, of_library.progress).results()) == expected


def test_a_cancelled_run_goes_on_where_it_was(tmp_path):
    """What is in flight is finished and kept, nothing more is asked, and resuming asks only for the rest."""
    judges = slow(0.4)
    with serving(tmp_path / "runs", judges=judges) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=2)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 5)
        assert client.post(f"/v1/runs/{run}/cancel").status_code == 202
        info = ended(client, run)
        calls = len(judges["slow"].calls)
        assert (info["status"], info["why"], info["resumable"]) == ("stopped", "it was cancelled", True)
        assert 5 <= calls < 60
        assert len(all_results(client, run)) == calls
        assert client.post(f"/v1/runs/{run}/cancel").status_code == 409
        assert client.post(f"/v1/runs/{run}/resume").status_code == 202
        assert client.post(f"/v1/runs/{run}/resume").status_code == 409
        assert client.delete(f"/v1/runs/{run}").status_code == 409
        judges["slow"].delay = 0
        assert ended(client, run)["status"] == "finished"
    assert len(judges["slow"].calls) == 60


@pytest.mark.nightly
def test_chosen_cases_are_judged_alone(client):
    """A run of some ids judges these, and counts no others."""
    data = uploaded(client, rows(6))
    run = started(client, data, "correctness", "exact_match", sample_ids=["q4", "q1", "q1"])
    info = ended(client, run)
    assert (info["status"], info["progress"]["total"], info["progress"]["done"]) == ("finished", 4, 4)
    assert {row["sample_id"] for row in all_results(client, run)} == {"q1", "q4"}
    first = started(client, data, "exact_match", sample_ids=["q4", "q1"], limit=1)
    assert ended(client, first)["progress"]["total"] == 1
    body = {"dataset": data, "metrics": ["exact_match"], "sample_ids": ["q4", "q1"]}
    assert client.post("/v1/forecast", json=body).json()["results"] == 2


@pytest.mark.nightly
def test_a_run_without_its_judge_fails_and_names_it(tmp_path):
    """A run whose judge the operator took away is failed at the next start, with its name; it can be resumed later."""
    with serving(tmp_path / "runs", judges=slow(0.4)) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=2)
        waited(client, run, lambda info: info["status"] == "running")
    with serving(tmp_path / "runs", judges={"other": ScriptedJudge([YES])}) as client:
        info = ended(client, run)
        assert (info["status"], "'slow'" in info["why"]) == ("failed", True)
        assert client.post(f"/v1/runs/{run}/resume").status_code == 404
    with serving(tmp_path / "runs", judges=slow(0)) as client:
        assert client.post(f"/v1/runs/{run}/resume").status_code == 202
        assert ended(client, run)["status"] == "finished"


@pytest.mark.nightly
def test_a_cap_stops_in_order(client):
    """A run that reaches its cap says so; its cap counts what it spent before, and a higher one lets it go on."""
    run = started(client, uploaded(client, rows(9)), max_calls=4)

    def resume(body):
        answer = client.post(f"/v1/runs/{run}/resume", json=body)
        info = ended(client, run)
        return answer.status_code, info["status"], info["progress"]["scored"]

    info = ended(client, run)
    assert (info["status"], "cap of 4 calls" in info["why"]) == ("stopped", True)
    usage = {amount["name"]: amount["used"] for amount in client.get("/v1/usage").json()["amounts"]}
    assert usage["calls"] == 4  # the call that the cap refused is not counted
    for body in (None, {}, {"max_cost": None}, {"max_calls": 3}, {"max_calls": 4}):
        assert resume(body)[1:] == ("stopped", 4)
        assert "earlier commands on this run made 4 of them" in client.get(f"/v1/runs/{run}").json()["why"]
    assert resume({"max_cost": 1.0})[0] == 409
    assert resume({"max_calls": 8})[1:] == ("stopped", 8)
    assert resume({"max_calls": 9})[1:] == ("finished", 9)


def test_failures_are_rows_and_are_asked_again(tmp_path):
    """A judge's broken answer is a failed row with its kind; resuming a finished run asks for it again."""
    answers = [MALFORMED]
    with serving(tmp_path / "runs", judges={"broken": ScriptedJudge(lambda _: answers[0])}) as client:
        run = started(client, uploaded(client, rows(2)))
        assert ended(client, run)["progress"]["failed"] == 2
        assert {row["outcome"]["error"]["kind"] for row in all_results(client, run, status="failed")} == {"malformed"}
        answers[0] = YES
        client.post(f"/v1/runs/{run}/resume")
        assert ended(client, run)["progress"]["failed"] == 0
        assert len(all_results(client, run)) == 2
        cases = client.get(f"/v1/runs/{run}/cases").json()["cases"]
    assert sorted(row["sample_id"] for row in cases) == ["q0", "q1"]


@pytest.mark.nightly
def test_the_list_of_runs_comes_in_pages(client):
    """The newest run is first, and pages give each run once."""
    data = uploaded(client, rows(1))
    runs = [started(client, data, "exact_match") for _ in range(5)]
    for run in runs:
        ended(client, run)
    pages = [[entry["id"] for entry in page["runs"]] for page in read_pages(client, "/v1/runs", limit=2)]
    assert pages == [runs[:2:-1], runs[2:0:-1], runs[:1]]


@pytest.mark.nightly
def test_computing_holds_up_no_request(client):
    """While cases are computed without a pause, other requests are answered meanwhile."""
    long = " ".join(f"word{n}" for n in range(200))
    cases = [{**row, "answer": long, "expected_answer": long[::-1]} for row in rows(200)]
    run = started(client, uploaded(client, cases), "fuzzy_containment@0.80")
    waited(client, run, lambda info: info["status"] != "queued")
    looks, status = 0, "running"
    while status == "running":
        assert client.get("/health").status_code == 200
        status = client.get(f"/v1/runs/{run}").json()["status"]
        looks += 1
    assert (status, looks >= 3) == ("finished", True)


def test_the_example_becomes_a_run_of_the_client_once(client, runs):
    """It is copied the first time and is a run like any other: it names its methods and tags, and can be deleted."""
    first = client.post("/v1/runs/example")
    assert first.status_code == 200
    run_id = first.json()["id"]
    assert first.headers["location"] == f"/v1/runs/{run_id}"
    assert (first.json()["status"], first.json()["methods"]) == ("finished", ["local", "walk"])
    (runs / run_id / "annotations.jsonl").unlink()
    assert client.post("/v1/runs/example").json() == first.json()
    assert not (runs / run_id / "annotations.jsonl").exists()
    assert "query_type" in get_json(client, f"/v1/runs/{run_id}/report")["tags"]
    assert client.delete(f"/v1/runs/{run_id}").status_code == 204
    assert client.post("/v1/runs/example").json()["status"] == "finished"
    assert (runs / run_id / "annotations.jsonl").exists()
    assert [path.name for path in runs.iterdir() if path.name.startswith(".new")] == []
