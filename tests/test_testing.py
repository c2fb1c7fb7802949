"""The public fake judge: scripted or a function, in every tier, with faults on demand."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from virtual_time import in_virtual_time, now

from greval.testing import USAGE, ScriptedJudge

GOOD = {"reason": "ä", "value": 1}
SCHEMA = {"title": "verdict", "description": "d", "type": "object", "properties": {"value": {"type": "integer"}}}


def test_answers_in_order_and_again():
    """A script is answered in order and begins again when it ran out."""
    judge = ScriptedJudge(["a", "b"])
    assert [judge.invoke("?").text for _ in range(5)] == ["a", "b", "a", "b", "a"]


def test_answers_of_a_function():
    """A function sees the messages and decides."""
    judge = ScriptedJudge(lambda messages: messages[-1].text.upper())
    assert judge.invoke([HumanMessage("well")]).text == "WELL"


def test_kinds_of_answers():
    """A mapping is sent as JSON, a text as it is, a message as itself."""
    message = AIMessage("as it is", response_metadata={"finish_reason": "length"})
    judge = ScriptedJudge([GOOD, "text", message])
    first, second, third = (judge.invoke("?") for _ in range(3))
    assert (json.loads(first.text), second.text) == (GOOD, "text")
    assert (third.text, third.response_metadata["finish_reason"]) == ("as it is", "length")
    assert first.usage_metadata == second.usage_metadata == USAGE


@pytest.mark.parametrize("fault", [TimeoutError("late"), ValueError("no"), KeyError("x")])
def test_faults_on_demand(fault):
    """An exception in the script is raised, in both kinds of call."""
    judge = ScriptedJudge([fault])
    with pytest.raises(type(fault)):
        judge.invoke("?")
    with pytest.raises(type(fault)):
        asyncio.run(judge.ainvoke("?"))
    assert len(judge.calls) == 2


def test_calls_are_kept():
    """The messages of every call can be looked at afterwards, whatever became of it."""
    judge = ScriptedJudge(["a"])
    judge.invoke("one")
    judge.bind(stop=["x"]).invoke([HumanMessage("two"), HumanMessage("three")])
    assert [[message.text for message in call] for call in judge.calls] == [["one"], ["two", "three"]]


def test_tools():
    """With tools bound a mapping is a call of the first tool, and LangChain's own structured output works."""
    judge = ScriptedJudge([GOOD], tier="tools")
    assert judge.bind_tools([SCHEMA]).invoke("?").tool_calls[0]["args"] == GOOD
    assert judge.with_structured_output(SCHEMA).invoke("?") == GOOD
    found = judge.with_structured_output(SCHEMA, include_raw=True).invoke("?")
    assert (found["parsed"], found["parsing_error"], found["raw"].usage_metadata) == (GOOD, None, USAGE)


def test_tools_that_are_not_called():
    """A text in the script is no tool call: that fault can be played too."""
    found = ScriptedJudge(["no"], tier="tools").with_structured_output(SCHEMA, include_raw=True).invoke("?")
    assert (found["parsed"], found["raw"].text) == (None, "no")


@in_virtual_time
async def test_delay():
    """A slow judge can be played, without holding up others."""
    judge, start = ScriptedJudge(["a"], delay=0.1), now()
    assert len(await asyncio.gather(*(judge.ainvoke("?") for _ in range(20)))) == 20
    assert now() - start == pytest.approx(0.1)


def test_one_judge_in_many_threads():
    """Each answer of a script is given once, whatever the threads."""
    judge = ScriptedJudge([str(n) for n in range(40)])
    assert sorted(int(message.text) for message in judge.batch(["?"] * 40)) == [*range(40)]
