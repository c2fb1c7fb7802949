"""Tests of the state that routes share: judges by name, and the folders of tenants."""

from __future__ import annotations

import pytest

from greval.serve.call_limit import FairCallLimit
from greval.serve.problems import ServeError
from greval.serve.service import PLAIN_NAME, Service, Tenant
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge


def service_of(*names):
    """Return a service with scripted judges of these names."""
    return Service(ServerSettings(), {name: ScriptedJudge([{}]) for name in names}, FairCallLimit(2))


def test_the_first_judge_is_the_default():
    """Without a name the first judge answers, with a name the one that has it."""
    service = service_of("a", "b")
    assert service.find_judge() is service.models["a"]
    assert service.find_judge("b") is service.models["b"]


def test_unknown_judges_are_not_found():
    """The message lists the names that exist; without any judge the operator is asked to name one."""
    with pytest.raises(ServeError, match="it has a, b") as caught:
        service_of("a", "b").find_judge("c")
    assert caught.value.status == 404
    with pytest.raises(ServeError, match="no judge") as caught:
        service_of().find_judge()
    assert caught.value.status == 503


async def test_clients_take_the_tenant_s_turn(tmp_path):
    """The slot of a tenant counts in the limit of the server."""
    service = service_of("a")
    async with service.get_call_slot(Tenant("ana", tmp_path)):
        assert service.call_limit.in_flight == 1
    assert service.call_limit.in_flight == 0


def test_folders_of_a_tenant_are_no_runs(tmp_path):
    """Metrics and data sets lie in folders whose names no run can have."""
    tenant = Tenant("ana", tmp_path)
    assert {tenant.metrics.parent, tenant.datasets.parent} == {tmp_path}
    assert not any(PLAIN_NAME.fullmatch(folder.name) for folder in (tenant.metrics, tenant.datasets))
