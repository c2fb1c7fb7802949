"""Tests of judging within a request: caches, reason depth, and a judge that stops."""

from __future__ import annotations

import pytest

from greval.errors import JudgeUnavailableError
from greval.records.case import Case
from greval.serve.call_limit import FairCallLimit
from greval.serve.problems import ServeError
from greval.serve.service import Service, Tenant
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.metric_runner import MetricRunner, TenantMetrics
from greval.testing import ScriptedJudge

YES = {"reason": "It fits.", "value": 1}
CASES = [Case(id=f"q{n}", question=f"Who is {n}?", answer="Ada.", expected_answer="Ada") for n in range(3)]


def metrics_of(folder, judge):
    """Return the metrics of one tenant whose judge is this model."""
    service = Service(ServerSettings(runs=folder), {"scripted": judge}, FairCallLimit(4))
    return TenantMetrics(MetricLibrary(), MetricRunner(service), Tenant("", folder))


async def judge(metrics, *names, cases=CASES, repeats=1, judge=None):
    """Judge cases by metrics of these names."""
    found = metrics.find_all([*names])
    return await metrics.runner.judge_cases(metrics.tenant, cases, found, judge=judge, repeats=repeats, asked=names)


async def test_results_come_case_by_case(tmp_path):
    """The results of a case are adjacent, in the order of the cases and of the metrics."""
    found = await judge(metrics_of(tmp_path, ScriptedJudge([YES])), "correctness", "exact_match")
    assert [(row.sample_id, row.metric) for row in found] == [
        (case.id, name) for case in CASES for name in ("correctness", "exact_match")
    ]
    assert {row.outcome.status for row in found} == {"scored"}


async def test_equal_cases_are_judged_once(tmp_path):
    """A request is one run in memory: equal content costs one call."""
    judged = ScriptedJudge([YES])
    twins = [CASES[0].model_copy(update={"id": f"t{n}"}) for n in range(4)]
    found = await judge(metrics_of(tmp_path, judged), "correctness", cases=twins)
    assert (len(found), len(judged.calls)) == (4, 1)
    assert sum(row.usage.calls for row in found) == 1


async def test_a_judge_that_refuses_leaves_failures(tmp_path):
    """When the judge stops working, every case still has a row, and the rest is not asked."""
    judged = ScriptedJudge([JudgeUnavailableError("the key is refused")])
    found = await judge(metrics_of(tmp_path, judged), "correctness", cases=CASES)
    assert len(found) == len(CASES)
    assert {row.outcome.status for row in found} == {"failed"}


async def test_an_unknown_judge_is_not_found_even_if_none_is_needed(tmp_path):
    """A name that the server does not have is refused also for computed metrics."""
    with pytest.raises(ServeError, match="none of this name"):
        await judge(metrics_of(tmp_path, ScriptedJudge([YES])), "exact_match", judge="other")


def test_runnables_and_clients_are_cached(tmp_path):
    """The same metric and judge give the same objects, because they own connections."""
    metrics = metrics_of(tmp_path, ScriptedJudge([YES]))
    runner, found = metrics.runner, tuple(metrics.find_all(["correctness"]))
    assert runner.get_runnable(metrics.tenant, None, found) is runner.get_runnable(metrics.tenant, None, found)
    first, second = (runner.get_clients(metrics.tenant, judge, found) for judge in (None, "scripted"))
    assert first["correctness"] is second["correctness"]


def test_reason_depth_gives_the_same_object_each_time(tmp_path):
    """A changed depth is a changed metric, equal depth the same object, so that it is compiled once."""
    metrics = metrics_of(tmp_path, ScriptedJudge([YES]))
    (plain,), (steps,), (again,) = (metrics.find_all(["correctness"], depth) for depth in (None, "steps", "steps"))
    assert steps is again
    assert (steps.metric.reason_depth, plain.metric.reason_depth) == ("steps", "brief")


def test_metrics_come_after_what_they_build_on(tmp_path):
    """Dependencies are added before the metric, and a name given twice counts once."""
    found = metrics_of(tmp_path, ScriptedJudge([YES])).find_all(["correctness", "correctness"])
    assert [one.metric.name for one in found] == ["correctness"]
    with pytest.raises(ServeError, match="none of this name"):
        metrics_of(tmp_path, ScriptedJudge([YES])).find_all(["nothing_like_it"])
