"""Tests of duels over HTTP: they are runs, and give what the library gives."""

from __future__ import annotations

import json

import pytest
from duelled_answers import fair, judge_by, write_answers
from served_runs import all_results, ended, get_json, rows, serving, started, uploaded, waited

from greval.analysis.duel.api import summarise_duel
from greval.analysis.duel.judging import duel
from greval.datasets.case_reader import read_cases
from greval.metrics.library import load_metric
from greval.report.duel import describe_preferences
from greval.runs.store import Store

ANSWERS = [
    {**case.model_dump(mode="json", exclude_defaults=True), "usage": {"latency": 1}}
    for case in write_answers(questions=8)
]
ASKED = {"metrics": ["comprehensiveness"], "methods": ["weak", "strong"], "limit": 5}


def begin(client, **body) -> str:
    """Start a duel and return its id."""
    answer = client.post("/v1/runs/duel", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/runs/{answer.json()['id']}"
    return answer.json()["id"]


def shorten(results):
    """Give what a judge decided in each result of a folder or of a response."""
    return [
        (row["sample_id"], row["method"], row["metric"], row["fingerprint"], row["outcome"]["judgements"])
        for row in sorted(results, key=lambda row: (row["sample_id"], row["method"]))
    ]


@pytest.mark.parametrize("source", ["run", "dataset"])
def test_a_duel_is_that_of_the_library(runs, tmp_path, source):
    """Pairs, verdicts and figures are those of `duel` for the same answers, judge, methods, limit and repeats."""
    with serving(runs, judges={"j": judge_by(fair)}) as client:
        data = uploaded(client, ANSWERS)
        run = started(client, data, "latency")
        assert ended(client, run)["status"] == "finished"
        duel_run = begin(client, **{source: {"run": run, "dataset": data}[source]}, **ASKED, repeats=2)
        info = ended(client, duel_run)
        assert (info["status"], info["kind"], info["methods"]) == ("finished", "duel", [])
        results = all_results(client, duel_run)
        report = get_json(client, f"/v1/runs/{duel_run}/duel")
        page = client.get(f"/v1/runs/{duel_run}/report.html")
        # The run whose answers are compared is as it was.
        assert {row["metric"] for row in all_results(client, run)} == {"latency"}
        judge = client.app.state.service.models["j"]
        answers = tmp_path / "answers.jsonl"
        answers.write_text("".join(f"{json.dumps(row)}\n" for row in ANSWERS), encoding="utf-8")
        duel(
            {"run": runs / run, "dataset": read_cases(answers)}[source],
            [load_metric("comprehensiveness")],
            judge,
            out=tmp_path / "own",
            methods=ASKED["methods"],
            limit=ASKED["limit"],
            repeats=2,
        )
    with Store.open(tmp_path / "own") as store:
        expected_results = [result.model_dump(mode="json") for result in store.results()]
    assert len(results) == info["progress"]["total"] == info["progress"]["done"] == 5
    assert shorten(results) == shorten(expected_results)
    expected = summarise_duel(tmp_path / "own")
    assert report == {
        **json.loads(expected.model_dump_json()),
        "folder": duel_run,
        "findings": [*describe_preferences(expected)],
    }
    assert "strong" in page.text
    assert str(runs) not in json.dumps(report)


def test_a_duel_is_cancelled_and_resumed(runs):
    """A cancelled duel keeps its verdicts, and judges only the other pairs when it is resumed."""
    model = judge_by(fair)
    model.delay = 0.1
    with serving(runs, judges={"j": model}) as client:
        duel_run = begin(client, dataset=uploaded(client, ANSWERS), metrics=["comprehensiveness"], concurrency=1)
        waited(client, duel_run, lambda info: (info["progress"] or {}).get("done", 0) >= 2)
        assert client.post(f"/v1/runs/{duel_run}/cancel").status_code == 202
        info = ended(client, duel_run)
        assert (info["status"], info["resumable"]) == ("stopped", True)
        model.delay = 0
        assert client.post(f"/v1/runs/{duel_run}/resume").status_code == 202
        assert ended(client, duel_run)["status"] == "finished"
        assert len({(row["sample_id"], row["method"]) for row in all_results(client, duel_run)}) == 24
    assert len(model.calls) <= 2 * 24 + 2


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ({"dataset": "DATA", "metrics": ["correctness"]}, 422, "invalid_metric", "judges one response"),
        ({"dataset": "DATA", "metrics": ["directness"], "methods": ["weak", "wek"]}, 422, "invalid_data", "weak"),
        ({"dataset": "ALONE", "metrics": ["directness"]}, 422, "invalid_data", "alone: no two methods answered"),
        ({"dataset": "none", "metrics": ["directness"]}, 404, "dataset_not_found", "none"),
        ({"run": "none", "metrics": ["directness"]}, 404, "run_not_found", "none"),
        ({"metrics": ["directness"]}, 422, "invalid_request", "name either a run or a dataset"),
        ({"run": "a", "dataset": "b", "metrics": ["directness"]}, 422, "invalid_request", "either a run or a dataset"),
    ],
)
def test_a_duel_that_cannot_begin_is_refused(shared_client, body, status, code, words):
    """What is wrong is said before anything is judged, and no run is created."""
    ids = {"DATA": uploaded(shared_client, ANSWERS), "ALONE": uploaded(shared_client, rows(2), "alone")}
    before = shared_client.get("/v1/runs").json()["runs"]
    sent = {name: ids.get(value, value) if isinstance(value, str) else value for name, value in body.items()}
    answer = shared_client.post("/v1/runs/duel", json=sent)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert words in answer.text
    assert shared_client.get("/v1/runs").json()["runs"] == before


def test_a_duel_without_what_a_metric_needs_is_refused(shared_client):
    """If a preference would be skipped for every pair, the response says what it lacks."""
    metric = "name: grounded\ndescription: d\npreference: true\nneeds: [question, answer, chunks]\nsteps: [s]\n"
    assert shared_client.post("/v1/metrics", json={"yaml": metric}).status_code == 201
    body = {"dataset": uploaded(shared_client, ANSWERS), "metrics": ["grounded"]}
    problem = shared_client.post("/v1/runs/duel", json=body).json()
    assert (problem["code"], "chunks" in problem["detail"]) == ("metrics_unservable", True), problem


def test_a_run_without_preferences_has_no_duel(shared_client):
    """The figures of a run without preferences are refused, with what to do."""
    run = started(shared_client, uploaded(shared_client, ANSWERS), "latency")
    ended(shared_client, run)
    problem = shared_client.get(f"/v1/runs/{run}/duel").json()
    assert (problem["code"], "has no preference" in problem["detail"]) == ("invalid_data", True), problem
