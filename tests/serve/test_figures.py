"""Figures over HTTP: the same as the library gives, of one's own runs, without a path of the server in them."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing

import pytest
from agreed_runs import lines_of, said, write
from served_runs import ended, get_json, started, uploaded

from greval.analysis.comparison.api import compare
from greval.analysis.summary import build_report
from greval.runs.store import FILE, Store
from greval.trust.agreement.api import agreement
from greval.trust.annotations.files import keep_annotations
from greval.trust.estimates.api import estimate

JSONL = {"Content-Type": "application/jsonl"}
VERDICTS = ["Yes", "Yes", "No", "Yes", "No", "No", "Yes", "No"]
ANA = ["Yes", "No", "No", "Yes", "No", "Yes", "Yes", "No"]
BEN = ["Yes", "Yes", "No", "Yes", "No", "Yes", "No", "No"]


def judge_latency(client, count=12, shift=1.0) -> str:
    """Run two methods, of which one takes longer, and return the run's id."""
    cases = [
        {"id": f"q{n}", "question": "?", "method": method, "usage": {"latency": n / 8 + more}, "tags": {"kind": kind}}
        for n, kind in enumerate("ab" * (count // 2))
        for method, more in (("local", 0.0), ("walk", shift))
    ]
    run = started(client, uploaded(client, cases), "latency")
    assert ended(client, run)["methods"] == ["local", "walk"]
    return run


@pytest.fixture(scope="module")
def two_methods(shared_client, shared_runs):
    """Return a client, the folder of its runs, and a run of two methods that no test changes."""
    return shared_client, shared_runs, judge_latency(shared_client)


def to_json(record, folder) -> dict:
    """Return a record as the server shows it: the run's id in place of its folder."""
    return json.loads(record.model_dump_json().replace(str(folder), folder.name))


def test_a_report_is_the_library_s_own(two_methods):
    """The report by any tag equals that of the library, failures by kind included."""
    client, runs, run = two_methods
    with Store.open(runs / run) as store:
        for by in ((), ("kind",), ("method", "kind")):
            assert get_json(client, f"/v1/runs/{run}/report", by=by) == to_json(build_report(store, by=by), runs / run)


def test_a_comparison_is_the_library_s_own(two_methods):
    """Comparing methods, by a tag and against an earlier run, equals the library's figures."""
    client, runs, run = two_methods
    earlier = judge_latency(client, shift=0.5)
    path = f"/v1/runs/{run}/compare"
    shown = get_json(client, path, baseline="local", by="kind", metric="latency", correction="holm", level=0.9)
    options = {"baseline": "local", "by": "kind", "metrics": ["latency"], "correction": "holm", "level": 0.9}
    assert shown == to_json(compare(runs / run, **options), runs / run)
    assert [contrast["verdict"] for contrast in shown["contrasts"] if not contrast["group"]] == ["worse"]
    (contrast, *_) = get_json(client, path, baseline="local", metric="latency", questions=2)["contrasts"]
    assert (contrast["lost"], contrast["lost_questions"]) == (12, ["q0", "q1"])
    against = get_json(client, path, against=earlier)
    assert (against["folder"], against["against"]) == (run, earlier)


def test_agreement_and_estimate_are_the_library_s_own(client, runs):
    """With annotations sent as a file, agreement and estimate equal the library's figures."""
    folder, path = write(runs / "judged", "right", VERDICTS), "/v1/runs/judged"
    labels = lines_of([*said("right", "ana", ANA), *said("right", "ben", BEN)])
    answer = client.put(f"{path}/annotations", content=labels, headers=JSONL)
    assert (answer.status_code, answer.json()) == (200, {"annotations": 16, "held": 16})
    shown = get_json(client, f"{path}/agreement", metric="right", people="each")
    assert shown == to_json(agreement(folder, "right", combine="each"), folder)
    shown = get_json(client, f"{path}/estimate", metric="right", level=0.9)
    assert shown == to_json(estimate(folder, "right", level=0.9), folder)


def test_a_log_of_another_version_is_unusable(client, runs):
    """A run that this version cannot read is a 409, and no folder of the server is named."""
    keep_annotations(write(runs / "judged", "right", VERDICTS), said("right", "ana", ANA))
    with closing(sqlite3.connect(runs / "judged" / FILE)) as log:
        log.execute("PRAGMA user_version = 7")
    paths = ("report", "compare", "agreement?metric=right", "results", "cases", "case?sample_id=q1")
    answers = [client.get(f"/v1/runs/judged/{path}") for path in paths]
    labels = lines_of(said("right", "ana", ANA))
    answers.append(client.put("/v1/runs/judged/annotations", content=labels, headers=JSONL))
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(409, "run_unusable")}
    assert not [answer for answer in answers if str(runs) in answer.text]


def test_a_figure_is_new_when_the_run_is(client, runs):
    """A report that was asked for before is made anew once the run holds more."""
    write(runs / "judged", "right", VERDICTS)
    before = get_json(client, "/v1/runs/judged/report")
    time.sleep(0.01)
    write(runs / "judged", "right", [*VERDICTS, "Yes"])
    after = get_json(client, "/v1/runs/judged/report")
    assert (before["summaries"][0]["planned"], after["summaries"][0]["planned"]) == (8, 9)
