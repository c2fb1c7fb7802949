"""How a run came to be: its files, judges and definitions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from greval.analysis.run_origin import read_origin
from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.report.html.templating import PageOrigin, list_run_facts
from greval.runs.evaluation import evaluate
from greval.runs.store import Store
from greval.testing import ScriptedJudge

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
        facts = dict(list_run_facts(read_origin(store), PageOrigin(datetime(2026, 11, 23, tzinfo=UTC), "", "1")))
    named = {name: value for name, value in facts.items() if name.startswith("judge") and ":" not in name}
    assert named == (
        {"judge of correctness": "NamedJudge:small", "judge of completeness": "NamedJudge:large"}
        if several
        else {"judge": "NamedJudge:small"}
    )
