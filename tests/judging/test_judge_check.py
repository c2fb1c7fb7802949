"""Finding out what a judge can do."""

from __future__ import annotations

import asyncio
import itertools
import json
import math

import pytest
from fault_server import FaultServer, error, gives, hangs, ok, says
from virtual_time import in_virtual_time

from greval import Judge
from greval.errors import JudgeError
from greval.judging import check_judge
from greval.testing import ScriptedJudge

GOOD = {"reason": "Umber is darker.", "value": "Umber"}


def found(model):
    return asyncio.run(check_judge(model))


@pytest.fixture
def judge(fault_server, monkeypatch):
    """Give a judge that speaks to the fault server and tries each call once."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return Judge("openai:m", base_url=fault_server.url, max_retries=0)


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
def test_a_model_that_keeps_to_the_schema(tier):
    """A good model of each tier is reachable, keeps to the schema, calls tools and tells its tokens, in four calls."""
    model = ScriptedJudge([GOOD], tier=tier)
    told = found(model)
    assert (told.tier, told.reachable, told.message) == (tier, True, "")
    assert (told.schema_enforced, told.tool_calls, told.repeatable, told.token_counts) == ("yes", "yes", "yes", "yes")
    assert told.probabilities == "no"
    assert (told.usage.calls, len(model.calls)) == (4, 4)


@pytest.mark.parametrize(
    "answer",
    [
        "Umber, I think.",
        '{"value": "Umber"}',
        '{"reason": 1, "value": "Umber"}',
        '{"reason": "r", "value": "umber"}',
        "",
    ],
)
def test_a_model_that_is_not_held_to_the_schema(answer):
    """An answer without the form that was asked for, or with the word as the text asks, is no enforced schema."""
    told = found(ScriptedJudge([answer]))
    assert (told.reachable, told.schema_enforced) == (True, "no")


def test_a_model_that_never_says_the_same_twice():
    """A model that answers in other words each time is not repeatable."""
    numbers = itertools.count()
    assert found(ScriptedJudge(lambda _: {**GOOD, "reason": f"Reason {next(numbers)}."})).repeatable == "no"


def test_a_model_that_fails_is_told_with_its_message():
    """A model that refuses each call is reachable, with the reason told and nothing claimed."""
    told = found(ScriptedJudge([ValueError("this model is not for judging")]))
    assert "this model is not for judging" in told.message
    assert (told.reachable, told.repeatable, told.schema_enforced, told.tool_calls) == (True, "not told", "no", "no")


def test_a_server_that_does_all(fault_server, judge):
    """A server with schemas, tools and token counts is found to have them, and is asked for probabilities."""
    told = found(judge)
    assert (told.judge, told.tier, told.reachable) == ("openai:m", "schema", True)
    assert (told.schema_enforced, told.tool_calls, told.repeatable, told.token_counts) == ("yes", "yes", "yes", "yes")
    assert told.probabilities == "no"
    assert (told.usage.calls, told.usage.input_tokens) == (4, 400)
    assert [("tools" in body, "response_format" in body) for body in fault_server.bodies] == [
        (False, True),
        (False, True),
        (False, True),
        (True, False),
    ]
    assert fault_server.bodies[0]["logprobs"] is True


VERDICT = json.dumps(GOOD)
LETTERS = [{"token": letter, "logprob": math.log(0.99)} for letter in VERDICT]


@pytest.mark.parametrize(
    ("plan", "name", "finding"),
    [
        (says(VERDICT, tokens=LETTERS), "probabilities", "yes"),
        (lambda body: error(400, message="tools are not supported") if "tools" in body else ok(), "tool_calls", "no"),
        (gives(GOOD, usage=None), "token_counts", "no"),
    ],
)
def test_what_one_server_has_or_lacks(fault_server, judge, plan, name, finding):
    """Probabilities that cover the value, refused tools and counts that are not told are found; the rest stands."""
    fault_server.plan = plan
    checked = found(judge)
    assert (checked.reachable, checked.schema_enforced, getattr(checked, name)) == (True, "yes", finding)


@pytest.mark.parametrize(
    ("plan", "words"),
    [(error(401, message="Wrong key."), "Wrong key"), (error(503), "503"), (hangs(), "")],
    ids=["key", "server", "hangs"],
)
@in_virtual_time
async def test_a_server_that_cannot_be_used_is_asked_once(judge, plan, words):
    """Where the first call cannot get through, no further call is made, and nothing is claimed."""
    async with FaultServer(plan) as server:
        told = await check_judge(judge.model_copy(update={"base_url": server.url}))
    assert (told.reachable, server.calls) == (False, 1)
    assert words in told.message
    assert told.message
    assert {told.schema_enforced, told.tool_calls, told.probabilities, told.repeatable, told.token_counts} == {
        "not told"
    }


def test_a_judge_without_a_name_for_its_provider():
    """A judge that cannot be made is an error, not a finding."""
    with pytest.raises(JudgeError, match="openai:gpt"):
        found(Judge("gpt"))
