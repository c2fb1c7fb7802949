"""Analyses of runs over HTTP: those of the library, of one's own runs, without a path of the server in them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from agreed_runs import lines_of, said, write
from served_runs import ended, get_json, started, uploaded

from greval import Annotation, evaluate
from greval.analysis.comparison.api import compare
from greval.analysis.diagnosis.api import diagnose_run
from greval.analysis.diagnosis.records import tabulate
from greval.analysis.summary import build_report
from greval.report.agreement import format_verdict
from greval.report.case_grid import build_case_grid
from greval.report.comparison import describe_findings
from greval.report.panel import describe_panel
from greval.runs.run_summary import list_tags
from greval.runs.store import FILE, Store
from greval.serve.routes.figures import (
    DescribedAgreement,
    DescribedComparison,
    DescribedPanel,
    DescribedReport,
    report_folder,
)
from greval.testing import ScriptedJudge
from greval.trust.agreement.api import agreement
from greval.trust.annotations.files import keep_annotations
from greval.trust.estimates.api import estimate
from greval.trust.panels.api import panel

JSONL = {"Content-Type": "application/jsonl"}
VERDICTS = ["Yes", "Yes", "No", "Yes", "No", "No", "Yes", "No"]
ANA = ["Yes", "No", "No", "Yes", "No", "Yes", "Yes", "No"]
BEN = ["Yes", "Yes", "No", "Yes", "No", "Yes", "No", "No"]
OTHER_JUDGES = ["b", "c"]


def judge_latency(client, shift):
    """Run two methods, of which one takes longer by the shift, and return the run's id."""
    cases = [
        {"id": f"q{n}", "question": "?", "method": method, "usage": {"latency": n / 8 + more}, "tags": {"kind": kind}}
        for n, kind in enumerate("ab" * 6)
        for method, more in (("local", 0.0), ("walk", shift))
    ]
    run = started(client, uploaded(client, cases), "latency")
    assert ended(client, run)["methods"] == ["local", "walk"]
    return run


def judge_answers(client):
    """Run the metric that decides which answers are right, over right and wrong ones, and return the run's id."""
    cases = [
        {
            "id": f"q{n}",
            "question": f"Who owns {n}?",
            "expected_answer": "Team Petrel",
            "answer": "Team Petrel" if n % 2 else "Nobody.",
            "chunks": [{"id": "c1", "doc_id": "d1", "text": "It runs at night."}],
            "gold": {"essential_docs": ["d2"]},
            "tags": {"query_type": "ab"[n % 2], "kind": "x"},
        }
        for n in range(6)
    ]
    run = started(client, uploaded(client, cases), "fuzzy_containment@0.80")
    ended(client, run)
    return run


@pytest.fixture(scope="module")
def folders(shared_client, shared_runs):
    """Return the folders of runs that no test changes, by what they hold."""
    write(shared_runs / "labelled", "right", VERDICTS)
    labels = lines_of([*said("right", "ana", ANA), *said("right", "ben", BEN)])
    answer = shared_client.put("/v1/runs/labelled/annotations", content=labels, headers=JSONL)
    assert (answer.status_code, answer.json()) == (200, {"annotations": 16, "held": 16})
    for judge, values in (("b", VERDICTS), ("c", BEN)):
        write(shared_runs / judge, "right", values, judges=[judge] * len(values))
    ids = {"methods": judge_latency(shared_client, 1.0), "earlier": judge_latency(shared_client, 0.5)}
    ids["answers"] = judge_answers(shared_client)
    return {name: shared_runs / run for name, run in {**ids, "labelled": "labelled"}.items()}


def report(folder, **options):
    with Store.open(folder) as store:
        return DescribedReport(**dict(build_report(store, **options)), tags=list_tags(store))


def show_grid(folder):
    with Store.open(folder) as store:
        return build_case_grid(store)


def compare_panel(folder):
    """Compare judges, with the sentences that the command line prints."""
    compared = panel([folder, *(folder.with_name(judge) for judge in OTHER_JUDGES)], "right", combine="majority")
    return DescribedPanel(**dict(compared), findings=tuple(describe_panel(compared)))


def describe_agreement(folder):
    """Compare judge and people, with the paragraph that the command line prints."""
    measured = agreement(folder, "right", combine="each", floors=["exact_match"])
    return DescribedAgreement(**dict(measured), findings=(format_verdict(measured),))


def describe_latency(folder):
    """Compare latencies, with the sentences that the command line prints."""
    comparison = compare(folder, metrics=["latency"], **COMPARED)
    return DescribedComparison(**dict(comparison), findings=tuple(describe_findings(comparison)))


COMPARED = {"baseline": "local", "by": "kind", "correction": "holm", "level": 0.9}
FIGURES = [
    ("methods", "report", {}, report),
    ("methods", "report", {"by": ["method", "kind"]}, lambda folder: report(folder, by=("method", "kind"))),
    ("methods", "compare", {**COMPARED, "metric": "latency"}, describe_latency),
    ("methods", "grid", {}, show_grid),
    ("labelled", "agreement", {"metric": "right", "people": "each", "floor": "exact_match"}, describe_agreement),
    ("labelled", "estimate", {"metric": "right", "level": 0.9}, lambda folder: estimate(folder, "right", level=0.9)),
    ("labelled", "panel", {"run": OTHER_JUDGES, "metric": "right", "combine": "majority"}, compare_panel),
    ("answers", "diagnose", {}, lambda folder: tabulate([*diagnose_run(folder)], by=["query_type"])),
    ("answers", "diagnose", {"by": "kind"}, lambda folder: tabulate([*diagnose_run(folder)], by=["kind"])),
]  # fmt: skip
"""A run, the path and the query of an analysis of it, and the function of the library."""


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure[1])
def test_a_figure_is_that_of_the_library(shared_client, shared_runs, folders, figure):
    """Each analysis has the fields of the library's record, with the ids of runs in place of their folders."""
    name, path, query, analyse = figure
    folder = folders[name]
    served_figure = get_json(shared_client, f"/v1/runs/{folder.name}/{path}", **query)
    assert served_figure == json.loads(analyse(folder).model_dump_json().replace(f"{shared_runs}/", ""))


def test_a_report_beside_chance(client):
    """The figures by chance are there if they are asked for."""
    cases = [{"id": f"q{n}", "question": "?", "retrieved_doc_ids": [f"d{n}"], "gold_ids": [f"d{n}"]} for n in range(3)]
    run = started(client, uploaded(client, cases), "recall@10")
    ended(client, run)
    assert "chance" not in get_json(client, f"/v1/runs/{run}/report")
    (figure,) = get_json(client, f"/v1/runs/{run}/report", chance=True)["chance"]
    assert (figure["metric"], figure["mean"], figure["by_chance"]) == ("recall@10", 1, 0)


def test_a_report_says_how_two_judges_shared_the_cases(tmp_path):
    """In the sentences that the command line prints; a run of one judge has none."""
    cases = [{"id": f"q{n}", "question": "?", "expected_answer": "Ada.", "answer": "Ada."} for n in range(40)]
    labels = [Annotation(sample_id=case["id"], metric="correctness", annotator="ana", value=1) for case in cases]
    judge = ScriptedJudge([{"reason": "r", "value": 1}])
    options = {"escalate": ScriptedJudge([{"reason": "r", "value": 1}]), "labels": labels, "repeats": 2}
    two = evaluate(cases, ["correctness"], judge, out=tmp_path / "two", **options)
    shared, saved = report_folder(two.folder, by=()).findings
    assert "decided 40 of 40 cases" in shared
    assert saved.startswith("saved: ")
    one = evaluate(cases, ["correctness"], judge, out=tmp_path / "one")
    assert report_folder(one.folder, by=()).findings == ()


def test_parts_of_a_figure(shared_client, folders):
    """Questions are named up to a number, runs are compared with earlier ones, and cases are listed by cause."""
    path = f"/v1/runs/{folders['methods'].name}/compare"
    (contrast, *_) = get_json(shared_client, path, baseline="local", metric="latency", questions=2)["contrasts"]
    assert (contrast["lost"], contrast["lost_questions"]) == (12, ["q0", "q1"])
    against = get_json(shared_client, path, against=folders["earlier"].name)
    assert (against["folder"], against["against"]) == (folders["methods"].name, folders["earlier"].name)
    path = f"/v1/runs/{folders['answers'].name}/diagnose"
    not_reached = get_json(shared_client, path, cause="not reached")
    assert {row["cause"] for row in not_reached["rows"]} == {"not reached"}
    assert not_reached["groups"] == get_json(shared_client, path)["groups"]


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
