"""Tests of the diagnosis of a run and of panels of judges over HTTP."""

from __future__ import annotations

import json

import pytest
from served_runs import ended, get_json, lines, started, uploaded

from greval.analysis.diagnosis.api import diagnose_run
from greval.analysis.diagnosis.records import tabulate
from greval.trust.panels.api import panel

CHUNK = {"id": "c1", "doc_id": "d1", "text": "It runs at night."}
GOLD = {"essential_docs": ["d2"]}
CSV = {"Content-Type": "text/csv"}
VERDICTS = "yynnyynn"
PANEL = (("a", VERDICTS), ("b", VERDICTS), ("c", "yyynnnyy"))


def same(shown, record, runs):
    """Compare an answer with the library's record, whose paths are the runs' ids."""
    assert shown == json.loads(record.model_dump_json().replace(f"{runs}/", ""))


@pytest.fixture(scope="module")
def answered(shared_client):
    """Return a run of the metric that decides which answers are right, over right and wrong ones."""
    cases = [
        {
            "id": f"q{n}",
            "question": f"Who owns {n}?",
            "expected_answer": "Team Petrel",
            "answer": "Team Petrel" if n % 2 else "Nobody.",
            "chunks": [CHUNK],
            "gold": GOLD,
            "tags": {"query_type": "ab"[n % 2], "kind": "x"},
        }
        for n in range(6)
    ]
    run = started(shared_client, uploaded(shared_client, cases), "fuzzy_containment@0.80")
    ended(shared_client, run)
    return run


def test_a_diagnosis_is_that_of_the_library(shared_client, shared_runs, answered):
    """The groups and the cases are those of `greval diagnose`, by the type of question or named tags."""
    run = answered
    rows = [*diagnose_run(shared_runs / run)]
    assert {row.cause for row in rows} == {"answered rightly", "not reached"}
    same(get_json(shared_client, f"/v1/runs/{run}/diagnose"), tabulate(rows, by=["query_type"]), shared_runs)
    same(get_json(shared_client, f"/v1/runs/{run}/diagnose", by="kind"), tabulate(rows, by=["kind"]), shared_runs)
    some = get_json(shared_client, f"/v1/runs/{run}/diagnose", cause="not reached")
    assert {row["cause"] for row in some["rows"]} == {"not reached"}
    assert some["groups"] == get_json(shared_client, f"/v1/runs/{run}/diagnose")["groups"]


def imported(client, judge, values, **sent):
    """Import verdicts of a judge and give the run's id."""
    rows = "".join(f"q{n},Question {n}?,{value}\n" for n, value in enumerate(values))
    query = {"name": judge, "scale": "yes/no", "metric": "right"}
    headers = CSV | sent.get("headers", {})
    answer = client.post("/v1/runs/import", params=query, content=f"id,question,value\n{rows}", headers=headers)
    return answer.json()["run"]["id"]


def test_a_panel_is_that_of_the_library(shared_client, shared_runs):
    """The figures of several judges are those of `greval panel`."""
    judges = [imported(shared_client, name, values) for name, values in PANEL]
    first, *others = judges
    shown = get_json(shared_client, f"/v1/runs/{first}/panel", run=others, metric="right", combine="majority")
    same(shown, panel([shared_runs / run for run in judges], "right", combine="majority"), shared_runs)
    people = [{"sample_id": f"q{n}", "metric": "right", "annotator": "ana", "value": "yes"} for n in range(8)]
    shared_client.put(
        f"/v1/runs/{first}/annotations", content=lines(people), headers={"Content-Type": "application/jsonl"}
    )
    assert get_json(shared_client, f"/v1/runs/{first}/panel", run=others, metric="right")["annotators"] == ["ana"]
