"""Runs over HTTP: the same run folders as on the command line, followed, read by page, cancelled and resumed."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import time
from contextlib import closing
from itertools import pairwise

import pytest
from served_runs import YES, ended, rows, serving, started, two_tenants, uploaded, waited
from waiting import until

import greval
from greval.judging.model.judge import Judge
from greval.runs.progress import Progress
from greval.runs.store import FILE, Store
from greval.serve.ids import utc_now
from greval.serve.jobs import manager
from greval.serve.jobs.info import stream_events
from greval.serve.jobs.queue import SPEC_FILE, RunInfo
from greval.serve.jobs.requests import MAX_QUEUED
from greval.serve.problems import ServeError
from greval.serve.settings import ServerLimits
from greval.testing import ScriptedJudge

MALFORMED = "no verdict"


@pytest.fixture
def client(tmp_path):
    with serving(tmp_path / "runs") as client:
        yield client


def slow(seconds: float = 0.05):
    return {"slow": ScriptedJudge([YES], delay=seconds)}


def same(result: dict) -> dict:
    """Give a row without what differs from one run to the next."""
    return {name: value for name, value in result.items() if name not in {"latency", "usage"}}


def all_results(client, run: str, **query) -> list[dict]:
    """Read all pages."""
    found, cursor = [], None
    while True:
        page = client.get(f"/v1/runs/{run}/results", params={**query, **({"cursor": cursor} if cursor else {})}).json()
        found += page["results"]
        cursor = page["next"]
        if cursor is None:
            return found


def test_a_run_gives_what_the_command_line_gives(client, tmp_path):
    """The rows equal those of the library's own run of the same metrics, judge and cases; the folder is one of its."""
    run = started(client, uploaded(client, rows(5)), "correctness", "exact_match", name="first")
    info = ended(client, run)
    assert (info["status"], info["judge"], info["metrics"]) == ("finished", "scripted", ["correctness", "exact_match"])
    assert info["progress"]["done"] == info["progress"]["total"] == 10
    metrics = [greval.load_metric(name) for name in ("correctness", "exact_match")]
    there = greval.evaluate(rows(5), metrics, ScriptedJudge([YES]), out=tmp_path / "other")
    mine = greval.Run(tmp_path / "runs" / run, there.progress)

    def order(result):
        return result["metric"], result["sample_id"]

    expected = sorted((same(one.model_dump(mode="json")) for one in there.results()), key=order)
    assert sorted(map(same, all_results(client, run)), key=order) == expected
    assert sorted((same(one.model_dump(mode="json")) for one in mine.results()), key=order) == expected


def test_metrics_that_are_built_on_are_added(client):
    """A metric that builds on others is judged with them, in order."""
    case = {**rows(1)[0], "chunks": ["Ada 0 wrote it."]}
    run = started(client, uploaded(client, [case]), "answer_completeness")
    assert ended(client, run)["metrics"] == ["chunk_evaluation", "triple_evaluation", "answer_completeness"]


def test_without_a_judge_what_is_computed_runs(tmp_path):
    """A server without a judge computes; what a judge is needed for is refused with 503."""
    with serving(tmp_path / "runs", judges={}) as client:
        data = uploaded(client, rows(2))
        assert ended(client, started(client, data, "exact_match"))["judge"] is None
        asked = {"dataset": data, "metrics": ["correctness"]}
        assert client.post("/v1/runs", json=asked).status_code == 503


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


def test_a_data_set_without_a_case_cannot_be_judged(client):
    """A data set of which no row is a case is refused, with what is wrong with its first row."""
    data = uploaded(client, [{"answer": "no question"}])
    answer = client.post("/v1/runs", json={"dataset": data, "metrics": ["correctness"]})
    assert (answer.status_code, "mine:1" in answer.text) == (409, True)


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


@pytest.mark.parametrize("cursor", ["x", "W10", "LTE", "MWUw", "dHJ1ZQ", "é", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"])
def test_cursors_that_are_none(client, cursor):
    """A cursor that the server did not give is refused, never a fault of the server."""
    run = started(client, uploaded(client, rows(1)), "exact_match")
    ended(client, run)
    for path in (f"/v1/runs/{run}/results", f"/v1/runs/{run}/cases", "/v1/runs", f"/v1/runs/{run}/annotations"):
        assert client.get(path, params={"cursor": cursor}).status_code == 422, path


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


def test_a_run_is_followed_to_its_end(tmp_path):
    """Events tell growing progress, never too often, and the run itself at its end."""
    with serving(tmp_path / "runs", judges=slow()) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=4)
        with client.stream("GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": "7"}) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            text = "".join(stream.iter_text())
    parts = [part.split("\n") for part in text.split("\n\n") if part]
    names = [first.removeprefix("event: ") for first, *_ in parts]
    found = [json.loads(data.removeprefix("data: ")) for _, data in parts]
    done = [one["done"] for one in found[:-1]]
    assert (names[-1], found[-1]["status"], found[-1]["id"]) == ("end", "finished", run)
    assert set(names[:-1]) == {"progress"}
    assert done == sorted(done)
    assert all(one != following for one, following in pairwise(found))
    assert 2 <= len(done) <= 20
    assert done[-1] == 60


async def test_a_stream_without_news_is_kept_open():
    """Where nothing is new a comment is sent; a run that is taken away ends the stream, as the server's end does."""
    info = RunInfo(id="a", name="a", status="running", created=utc_now(), progress=Progress(total=2, done=1))
    looks = iter([info, info, info])

    def look():
        if found := next(looks, None):
            return found
        raise ServeError(404, "gone")

    told = [part async for part in stream_events(look, asyncio.Event(), heartbeat=0.0)]
    assert told[0].startswith("event: progress\ndata: {")
    assert told[1:] == [": nothing new\n\n"] * 3
    stopping = asyncio.Event()
    stopping.set()
    assert [part async for part in stream_events(look, stopping)] == []


def test_a_cancel_in_another_process_is_seen(tmp_path):
    """Cancelled by a process that does not work on it, a run stops within a second."""
    with serving(tmp_path / "runs", judges=slow()) as client:
        run = started(client, uploaded(client, rows(100)), concurrency=1)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 2)
        other = manager.JobManager(client.app.state.service)
        other.cancel(tmp_path / "runs" / run)
        assert ended(client, run)["why"] == "it was cancelled"


def test_two_servers_share_a_queue(tmp_path):
    """Two processes on one folder work on all runs, each on its own; every case of every run is asked about once."""
    judges = slow(0.01)
    with (
        serving(tmp_path / "runs", judges=judges) as one,
        serving(tmp_path / "runs", judges=judges) as other,
    ):
        data = uploaded(one, rows(10))
        runs = [started((one, other)[n % 2], data, name=f"run{n}", concurrency=2) for n in range(10)]
        last = runs[-1]
        with other.stream("GET", f"/v1/runs/{last}/events") as stream:
            assert '"status":"finished"' in "".join(stream.iter_text())
        for n, run in enumerate(runs):
            info = ended((other, one)[n % 2], run)
            assert (info["status"], info["progress"]["scored"]) == ("finished", 10)
            assert len(all_results((other, one)[n % 2], run)) == 10
    assert len(judges["slow"].calls) == 100


def test_a_cancelled_run_goes_on_where_it_was(tmp_path):
    """What is in flight is finished and kept, nothing more is asked, and resuming asks only for the rest."""
    judges = slow()
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
        assert ended(client, run)["status"] == "finished"
    assert len(judges["slow"].calls) == 60


def test_a_run_that_waits_is_cancelled_too(tmp_path):
    """Runs beyond those at once wait in order; one that waits can be cancelled and never asks anything."""
    with serving(tmp_path / "runs", judges=slow(0.1)) as client:
        data = uploaded(client, rows(40))
        runs = [started(client, data, concurrency=1, name=f"run{n}") for n in range(manager.MAX_TENANT_JOBS + 2)]
        first, *_, third, last = runs
        waited(client, runs[manager.MAX_TENANT_JOBS - 1], lambda info: info["status"] == "running")
        assert [client.get(f"/v1/runs/{run}").json()["status"] for run in (third, last)] == ["queued", "queued"]
        client.post(f"/v1/runs/{third}/cancel")
        assert ended(client, third)["status"] == "stopped"
        assert client.get(f"/v1/runs/{first}").json()["status"] == "running"
        client.post(f"/v1/runs/{first}/cancel")
        waited(client, last, lambda info: info["status"] == "running")
        assert [one["name"] for one in client.get("/v1/runs").json()["runs"]] == ["run3", "run2", "run1", "run0"]
        assert client.get(f"/v1/runs/{third}/results").status_code == 409


def test_a_run_goes_on_with_the_next_start(tmp_path):
    """A server that ends lets what is in flight be stored; the next one goes on, and asks nothing twice."""
    judges = slow()
    with serving(tmp_path / "runs", judges=judges) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=2)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 5)
    assert 5 <= len(judges["slow"].calls) < 60
    with serving(tmp_path / "runs", judges=judges) as client:
        assert ended(client, run)["status"] == "finished"
        assert len(all_results(client, run)) == 60
    assert len(judges["slow"].calls) == 60


def test_ends_and_starts_at_any_moment(tmp_path):
    """Stopped and started again at random moments, every run comes to its end, and each case is asked about once."""
    judges, runs, rng = slow(0.01), [], random.Random(3)
    for _ in range(6):
        with serving(tmp_path / "runs", judges=judges) as client:
            data = uploaded(client, rows(20))
            runs += [started(client, data, concurrency=2) for _ in range(2)]
            time.sleep(rng.random() * 0.2)
    with serving(tmp_path / "runs", judges=judges) as client:
        assert {ended(client, run)["status"] for run in runs} == {"finished"}
    assert len(judges["slow"].calls) == 20 * len(runs)


def test_a_judge_that_is_gone_is_told(tmp_path):
    """A run whose judge the operator took away is failed at the next start, with its name; it can be resumed later."""
    with serving(tmp_path / "runs", judges=slow()) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=2)
        waited(client, run, lambda info: info["status"] == "running")
    with serving(tmp_path / "runs", judges={"other": ScriptedJudge([YES])}) as client:
        info = ended(client, run)
        assert (info["status"], "'slow'" in info["why"]) == ("failed", True)
        assert client.post(f"/v1/runs/{run}/resume").status_code == 404
    with serving(tmp_path / "runs", judges=slow()) as client:
        assert client.post(f"/v1/runs/{run}/resume").status_code == 202
        assert ended(client, run)["status"] == "finished"


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


def test_a_cap_stops_in_order(client):
    """A run that reaches its cap says so; its cap counts what it spent before, and a higher one lets it go on."""
    run = started(client, uploaded(client, rows(9)), max_calls=4)
    info = ended(client, run)
    assert (info["status"], "cap of 4 calls" in info["why"]) == ("stopped", True)
    for asked in (None, {}, {"max_cost": None}, {"max_calls": 3}, {"max_calls": 4}):
        client.post(f"/v1/runs/{run}/resume", json=asked)
        info = ended(client, run)
        assert (info["status"], info["progress"]["scored"]) == ("stopped", 4)
        assert "earlier commands on this run made 4 of them; a higher cap goes on" in info["why"]
    assert client.post(f"/v1/runs/{run}/resume", json={"max_calls": 0}).status_code == 422
    assert client.post(f"/v1/runs/{run}/resume", json={"max_cost": 1.0}).status_code == 409
    client.post(f"/v1/runs/{run}/resume", json={"max_calls": 8})
    assert ended(client, run)["progress"]["scored"] == 8
    client.post(f"/v1/runs/{run}/resume", json={"max_calls": 9})
    info = ended(client, run)
    assert (info["status"], info["progress"]["done"], info["progress"]["kept"]) == ("finished", 9, 8)


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
    assert [one["sample_id"] for one in cases] == ["q0", "q1"]


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
    assert (info["status"], info["progress"]["kept"], len(marks)) == ("finished", 2, 1)


def test_runs_of_the_command_line_are_there_too(client, tmp_path):
    """A run that the command line made in the same folder is listed and read, and goes on there only."""
    runs = tmp_path / "runs"
    greval.evaluate(rows(2), [greval.load_metric("exact_match")], out=runs / "mine")
    greval.evaluate(rows(3), [greval.load_metric("correctness")], ScriptedJudge([YES]), out=runs / "cut", max_calls=1)
    (runs / "no run").mkdir()
    (runs / "broken").mkdir()
    (runs / "broken" / "results.sqlite").write_text("no log")
    for path in ("results", "cases", "report"):
        answer = client.get(f"/v1/runs/broken/{path}")
        assert (answer.status_code, str(tmp_path) in answer.text) == (409, False)
    told = {one["id"]: one for one in client.get("/v1/runs").json()["runs"]}
    assert set(told) == {"mine", "cut", "broken"}
    assert (told["mine"]["status"], told["mine"]["metrics"], told["mine"]["resumable"]) == (
        "finished",
        ["exact_match"],
        False,
    )
    assert (told["cut"]["status"], told["cut"]["judge"]) == ("stopped", "ScriptedJudge")
    assert (told["broken"]["status"], str(tmp_path) in told["broken"]["why"]) == ("failed", False)
    assert len(all_results(client, "mine")) == 2
    assert client.get("/v1/runs/mine/report").json()["summaries"][0]["scored"] == 2
    for action in ("cancel", "resume"):
        assert client.post(f"/v1/runs/mine/{action}").status_code == 409
    with Store.create(runs / "cut"):
        assert client.get("/v1/runs/cut").json()["status"] == "running"
        assert client.delete("/v1/runs/cut").status_code == 409
    assert client.delete("/v1/runs/cut").status_code == 204
    assert not (runs / "cut").exists()


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


def test_runs_of_others_are_not_there(tmp_path):
    """Every way to a run of another key is 404, whatever is asked of it."""
    with two_tenants(tmp_path) as (client, ana, ben):
        run = started(client, uploaded(client, rows(2), headers=ana), headers=ana)
        assert ended(client, run, headers=ana)["status"] == "finished"
        paths = client.get("/openapi.json", headers=ana).json()["paths"]
        asked = 0
        for path, operations in paths.items():
            for method in operations if path.startswith("/v1/runs/{id}") else ():
                body = {"metric": "correctness", "dataset": "a"} if path.endswith("push") else {"dataset": "a"}
                sent = {"json": body} if path.endswith(("push", "pull")) else {}
                query = {"sample_id": "q0", "metric": "correctness"}
                for name in (run, "ana", f"../ana/{run}", f"ana%2F{run}"):
                    answer = client.request(method, path.replace("{id}", name), headers=ben, params=query, **sent)
                    assert answer.status_code in ({404} if name == run else {404, 405, 422}), (method, path, name)
                    asked += 1
        assert asked >= 60
        assert client.get("/v1/runs", headers=ben).json()["runs"] == []
        assert client.get(f"/v1/runs/{run}", headers=ana).status_code == 200


def test_a_run_that_breaks_says_why(client, tmp_path):
    """A run whose data set is broken meanwhile is failed, with the reason and no path, and nothing hangs."""
    data = uploaded(client, rows(3))
    (tmp_path / "runs" / ".datasets" / data / "cases.jsonl").unlink()
    info = ended(client, started(client, data))
    assert (info["status"], str(tmp_path) in info["why"]) == ("failed", False)
    assert "mine" in info["why"]
    order = json.loads((tmp_path / "runs" / info["id"] / SPEC_FILE).read_text())
    assert order["asked"]["dataset"] == data


def test_a_fault_of_the_server_s_own_is_told_without_its_words(tmp_path, caplog):
    """What nobody foresaw ends the run as failed; the trace is in the server's log only, and other runs go on."""
    with serving(tmp_path / "runs") as client:
        data = uploaded(client, rows(4))
        run, other = started(client, data, max_calls=1), started(client, data)
        ended(client, run)
        file = tmp_path / "runs" / run / SPEC_FILE
        file.write_text(json.dumps({**json.loads(file.read_text()), "definitions": [{"name": "no metric"}]}))
        client.post(f"/v1/runs/{run}/resume")
        info = ended(client, run)
        assert ended(client, other)["status"] == "finished"
    assert (info["status"], info["why"]) == ("failed", "the server had an error of its own; its log tells more")
    assert "ValidationError" in caplog.text


def test_a_run_of_another_version_of_the_log_fails_and_says_why(client, tmp_path):
    """A run whose log this version cannot read does not stay at work for ever: it has failed, and says why."""
    run = started(client, uploaded(client, rows(2)))
    ended(client, run)
    with closing(sqlite3.connect(tmp_path / "runs" / run / FILE)) as log:
        log.execute("PRAGMA user_version = 7")
    assert client.post(f"/v1/runs/{run}/resume").status_code == 202
    found = ended(client, run)
    assert (found["status"], "another version" in found["why"]) == ("failed", True), found
    assert str(tmp_path) not in found["why"]


def test_a_run_whose_folder_is_gone_harms_no_other(tmp_path):
    """A run whose folder is taken away by hand is not there any more, is not begun again, and the server goes on."""
    judges = slow()
    with serving(tmp_path / "runs", judges=judges) as client:
        data = uploaded(client, rows(200))
        run = started(client, data, concurrency=2)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 5)
        shutil.rmtree(tmp_path / "runs" / run)
        until(lambda: not client.app.state.runs.find_job(tmp_path / "runs" / run))
        assert client.get(f"/v1/runs/{run}").status_code == 404
        assert ended(client, started(client, data, limit=3))["status"] == "finished"
    assert len(judges["slow"].calls) < 200


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
