"""Tests of metrics for remote callers."""

from __future__ import annotations

import json

from langchain_core.callbacks import BaseCallbackHandler

from greval.records.case import Case
from greval.serve.call_limit import FairCallLimit
from greval.serve.service import Service, Tenant
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.metric_runner import MetricRunner
from greval.serve.state.remote_metric import RemoteMetric, ResultSerializer
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


async def test_callbacks_do_not_reach_the_judge(tmp_path):
    """The prompts of the server stay there; a config without a judge has the first one; rows are serialised as JSON."""
    judges = {name: ScriptedJudge([{"reason": "r", "value": value}]) for name, value in (("a", 1), ("b", 0))}
    service = Service(ServerSettings(runs=tmp_path), judges, FairCallLimit(2))
    metric = MetricLibrary().find(tmp_path, "correctness")
    remote = RemoteMetric(service, MetricRunner(service), Tenant("", tmp_path), (metric,))
    listener = Listener()
    for config in ({"callbacks": [listener]}, {"configurable": None}, {"configurable": {}}):
        result = await remote.ainvoke(CASE, config)
        assert result.value == 1
    assert listener.prompts == []
    serializer = ResultSerializer()
    assert json.loads(serializer.dumps(result)) == serializer.dumpd(result) == serializer.dumpd([result])[0]
