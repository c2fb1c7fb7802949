"""The short way to a server: what it sends, and what it makes of the answer, is what LangChain's way does."""

from __future__ import annotations

import fault_server as fault
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage, SystemMessage

from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge, get_chat_model
from greval.judging.model.openai_direct import select_direct_model

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
    options = {"top_p": 0.5, "default_headers": {"X-Team": "harbour"}, "default_query": {"v": "2"}}
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
    sent = [{name.lower(): value for name, value in headers.items()} for headers in fault_server.headers]
    headers = [{k: v for k, v in one.items() if k not in {"host", "x-stainless-raw-response"}} for one in sent]
    assert headers == [headers[0]] * 4
    assert (headers[0]["x-team"], headers[0]["authorization"]) == ("harbour", "Bearer none")


@pytest.mark.parametrize(
    ("options", "plain"), [({}, True), ({"streaming": True}, False), ({"use_responses_api": True}, False)]
)
async def test_only_plain_requests_take_the_short_way(options, plain):
    """A model that streams or speaks another API is asked through LangChain."""
    model = await get_chat_model(Judge("openai:fake", base_url="http://127.0.0.1:9/v1", options=options))
    assert (select_direct_model(model) is not None) is plain
