"""Replay over HTTP: a finished run is read again by edited metrics, without a call of the judge."""

from __future__ import annotations

import pytest
from served_metrics import tone
from served_runs import all_results, ended, get_json, rows, serving, slow, started, uploaded, waited

from greval import load_metric
from greval.runs.evaluation import evaluate
from greval.runs.run_summary import count_others
from greval.runs.store import Store
from greval.testing import ScriptedJudge

POLITE = {"reason": "It is.", "value": "Polite"}
EDITED = tone().replace("score: 1", "score: 0.75")


@pytest.fixture
def replayable(runs):
    """Yield a client, a run that judged the tone of three answers, and its judge."""
    judge = ScriptedJudge([POLITE])
    with serving(runs, judges={"slow": judge}) as client:
        save(client, tone())
        run = started(client, uploaded(client, rows(3)), "tone", "exact_match")
        assert ended(client, run)["status"] == "finished"
        yield client, run, judge


def replay(client, run, *metrics, **options):
    answer = client.post(f"/v1/runs/{run}/replay", json={"metrics": metrics, **options})
    assert answer.status_code == 200, answer.text
    return answer.json()


def save(client, yaml):
    client.post("/v1/metrics?replace=true", json={"yaml": yaml}).raise_for_status()


def read_scores(client, run):
    return {row["outcome"]["judgements"][0]["number"] for row in all_results(client, run, metric="tone")}


@pytest.mark.nightly
def test_edited_scores_are_read_again_without_a_call(replayable, tmp_path):
    """A preview names what changed and writes nothing; the replay does it, and a resumed run keeps it."""
    client, run, judge = replayable
    assert "score: 1" in tone() != EDITED
    save(client, EDITED)
    calls = len(judge.calls)
    preview = replay(client, run, "tone", preview=True)
    (metric,) = preview["replayable"]
    assert (metric["metric"], metric["results"], preview["replayed"], preview["refused"]) == ("tone", 3, [], [])
    assert metric["changes"] == ["scale.categories.Polite.score"]
    assert read_scores(client, run) == {1.0}
    done = replay(client, run, "tone")
    assert [(entry["metric"], entry["changed"], entry["missing"]) for entry in done["replayed"]] == [("tone", 3, 0)]
    assert (read_scores(client, run), len(judge.calls)) == ({0.75}, calls)
    assert get_json(client, f"/v1/runs/{run}/report")["replayed"] == {"tone": 3}
    progress = get_json(client, f"/v1/runs/{run}")["progress"]
    assert (progress["done"], progress["scored"], progress["failed"]) == (6, 6, 0)
    assert client.post(f"/v1/runs/{run}/resume").status_code == 202
    assert ended(client, run)["status"] == "finished"
    assert (read_scores(client, run), len(judge.calls)) == ({0.75}, calls)
    with Store.open(tmp_path / "runs" / run) as store:
        assert count_others(store) == 0


@pytest.mark.nightly
def test_a_run_that_is_worked_on_is_not_replayed(tmp_path):
    """Only a preview reads it meanwhile."""
    with serving(tmp_path / "runs", judges=slow(0.2)) as client:
        run = started(client, uploaded(client, rows(600)), concurrency=1)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 1)
        answer = client.post(f"/v1/runs/{run}/replay", json={})
        assert (answer.status_code, answer.json()["code"]) == (409, "run_active")
        assert replay(client, run, preview=True)["refused"] == []
        client.post(f"/v1/runs/{run}/cancel")
        assert ended(client, run)["status"] == "stopped"
        assert [entry["unchanged"] > 0 for entry in replay(client, run)["replayed"]] == [True]


def test_a_run_of_the_command_line_is_replayed(client, runs):
    """It has no files of the server, and gets none."""
    judge = ScriptedJudge([{"reason": "r", "value": 1}])
    evaluate(rows(2), [load_metric("correctness")], judge, out=runs / "mine")
    assert [entry["unchanged"] for entry in replay(client, "mine")["replayed"]] == [2]
    assert not (runs / "mine" / "request.json").exists()
