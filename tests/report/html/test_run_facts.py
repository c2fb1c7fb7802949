"""How a run came to be: its files, judges and definitions."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from greval.datasets.case_reader import read_cases
from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.report.html.templating import PageOrigin, build_versions_table, list_run_facts
from greval.runs.evaluation import evaluate
from greval.runs.store import Store
from greval.testing import ScriptedJudge

PAGE = PageOrigin(datetime(2026, 11, 23, tzinfo=UTC), "", "1")
CASE = Case(id="q1", question="Who?", answer="Ada", expected_answer="Ada")


class NamedJudge(ScriptedJudge):
    """A scripted judge with a name."""

    model_name: str = ""


def judge(name):
    return NamedJudge([{"reason": "r", "value": 1}], model_name=name)


@pytest.mark.parametrize("several", [False, True])
def test_the_judge_of_each_metric_is_a_fact_if_they_differ(tmp_path, several):
    """One judge is named once; several are named with their metrics."""
    metrics = [load_metric("correctness"), load_metric("completeness"), load_metric("latency")]
    others = {"completeness": judge("large")} if several else {}
    evaluate([CASE], metrics, judge("small"), judges=others, out=tmp_path)
    with Store.open(tmp_path) as store:
        facts = dict(list_run_facts(store, PAGE))
    named = {name: value for name, value in facts.items() if name.startswith("judge") and ":" not in name}
    assert named == (
        {"judge of correctness": "NamedJudge:small", "judge of completeness": "NamedJudge:large"}
        if several
        else {"judge": "NamedJudge:small"}
    )


def test_files_are_named_without_their_folders(tmp_path):
    """The name and the hash of a file are known, and its folder is not, so that a report can be shared."""
    path = tmp_path / "cases.csv"
    path.write_text("question,answer,expected_answer\nWho?,Ada,Ada\n", encoding="utf-8")
    run = evaluate(read_cases(path), [load_metric("exact_match")], out=tmp_path / "run")
    with Store.open(run.folder) as store:
        facts, versions = dict(list_run_facts(store, PAGE)), build_versions_table(store)
    assert re.fullmatch(r"cases.csv \(sha256 [0-9a-f]{32}\)", facts["cases"])
    assert not any(str(tmp_path) in value for value in facts.values())
    assert [(metric, judge) for metric, _, judge, _ in versions.rows] == [("exact_match", "computed")]
