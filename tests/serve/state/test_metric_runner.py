"""Tests of judging within a request: what is compiled once."""

from __future__ import annotations

from greval.serve.call_limit import FairCallLimit
from greval.serve.service import Service, Tenant
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.metric_runner import MetricRunner, TenantMetrics
from greval.testing import ScriptedJudge

YES = {"reason": "It fits.", "value": 1}


def metrics_of(folder, judge):
    """Return the metrics of one tenant whose judge is this model."""
    service = Service(ServerSettings(runs=folder), {"scripted": judge}, FairCallLimit(4))
    return TenantMetrics(MetricLibrary(), MetricRunner(service), Tenant("", folder))


def test_runnables_and_clients_are_cached(tmp_path):
    """The same metric and judge give the same objects, because they own connections."""
    metrics = metrics_of(tmp_path, ScriptedJudge([YES]))
    runner, correctness = metrics.runner, tuple(metrics.find_all(["correctness"]))
    assert runner.get_runnables(metrics.tenant, None, correctness, 1) is runner.get_runnables(
        metrics.tenant, None, correctness, 1
    )
    first, second = (runner.get_clients(metrics.tenant, judge, correctness) for judge in (None, "scripted"))
    assert first["correctness"] is second["correctness"]


def test_reason_depth_gives_the_same_object_each_time(tmp_path):
    """A changed depth is a changed metric, equal depth the same object, so that it is compiled once."""
    metrics = metrics_of(tmp_path, ScriptedJudge([YES]))
    (plain,), (steps,), (again,) = (metrics.find_all(["correctness"], depth) for depth in (None, "steps", "steps"))
    assert steps is again
    assert (steps.metric.reason_depth, plain.metric.reason_depth) == ("steps", "brief")
