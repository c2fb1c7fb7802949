"""Runs over HTTP: the same run folders as on the command line, followed, read by page, cancelled and resumed."""

from __future__ import annotations

import random
import time

import pytest
from served_runs import (
    YES,
    all_results,
    ended,
    over_http,
    rows,
    serving,
    slow,
    started,
    two_tenants,
    uploaded,
    waited,
)

import greval
from greval.judging.model.judge import Judge
from greval.serve.settings import ServerLimits
from greval.testing import ScriptedJudge

MALFORMED = "no verdict"
QUERY = {"sample_id": "q0", "metric": "correctness"}


@pytest.fixture
def client(tmp_path):
    with serving(tmp_path / "runs") as client:
        yield client


def same(result: dict) -> dict:
    """Give a row without what differs from one run to the next."""
    return {name: value for name, value in result.items() if name not in {"latency", "usage"}}


def test_a_run_gives_what_the_command_line_gives(client, tmp_path):
    """The rows equal those of the library's own run of the same metrics, judge and cases; the folder is one of its."""
    run = started(client, uploaded(client, rows(5)), "correctness", "exact_match", name="first")
    info = ended(client, run)
    assert (info["status"], info["judge"], info["metrics"]) == ("finished", "scripted", ["correctness", "exact_match"])
    assert info["progress"]["done"] == info["progress"]["total"] == 10
    metrics = [greval.load_metric(name) for name in ("correctness", "exact_match")]
    there = greval.evaluate(rows(5), metrics, client.app.state.service.find_judge(), out=tmp_path / "other")
    mine = greval.Run(tmp_path / "runs" / run, there.progress)

    def order(result):
        return result["metric"], result["sample_id"]

    expected = sorted((same(one.model_dump(mode="json")) for one in there.results()), key=order)
    assert sorted(map(same, all_results(client, run)), key=order) == expected
    assert sorted((same(one.model_dump(mode="json")) for one in mine.results()), key=order) == expected


@pytest.mark.nightly
def test_metrics_that_are_built_on_are_added(client):
    """A metric that builds on others is judged with them, in order."""
    case = {**rows(1)[0], "chunks": ["Ada 0 wrote it."]}
    run = started(client, uploaded(client, [case]), "answer_completeness")
    assert ended(client, run)["metrics"] == ["chunk_evaluation", "triple_evaluation", "answer_completeness"]


@pytest.mark.nightly
def test_without_a_judge_what_is_computed_runs(tmp_path):
    """A server without a judge computes; what a judge is needed for is refused with 503."""
    with serving(tmp_path / "runs", judges={}) as client:
        data = uploaded(client, rows(2))
        assert ended(client, started(client, data, "exact_match"))["judge"] is None
        asked = {"dataset": data, "metrics": ["correctness"]}
        assert client.post("/v1/runs", json=asked).status_code == 503


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """Give a client and a finished run that no test changes."""
    with serving(tmp_path_factory.mktemp("served") / "runs") as client:
        run = started(client, uploaded(client, rows(1)), "exact_match")
        ended(client, run)
        yield client, run


@pytest.mark.parametrize("cursor", ["x", "W10", "LTE", "MWUw", "dHJ1ZQ", "é", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"])
def test_cursors_that_are_none(computed, cursor):
    """A cursor that the server did not give is refused, never a fault of the server."""
    client, run = computed
    for path in (f"/v1/runs/{run}/results", f"/v1/runs/{run}/cases", "/v1/runs", f"/v1/runs/{run}/annotations"):
        assert client.get(path, params={"cursor": cursor}).status_code == 422, path


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
def test_ends_and_starts_at_any_moment(tmp_path):
    """Stopped and started again at random moments, every run comes to its end, and each case is asked about once."""
    models, runs, rng = slow(0.01), [], random.Random(3)
    with over_http(models) as judges:
        for _ in range(4):
            with serving(tmp_path / "runs", judges=judges) as client:
                data = uploaded(client, rows(20))
                runs += [started(client, data, concurrency=2) for _ in range(2)]
                time.sleep(rng.random() * 4)  # a process takes a second or two to begin
        with serving(tmp_path / "runs", judges=judges) as client:
            assert {ended(client, run)["status"] for run in runs} == {"finished"}
    assert len(models["slow"].calls) == 20 * len(runs)


@pytest.mark.nightly
def test_chosen_cases_are_judged_alone(client):
    """A run of some ids judges these, and counts no others; ids of which there is none are refused with their name."""
    data = uploaded(client, rows(6))
    run = started(client, data, "correctness", "exact_match", sample_ids=["q4", "q1", "q1"])
    info = ended(client, run)
    assert (info["status"], info["progress"]["total"], info["progress"]["done"]) == ("finished", 4, 4)
    assert {one["sample_id"] for one in all_results(client, run)} == {"q1", "q4"}
    first = started(client, data, "exact_match", sample_ids=["q4", "q1"], limit=1)
    assert ended(client, first)["progress"]["total"] == 1
    told = client.post("/v1/forecast", json={"dataset": data, "metrics": ["exact_match"], "sample_ids": ["q4", "q1"]})
    assert told.json()["results"] == 2
    asked = {"dataset": data, "metrics": ["exact_match"], "sample_ids": ["nobody"]}
    answer = client.post("/v1/runs", json=asked)
    assert answer.status_code == 422
    assert "'nobody'; found none" in answer.json()["detail"]
    assert client.post("/v1/runs", json={**asked, "sample_ids": []}).status_code == 422


@pytest.mark.nightly
def test_a_judge_that_is_gone_is_told(tmp_path):
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
def test_all_runs_keep_to_the_server_s_limit(tmp_path, fault_server, monkeypatch):
    """Two runs together never have more calls in flight than the operator allows, nor one more than it asked for."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    fault_server.latency = 0.03
    judges = {"slow": Judge("openai:x", base_url=fault_server.url)}
    with serving(tmp_path / "runs", judges=judges, limits=ServerLimits(calls=3)) as client:
        data = uploaded(client, rows(30))
        alone = started(client, data, concurrency=2)
        assert ended(client, alone)["progress"]["scored"] == 30
        assert fault_server.most == 2
        for run in [started(client, data, concurrency=8) for _ in range(2)]:
            assert ended(client, run)["progress"]["scored"] == 30
    assert fault_server.most == 3
    assert fault_server.calls == 90


@pytest.mark.nightly
def test_a_cap_stops_in_order(client):
    """A run that reaches its cap says so; its cap counts what it spent before, and a higher one lets it go on."""
    run = started(client, uploaded(client, rows(9)), max_calls=4)
    info = ended(client, run)
    assert (info["status"], "cap of 4 calls" in info["why"]) == ("stopped", True)
    for asked in (None, {}, {"max_cost": None}, {"max_calls": 3}, {"max_calls": 4}):
        client.post(f"/v1/runs/{run}/resume", json=asked)
        info = ended(client, run)
        assert (info["status"], info["progress"]["scored"]) == ("stopped", 4)
        assert "earlier commands on this run made 4 of them; raise it to continue" in info["why"]
    assert client.post(f"/v1/runs/{run}/resume", json={"max_calls": 0}).status_code == 422
    assert client.post(f"/v1/runs/{run}/resume", json={"max_cost": 1.0}).status_code == 409
    client.post(f"/v1/runs/{run}/resume", json={"max_calls": 8})
    assert ended(client, run)["progress"]["scored"] == 8
    client.post(f"/v1/runs/{run}/resume", json={"max_calls": 9})
    info = ended(client, run)
    assert (info["status"], info["progress"]["done"], info["progress"]["kept"]) == ("finished", 9, 0)


def test_failures_are_rows_and_are_asked_again(tmp_path):
    """A judge's broken answer is a failed row with its kind; resuming a finished run asks for it again."""
    answers = [MALFORMED]
    with serving(tmp_path / "runs", judges={"broken": ScriptedJudge(lambda _: answers[0])}) as client:
        run = started(client, uploaded(client, rows(2)))
        assert ended(client, run)["progress"]["failed"] == 2
        assert {one["outcome"]["error"]["kind"] for one in all_results(client, run, status="failed")} == {"malformed"}
        answers[0] = YES
        client.post(f"/v1/runs/{run}/resume")
        assert ended(client, run)["progress"]["failed"] == 0
        assert len(all_results(client, run)) == 2
        cases = client.get(f"/v1/runs/{run}/cases").json()["cases"]
    assert sorted(one["sample_id"] for one in cases) == ["q0", "q1"]


@pytest.mark.nightly
def test_a_metric_counts_as_it_was(tmp_path):
    """A run is resumed with its metrics as they were when it was started, whatever became of them since."""
    with serving(tmp_path / "runs") as client:
        text = client.get("/v1/metrics/correctness").json()["yaml"].replace("name: correctness", "name: mine")
        assert client.post("/v1/metrics", json={"yaml": text}).status_code == 201
        run = started(client, uploaded(client, rows(4)), "mine", max_calls=2)
        ended(client, run)
        assert client.post("/v1/metrics?replace=true", json={"yaml": f"{text}\n# other\n"}).status_code == 201
        (tmp_path / "runs" / ".metrics" / "mine.yaml").unlink()
        client.post(f"/v1/runs/{run}/resume", json={"max_calls": 4})
        info = ended(client, run)
        marks = {one["fingerprint"] for one in all_results(client, run)}
    assert (info["status"], info["progress"]["usage"]["calls"], len(marks)) == ("finished", 4, 1)


@pytest.mark.nightly
def test_the_list_of_runs_comes_in_pages(client):
    """The newest run is first, and pages give each run once."""
    data = uploaded(client, rows(1))
    runs = [started(client, data, "exact_match") for _ in range(5)]
    for run in runs:
        ended(client, run)
    found, cursor = [], None
    while True:
        page = client.get("/v1/runs", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        found += [one["id"] for one in page["runs"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == runs[::-1]


BODIES = {
    "push": {"metrics": ["correctness"], "dataset": "a"},
    "pull": {"dataset": "a"},
    "labels": {"metric": "correctness", "annotator": "ben"},
}
"""Valid bodies by the last part of the path, so that a request is not refused for its body."""


@pytest.mark.nightly
def test_runs_of_others_are_not_there(tmp_path):
    """Every way to a run of another key is 404, whatever is asked of it."""
    with two_tenants(tmp_path, limits=ServerLimits(rate=10_000)) as (client, ana, ben):
        run = started(client, uploaded(client, rows(2), headers=ana), headers=ana)
        assert ended(client, run, headers=ana)["status"] == "finished"
        paths = client.get("/openapi.json", headers=ana).json()["paths"]
        asked = 0
        for path, operations in paths.items():
            for method in operations if path.startswith("/v1/runs/{id}") else ():
                body = BODIES.get(path.rpartition("/")[2])
                sent = {"json": body} if body else {}
                asked_for = (one for one in operations[method].get("parameters", ()) if one["in"] == "query")
                needed = {one["name"] for one in asked_for if one.get("required")}
                query = {name: QUERY.get(name, "x") for name in needed}
                for name in (run, "ana", f"../ana/{run}", f"ana%2F{run}"):
                    answer = client.request(method, path.replace("{id}", name), headers=ben, params=query, **sent)
                    assert answer.status_code in ({404} if name == run else {404, 405, 422}), (method, path, name)
                    asked += 1
        assert asked >= 60
        assert client.get("/v1/runs", headers=ben).json()["runs"] == []
        assert client.get(f"/v1/runs/{run}", headers=ana).status_code == 200


@pytest.mark.nightly
def test_computing_holds_up_no_request(client):
    """While cases are computed without a pause, other requests are answered meanwhile."""
    long = " ".join(f"word{n}" for n in range(200))
    given = [{**row, "answer": long, "expected_answer": long[::-1]} for row in rows(200)]
    run = started(client, uploaded(client, given), "fuzzy_containment@0.80")
    waited(client, run, lambda info: info["status"] != "queued")
    looks, status = 0, "running"
    while status == "running":
        assert client.get("/health").status_code == 200
        status = client.get(f"/v1/runs/{run}").json()["status"]
        looks += 1
    assert (status, looks >= 3) == ("finished", True)
