"""Requests that greval sends itself: they are those of LangChain, and so is what is made of the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import fault_server as fault
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage, SystemMessage

from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge, get_calling_model, is_direct
from greval.judging.model.openai_direct import DirectModel, build_body

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "value": {"type": "integer", "minimum": 0, "maximum": 1}},
    "required": ["reason", "value"],
    "additionalProperties": False,
}
MESSAGES = [SystemMessage("Judge: ½ < 1."), HumanMessage("<answer>\n\u2028é\n</answer>")]
TOKEN = {"token": "1", "bytes": [49], "logprob": -0.1, "top_logprobs": []}
BEHAVIOURS = {
    "an answer": fault.ok(),
    "an answer with log-probabilities": fault.says('{"reason": "r", "value": 1}', tokens=[TOKEN]),
    "an answer without usage": fault.says('{"reason": "r", "value": 1}', usage=None),
    "nothing said": fault.says(None),
    "a tool call": fault.says(None, calls=[{"name": "q", "arguments": '{"reason": "r", "value": 1}'}]),
    "a broken tool call": fault.says(None, calls=[{"name": "q", "arguments": '{"reason": "r"'}]),
    "a refusal": fault.refuses(),
    "a cut answer": fault.cut(),
    "a filtered answer": fault.filtered(),
    "a wrong key": fault.error(401, "invalid_api_key", "Incorrect API key: {authorization}."),
    "too many calls": fault.error(429, None, "Slow down.", Retry_After="0.5"),
    "no money": fault.error(429, "insufficient_quota", "You exceeded your current quota."),
    "a long case": fault.error(400, "context_length_exceeded", "maximum context length"),
    "a server error": fault.error(500),
    "a reset": fault.resets(),
    "a page": fault.body("<html>", "text/html"),
    "no JSON": fault.body("{"),
    "null": fault.body("null"),
    "no choices": fault.body('{"choices": null}'),
    "an error as 200": fault.body('{"error": {"message": "Busy.", "code": 429}}'),
}


class Watching(BaseCallbackHandler):
    """Makes LangChain's own way be taken."""


WATCHED = CallContext(config={"callbacks": [Watching()]})


@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("tier", ["schema", "text"])
async def test_all_ways_send_and_give_the_same(fault_server, name, tier):
    """The server sees the same requests, and the replies have the same text, cost and failure.

    The first and a later call are sent directly, and LangChain sends the last one.
    """
    settings = {"structured": tier, "confidence": True, "seed": 3, "max_tokens": 99, "max_retries": 0}
    options = {"top_p": 0.5, "default_headers": {"X-Team": "harbour"}}
    client = JudgeClient(Judge("openai:fake", base_url=fault_server.url, options=options, **settings))
    question = AnswerFormat("q", SCHEMA, tier, confidence=True)
    fault_server.plan = BEHAVIOURS[name]
    first = await client.ask(question, MESSAGES)
    fault_server.plan = fault.ok()
    await client.ask(question, MESSAGES)
    fault_server.plan = BEHAVIOURS[name]
    later = await client.ask(question, MESSAGES)
    long = await client.ask(question, MESSAGES, WATCHED)
    bodies = [dict(body) for body in fault_server.bodies]
    assert bodies == [bodies[0]] * 4
    replies = [(reply.text, reply.usage, reply.pause, [*reply.tokens]) for reply in (first, later, long)]
    assert replies == [replies[0]] * 3
    told = [reply.failure and (reply.failure.kind, reply.failure.raw) for reply in (first, later, long)]
    assert told == [told[0]] * 3
    assert (first.failure and first.failure.message) == (later.failure and later.failure.message)
    for headers in fault_server.headers:
        sent = {name.lower(): value for name, value in headers.items()}
        assert (sent["x-team"], sent["authorization"]) == ("harbour", "Bearer none")
        assert (sent["content-type"], sent["accept"]) == ("application/json", "application/json")


@pytest.mark.parametrize("name", ["fake", "gpt-4.1-mini", "gpt-5.4-mini", "gpt-5-chat-latest"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": None, "seed": 0},
        {"temperature": 1, "max_tokens": 99},
        {"options": {"reasoning_effort": "none", "extra_body": {"top_k": 3}}},
        {"options": {"reasoning_effort": "low", "presence_penalty": 0.5, "verbosity": "low"}},
    ],
)
async def test_bodies_are_those_of_langchain(name, settings):
    """For each model and setting a request has the body that the chat model of LangChain would send."""
    model = await get_calling_model(Judge(f"openai:{name}", base_url="http://127.0.0.1:9/v1", **settings))
    assert isinstance(model, DirectModel)
    chat = await model.load_model()
    for extra in (
        {},
        {"max_completion_tokens": 7, "logprobs": True, "stop": ['"']},
        {"extra_body": {"grammar": "root"}, "logit_bias": {3: 1.0}},
    ):
        assert model.build_body(MESSAGES, extra) == build_body(chat, MESSAGES, extra)


@pytest.mark.parametrize(
    ("model", "settings", "variable", "direct"),
    [
        ("openai:fake", {}, None, True),
        ("openai:gpt-5.4-mini", {"options": {"top_p": 0.5}}, "OPENAI_BASE_URL", True),
        ("openai:o3", {}, None, False),
        ("openai:gpt-5.4-pro", {}, None, False),
        ("openai:fake", {"options": {"streaming": True}}, None, False),
        ("openai:fake", {"options": {"use_responses_api": True}}, None, False),
        ("openai:fake", {"options": {"top_p": "high"}}, None, False),
        ("openai:fake", {"base_url": "http://host/v1?version=1"}, None, False),
        ("openai:fake", {}, "OPENAI_ORG_ID", False),
        ("openai:fake", {}, "HTTPS_PROXY", False),
        ("anthropic:x", {}, None, False),
        ("local", {}, None, True),
    ],
)
def test_only_usual_settings_are_sent_directly(monkeypatch, model, settings, variable, direct):
    """What streams, is reached another way or speaks another API is asked through LangChain."""
    for name in ("OPENAI_BASE_URL", "HTTPS_PROXY", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "http://127.0.0.1:9/v1")
    assert is_direct(Judge(model, **settings)) is direct


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream"])
async def test_an_answer_of_another_type_is_read(fault_server, content_type):
    """JSON that a server calls something else is the answer all the same."""
    content = json.dumps({"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]})
    fault_server.plan = fault.body(content, content_type)
    client = JudgeClient(Judge("openai:fake", base_url=fault_server.url, max_retries=0))
    reply = await client.ask(AnswerFormat("q", SCHEMA, "text"), MESSAGES)
    assert (reply.text, reply.failure) == ("{}", None)


@pytest.mark.parametrize(
    ("choice", "text", "kind"),
    [
        ({"finish_reason": "content_filter"}, "", "content_filter"),
        ({"finish_reason": "content_filter", "message": None}, "", "content_filter"),
        (
            {"finish_reason": "stop", "message": {"content": {"reason": "é", "value": 1}}},
            '{"reason": "é", "value": 1}',
            None,
        ),
    ],
)
async def test_a_choice_in_another_form_is_read(fault_server, choice, text, kind):
    """A choice without a message says why, and an answer that is an object instead of its JSON is the same answer."""
    fault_server.plan = fault.answers_with(200, {"choices": [choice], "usage": {"total_tokens": 9}})
    client = JudgeClient(Judge("openai:fake", base_url=fault_server.url, max_retries=0))
    reply = await client.ask(AnswerFormat("q", SCHEMA, "text"), MESSAGES)
    assert (reply.text, reply.failure and reply.failure.kind, reply.total_tokens) == (text, kind, 9)


def test_a_run_imports_no_client_of_openai(fault_server, tmp_path):
    """The packages of OpenAI, pandas and scipy take most of the start of a run; none of them is imported for one."""
    script = """
import sys
from greval import evaluate
case = {"question": "Who?", "expected_answer": "Ada", "answer": "Ada"}
run = evaluate([case], ["correctness"], "openai:m", out="run")
assert run.progress.scored == 1
print(str(run) and sorted({"openai", "langchain_openai", "pandas", "scipy"} & {*sys.modules}))
"""
    environment = {**os.environ, "OPENAI_BASE_URL": fault_server.url, "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
