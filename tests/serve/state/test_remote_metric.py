"""Tests of metrics for remote callers."""

from __future__ import annotations

import json

import pytest
from langchain_core.callbacks import BaseCallbackHandler

from greval.records.case import Case
from greval.serve.call_limit import FairCallLimit
from greval.serve.service import Service, Tenant
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.metric_runner import MetricRunner
from greval.serve.state.remote_metric import RemoteMetric, ResultSerializer, get_judge_name
from greval.testing import ScriptedJudge

CASE = Case(id="q1", question="Who?", answer="Ada.", expected_answer="Ada")


class Listener(BaseCallbackHandler):
    """A callback that notes the prompts that reach it."""

    def __init__(self):
        """Start with none."""
        self.prompts = []

    def on_chat_model_start(self, serialized, messages, **_):
        """Note a prompt."""
        self.prompts.append((serialized, messages))


@pytest.fixture
def judges():
    """Return two judges that answer differently."""
    return {name: ScriptedJudge([{"reason": "r", "value": value}]) for name, value in (("a", 1), ("b", 0))}


@pytest.fixture
def remote(tmp_path, judges):
    """Return correctness as remote callers use it."""
    service = Service(ServerSettings(runs=tmp_path), judges, FairCallLimit(2))
    metric = MetricLibrary().find(tmp_path, "correctness")
    return RemoteMetric(service, MetricRunner(service), Tenant("", tmp_path), (metric,))


async def test_the_config_names_the_judge(remote):
    """The first judge answers by default, another one when it is named."""
    for config, value in ((None, 1), ({"configurable": {"judge": "b"}}, 0), ({"configurable": {}}, 1)):
        assert (await remote.ainvoke(CASE, config)).value == value


async def test_a_batch_keeps_its_order_and_its_judges(remote):
    """Each case has its own config, and the results come in the order of the cases."""
    cases = [CASE.model_copy(update={"id": f"q{n}"}) for n in range(4)]
    configs = [{"configurable": {"judge": "ab"[n % 2]}} for n in range(4)]
    found = await remote.abatch(cases, configs)
    assert [(row.sample_id, row.value) for row in found] == [("q0", 1), ("q1", 0), ("q2", 1), ("q3", 0)]


async def test_callbacks_do_not_reach_the_judge(remote):
    """The prompts of the server stay there."""
    listener = Listener()
    await remote.ainvoke(CASE, {"callbacks": [listener]})
    assert listener.prompts == []


def test_synchronous_calls_work(remote):
    """`invoke` gives what `ainvoke` gives."""
    assert remote.invoke(CASE).value == 1


def test_only_the_judge_can_be_configured(remote, judges):
    """The schema of the config lists the judges' names."""
    (field,) = remote.config_specs
    assert field.id == "judge"
    assert all(repr(name) in str(field.annotation) for name in judges)


@pytest.mark.parametrize("config", [{}, {"configurable": None}, {"configurable": {}}])
def test_without_a_name_there_is_none(config):
    """An empty config names no judge."""
    assert get_judge_name(config) is None


def test_results_are_serialised_as_rest_does(remote):
    """Bytes and values are the same JSON, alone and in lists."""
    result, serializer = remote.invoke(CASE), ResultSerializer()
    assert json.loads(serializer.dumps(result)) == serializer.dumpd(result) == serializer.dumpd([result])[0]
