"""Tests of probes and alignments over HTTP: they are runs, and give what the library gives."""

from __future__ import annotations

import json

import psutil
import pytest
from aligned_runs import TONE, case, follower, labels, tones, wrong_in
from probed_judges import RIGHT, answering, believes_denials, cases, judge
from served_runs import ended, lines, rows, serving, started, uploaded, waited

from greval import write_metric
from greval.serve.quotas import parse_quota
from greval.testing import ScriptedJudge
from greval.trust.alignment.api import align
from greval.trust.probing.api import probe

RULES = tones(40)
FOLLOWS = wrong_in(0.5, 0.0)


def own(client, metric, headers=None):
    """Create a metric of the client's own."""
    answer = client.post("/v1/metrics", json={"yaml": write_metric(metric)}, headers=headers)
    assert answer.status_code == 201, answer.text


def sent(client, path, headers=None, **asked) -> str:
    """Start a probe or an alignment and give its id."""
    answer = client.post(f"/v1/runs/{path}", json=asked, headers=headers)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/runs/{answer.json()['id']}"
    return answer.json()["id"]


def probed(client, headers=None, **asked) -> str:
    """Start a probe of the small world."""
    data = uploaded(client, [one.model_dump(exclude_defaults=True) for one in cases(3)], headers=headers or {})
    own(client, RIGHT, headers)
    return sent(client, "probe", headers, metric="right", dataset=data, **asked)


def annotated(client, headers=None) -> str:
    """Make a run of answers that people annotated, and give its id."""
    own(client, TONE, headers)
    data = uploaded(client, map(case, RULES), headers=headers or {})
    answer = client.post("/v1/runs", json={"dataset": data, "metrics": ["tone"]}, headers=headers)
    run = answer.json()["id"]
    assert ended(client, run, headers)["status"] == "finished"
    people = lines(one.model_dump(mode="json", exclude_none=True) for one in labels(TONE, RULES))
    kind = {"Content-Type": "application/jsonl", **(headers or {})}
    assert client.put(f"/v1/runs/{run}/annotations", content=people, headers=kind).status_code == 200
    return run


def same(found, record, **changed):
    """Compare a result with the library's record."""
    told = json.loads(record.model_dump_json())
    names = changed.keys() | {"usage", "cost"}
    assert {**told, **changed} == {**found, **{name: told[name] for name in names - changed.keys()}}
    assert found["usage"]["calls"] == told["usage"]["calls"]


def test_a_probe_is_that_of_the_library(tmp_path):
    """Kill rates, noise and survivors are those of `probe` for the same judge and cases; its verdicts are results."""
    with serving(tmp_path / "runs", judges={"weak": judge(believes_denials)}) as client:
        run = probed(client)
        info = ended(client, run)
        assert (info["status"], info["kind"], info["dataset"][:4]) == ("finished", "probe", "mine")
        found = client.get(f"/v1/runs/{run}/probe").json()
        results = client.get(f"/v1/runs/{run}/results?tag=probe:empty").json()["results"]
    expected = probe(RIGHT, judge(believes_denials), cases(3), out=tmp_path / "own")
    same(found, expected, folder=run, judge="openai:weak")
    assert info["progress"]["usage"]["calls"] == expected.usage.calls
    assert info["progress"]["done"] == info["progress"]["scored"] == expected.usage.calls
    assert {one["tags"]["of"] for one in results} == {"q0", "q1", "q2"}
    assert found["survivors"]


def test_an_alignment_is_that_of_the_library(tmp_path):
    """Attempts, gain and the new definition are those of `align`; the definition becomes a metric as it is."""
    with serving(tmp_path / "runs", judges={"j": follower(TONE, RULES, FOLLOWS)}) as client:
        run = annotated(client)
        made = sent(client, "align", run=run, metric="tone", folds=2, ways=["rewrite"])
        info = ended(client, made)
        assert (info["status"], info["kind"]) == ("finished", "alignment"), info
        found = client.get(f"/v1/runs/{made}/alignment").json()
        replaced = client.post("/v1/metrics?replace=true", json={"yaml": found["written"]})
        assert replaced.status_code == 201, replaced.text
        judge = client.app.state.service.models["j"]
        expected = align(tmp_path / "runs" / run, TONE, judge, folds=2, ways=["rewrite"], work=tmp_path / "own")
    assert expected.accepted
    chosen = {"folder": run, "path": f"{made}/tone.yaml"}
    told = json.loads(expected.model_dump_json(exclude={"written"})) | chosen
    assert {name: found[name] for name in told} == told
    assert info["progress"]["usage"]["calls"] == expected.usage.calls
    assert str(tmp_path) not in json.dumps(found)


@pytest.mark.nightly
def test_a_killed_probe_goes_on(tmp_path):
    """Killed with -9, the process of a probe is started again, and no finished judgement is asked again."""
    asked = ScriptedJudge(answering(), delay=0.3)
    with serving(tmp_path / "runs", judges={"j": asked}) as client:
        run = probed(client, repeats=1, mutants=2, concurrency=1)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 8)
        kill_jobs()
        asked.delay = 0
        info = ended(client, run)
        found = client.get(f"/v1/runs/{run}/probe").json()
    expected = probe(RIGHT, judge(), cases(3), repeats=1, mutants=2, out=tmp_path / "own")
    assert info["status"] == "finished"
    assert info["progress"]["usage"]["calls"] == info["progress"]["done"] == expected.usage.calls
    assert found["checks"] == json.loads(expected.model_dump_json())["checks"]
    assert len(asked.calls) - expected.usage.calls <= 1  # the one whose answer was on the way


@pytest.mark.nightly
def test_a_killed_alignment_goes_on(tmp_path):
    """Killed with -9, an alignment goes on with its stored judgements and texts, and ends as if it had not been."""
    asked = follower(TONE, RULES, FOLLOWS)
    with serving(tmp_path / "runs", judges={"j": asked}) as client:
        run = annotated(client)
        before = len(asked.calls)
        asked.delay = 0.2
        made = sent(client, "align", run=run, metric="tone", folds=2, ways=["rewrite"], concurrency=1)
        waited(client, made, lambda info: (info["progress"] or {}).get("done", 0) >= 8)
        kill_jobs()
        asked.delay = 0
        info = ended(client, made)
        found = client.get(f"/v1/runs/{made}/alignment").json()
    assert (info["status"], found["accepted"]) == ("finished", True)
    assert len(asked.calls) - before - info["progress"]["usage"]["calls"] <= 1
    assert found["kept"] >= 8


@pytest.mark.nightly
def test_caps_and_resuming(tmp_path):
    """A cap stops both in order: a probe tells what it found so far, an alignment has to be resumed for a result."""
    with serving(tmp_path / "runs", judges={"j": follower(TONE, RULES, FOLLOWS)}) as client:
        run = annotated(client)
        made = sent(client, "align", run=run, metric="tone", folds=2, ways=["rewrite"], max_calls=5)
        info = ended(client, made)
        assert (info["status"], info["progress"]["usage"]["calls"], info["resumable"]) == ("stopped", 5, True)
        problem = client.get(f"/v1/runs/{made}/alignment").json()
        assert (problem["code"], problem["status"], "max-calls" in problem["detail"]) == (
            "run_without_results",
            409,
            True,
        )
        assert client.post(f"/v1/runs/{made}/resume", json={"max_calls": 500}).status_code == 202
        assert ended(client, made)["status"] == "finished"
        assert client.get(f"/v1/runs/{made}/alignment").json()["accepted"]
        data = uploaded(client, map(case, range(3)))
        some = sent(client, "probe", metric="tone", dataset=data, checks=["category_order"], max_calls=2)
        assert ended(client, some)["status"] == "stopped"
        (check,) = client.get(f"/v1/runs/{some}/probe").json()["checks"]
        assert check["missing"] + sum(check["unused"].values()) == 3
        client.post(f"/v1/runs/{some}/resume", json={"max_calls": 50})
        assert ended(client, some)["progress"]["usage"]["calls"] == 6
        (check,) = client.get(f"/v1/runs/{some}/probe").json()["checks"]
        assert (check["missing"], check["mutants"]) == (0, 3)


@pytest.mark.nightly
def test_both_are_cancelled_like_runs(tmp_path):
    """While a probe is at work it has no result (409); cancelled, it stops, and is deleted as a run is."""
    with serving(tmp_path / "runs", judges={"j": ScriptedJudge(answering(), delay=0.2)}) as client:
        run = probed(client, concurrency=1)
        waited(client, run, lambda info: info["progress"] and info["progress"]["done"])
        problem = client.get(f"/v1/runs/{run}/probe").json()
        assert (problem["code"], problem["status"]) == ("run_active", 409)
        assert client.delete(f"/v1/runs/{run}").status_code == 409
        assert client.post(f"/v1/runs/{run}/cancel").status_code == 202
        info = ended(client, run)
        assert (info["status"], info["why"]) == ("stopped", "it was cancelled")
        assert client.delete(f"/v1/runs/{run}").status_code == 204
        assert client.get(f"/v1/runs/{run}/probe").json()["code"] == "run_not_found"


@pytest.mark.nightly
def test_calls_count_for_the_quotas(tmp_path):
    """Every call of a probe and of an alignment, also of the model that writes, is in the usage; a quota stops both."""
    asked = follower(TONE, RULES, FOLLOWS)
    limits = (parse_quota("calls=70/day"),)
    with serving(tmp_path / "runs", judges={"j": asked}, quotas=limits) as client:
        run = annotated(client)
        data = uploaded(client, map(case, range(3)))
        ended(client, sent(client, "probe", metric="tone", dataset=data, repeats=1))
        made = sent(client, "align", run=run, metric="tone", folds=2, ways=["rewrite"])
        info = ended(client, made)
        assert (info["status"], "quota" in info["why"]) == ("stopped", True)
        amounts = client.get("/v1/usage").json()["amounts"]
        (used,) = [one["used"] for one in amounts if (one["name"], one["period"]) == ("calls", "day")]
        assert used == len(asked.calls) == 70
        refused = client.post("/v1/runs/probe", json={"metric": "tone", "dataset": data})
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_reached")


@pytest.mark.nightly
def test_a_request_that_is_sent_again_starts_once(refusing):
    """The same key gives the same probe; with another request it is refused."""
    client, *_ = refusing
    asked = {"metric": "correctness", "checks": ["empty"], "limit": 1}
    first, second = (client.post("/v1/runs/probe", json=asked, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json()["id"] == second.json()["id"]
    other = client.post("/v1/runs/align", json={"run": "r", "metric": "m"}, headers={"Idempotency-Key": "k"})
    assert other.json()["code"] in {"idempotency_key_reused", "metric_not_found"}
    assert ended(client, first.json()["id"])["status"] == "finished"
    client.delete(f"/v1/runs/{first.json()['id']}")


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """Give a client with a data set and a run without annotations."""
    with serving(tmp_path_factory.mktemp("served") / "runs") as client:
        data = uploaded(client, rows(2))
        run = started(client, data)
        ended(client, run)
        yield client, data, run


def kill_jobs():
    """Kill the processes of runs that this process started."""
    found = [one for one in psutil.Process().children() if "greval.serve.jobs.child" in " ".join(one.cmdline())]
    assert found
    for one in found:
        one.kill()
