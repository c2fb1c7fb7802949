"""Tests of probes and alignments over HTTP: they are runs, and give what the library gives."""

from __future__ import annotations

import json

import psutil
import pytest
from aligned_runs import TONE, case, follower, labels, tones, wrong_in
from probed_judges import RIGHT, believes_denials, cases, judge
from served_runs import ended, lines, serving, started, uploaded, waited

from greval import write_metric
from greval.serve.quotas import parse_quota
from greval.trust.alignment.api import align
from greval.trust.probing.api import probe

RULES = tones(40)
FOLLOWS = wrong_in(0.5, 0.0)


def create(client, metric, headers=None):
    """Create a metric of the client's own."""
    answer = client.post("/v1/metrics", json={"yaml": write_metric(metric)}, headers=headers)
    assert answer.status_code == 201, answer.text


def begin(client, path, **body) -> str:
    """Start a probe or an alignment and return its id."""
    answer = client.post(f"/v1/runs/{path}", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/runs/{answer.json()['id']}"
    return answer.json()["id"]


def begin_probe(client, **options) -> str:
    """Start a probe of the small world."""
    data = uploaded(client, [world.model_dump(exclude_defaults=True) for world in cases(3)])
    create(client, RIGHT)
    return begin(client, "probe", metric="right", dataset=data, **options)


def begin_alignment(client, run, **options) -> str:
    """Start an alignment of the tone with the labels of a run."""
    return begin(client, "align", run=run, metric="tone", folds=2, ways=["rewrite"], **options)


def judge_labelled_answers(client) -> str:
    """Make a run of answers that people annotated, and return its id."""
    create(client, TONE)
    run = started(client, uploaded(client, map(case, RULES)), "tone")
    assert ended(client, run)["status"] == "finished"
    people = lines(label.model_dump(mode="json", exclude_none=True) for label in labels(TONE, RULES))
    kind = {"Content-Type": "application/jsonl"}
    assert client.put(f"/v1/runs/{run}/annotations", content=people, headers=kind).status_code == 200
    return run


def same(shown, record, **changed):
    """Compare a shown result with the library's record."""
    expected = json.loads(record.model_dump_json())
    names = changed.keys() | {"usage", "cost"}
    assert {**expected, **changed} == {**shown, **{name: expected[name] for name in names - changed.keys()}}
    assert shown["usage"]["calls"] == expected["usage"]["calls"]


def test_a_probe_is_that_of_the_library(runs, tmp_path):
    """Kill rates, noise and survivors are those of `probe` for the same judge and cases; its verdicts are results."""
    with serving(runs, judges={"weak": judge(believes_denials)}) as client:
        run = begin_probe(client)
        info = ended(client, run)
        assert (info["status"], info["kind"], info["dataset"][:4]) == ("finished", "probe", "mine")
        served_probe = client.get(f"/v1/runs/{run}/probe").json()
        results = client.get(f"/v1/runs/{run}/results?tag=probe:empty").json()["results"]
    expected = probe(RIGHT, judge(believes_denials), cases(3), out=tmp_path / "own")
    same(served_probe, expected, folder=run, judge="openai:weak")
    progress = info["progress"]
    assert progress["usage"]["calls"] == progress["done"] == progress["scored"] == expected.usage.calls
    assert {row["tags"]["of"] for row in results} == {"q0", "q1", "q2"}
    assert served_probe["survivors"]


def test_an_alignment_is_that_of_the_library(runs, tmp_path):
    """Attempts, gain and the new definition are those of `align`; the definition becomes a metric as it is."""
    with serving(runs, judges={"j": follower(TONE, RULES, FOLLOWS)}) as client:
        run = judge_labelled_answers(client)
        alignment = begin_alignment(client, run)
        info = ended(client, alignment)
        assert (info["status"], info["kind"]) == ("finished", "alignment"), info
        served_alignment = client.get(f"/v1/runs/{alignment}/alignment").json()
        replaced = client.post("/v1/metrics?replace=true", json={"yaml": served_alignment["written"]})
        assert replaced.status_code == 201, replaced.text
        models = client.app.state.service.models
        expected = align(runs / run, TONE, models["j"], folds=2, ways=["rewrite"], work=tmp_path / "own")
    assert expected.accepted
    fields = json.loads(expected.model_dump_json(exclude={"written"}))
    fields |= {"folder": run, "path": f"{alignment}/tone.yaml"}
    assert {name: served_alignment[name] for name in fields} == fields
    assert info["progress"]["usage"]["calls"] == expected.usage.calls
    assert str(runs) not in json.dumps(served_alignment)


@pytest.mark.nightly
def test_a_killed_alignment_goes_on(runs):
    """Killed with -9, an alignment goes on with its stored judgements and texts, and ends as if it had not been."""
    model = follower(TONE, RULES, FOLLOWS)
    with serving(runs, judges={"j": model}) as client:
        run = judge_labelled_answers(client)
        calls_before = len(model.calls)
        model.delay = 0.2
        alignment = begin_alignment(client, run, concurrency=1)
        waited(client, alignment, lambda info: (info["progress"] or {}).get("done", 0) >= 8)
        kill_jobs()
        model.delay = 0
        info = ended(client, alignment)
        served_alignment = client.get(f"/v1/runs/{alignment}/alignment").json()
    assert (info["status"], served_alignment["accepted"], served_alignment["kept"] >= 8) == ("finished", True, True)
    assert len(model.calls) - calls_before - info["progress"]["usage"]["calls"] <= 1


@pytest.mark.nightly
def test_caps_and_resuming(runs):
    """A cap stops both in order: a probe tells what it found so far, an alignment has to be resumed for a result."""
    with serving(runs, judges={"j": follower(TONE, RULES, FOLLOWS)}) as client:
        alignment = begin_alignment(client, judge_labelled_answers(client), max_calls=5)
        info = ended(client, alignment)
        assert (info["status"], info["progress"]["usage"]["calls"], info["resumable"]) == ("stopped", 5, True)
        problem = client.get(f"/v1/runs/{alignment}/alignment").json()
        assert (problem["code"], problem["status"]) == ("run_without_results", 409)
        assert client.post(f"/v1/runs/{alignment}/resume", json={"max_calls": 500}).status_code == 202
        assert ended(client, alignment)["status"] == "finished"
        assert client.get(f"/v1/runs/{alignment}/alignment").json()["accepted"]
        data = uploaded(client, map(case, range(3)))
        run = begin(client, "probe", metric="tone", dataset=data, checks=["category_order"], max_calls=2)
        assert ended(client, run)["status"] == "stopped"
        (check,) = client.get(f"/v1/runs/{run}/probe").json()["checks"]
        assert check["missing"] + sum(check["unused"].values()) == 3
        client.post(f"/v1/runs/{run}/resume", json={"max_calls": 50})
        assert ended(client, run)["progress"]["usage"]["calls"] == 6
        (check,) = client.get(f"/v1/runs/{run}/probe").json()["checks"]
        assert (check["missing"], check["mutants"]) == (0, 3)


@pytest.mark.nightly
def test_calls_count_for_the_quotas(runs):
    """Every call of a probe and of an alignment, also of the model that writes, is in the usage; a quota stops both."""
    model = follower(TONE, RULES, FOLLOWS)
    with serving(runs, judges={"j": model}, quotas=(parse_quota("calls=70/day"),)) as client:
        run = judge_labelled_answers(client)
        data = uploaded(client, map(case, range(3)))
        ended(client, begin(client, "probe", metric="tone", dataset=data, repeats=1))
        info = ended(client, begin_alignment(client, run))
        assert (info["status"], "quota" in info["why"]) == ("stopped", True)
        amounts = client.get("/v1/usage").json()["amounts"]
        usage = {(amount["name"], amount["period"]): amount["used"] for amount in amounts}
        assert usage["calls", "day"] == len(model.calls) == 70
        refused = client.post("/v1/runs/probe", json={"metric": "tone", "dataset": data})
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_reached")


def kill_jobs():
    """Kill the processes of runs that this process started."""
    children = psutil.Process().children()
    jobs = [child for child in children if "greval.serve.jobs.child" in " ".join(child.cmdline())]
    assert jobs
    for job in jobs:
        job.kill()
