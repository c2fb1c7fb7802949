"""Replies of a server that sends too much, or sends requests on to another address."""

from __future__ import annotations

import gzip
from contextlib import ExitStack

import pytest
from aiohttp import web
from fault_server import FaultServer, floods, ok, says, unpacks
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage

from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.failures import MAX_ANSWER_CHARS
from greval.judging.model.judge import Judge
from greval.judging.model.reply_limit import (
    MEGABYTE,
    ReplyTooLargeError,
    receive_reply,
)

QUESTION = AnswerFormat("q", {"type": "object", "properties": {"value": {"type": "integer"}}}, "schema")
WAYS = {"direct": CallContext(), "LangChain": CallContext(config={"callbacks": [BaseCallbackHandler()]})}


async def packed(*_):
    """Answer with a small packed body."""
    content = gzip.compress(b'{"choices": []}')
    return web.Response(body=content, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})


def redirects(url, status):
    async def answer(_, __):
        return web.Response(status=status, headers={"Location": f"{url}/chat/completions"})

    return answer


async def ask(url, context):
    """Ask a judge once, and return its reply."""
    client = JudgeClient(Judge("openai:x", base_url=url, max_retries=0))
    # The first call may be made in another way than later ones.
    return await client.ask(QUESTION, [HumanMessage("Judge.")], context)


@pytest.mark.parametrize("way", WAYS)
async def test_an_endless_reply_is_given_up(fault_server, way):
    """A reply is read up to the limit, then the connection is closed."""
    fault_server.plan = floods
    reply = await ask(fault_server.url, WAYS[way])
    assert (reply.failure.kind, "more than 10 MB" in reply.failure.message) == ("malformed", True)


@pytest.mark.parametrize("way", WAYS)
async def test_a_reply_is_as_large_as_what_it_unpacks_to(fault_server, way):
    """A small compressed reply is read, and one that would fill the memory is given up."""
    fault_server.plan = unpacks
    assert "more than 10 MB" in (await ask(fault_server.url, WAYS[way])).failure.message
    fault_server.plan = packed
    assert "10 MB" not in (await ask(fault_server.url, WAYS[way])).failure.message


async def test_a_long_answer_is_not_read(fault_server):
    """An answer that no verdict can be is a failure at once, also if it is JSON to its end."""
    fault_server.plan = says(f'{{"value": 1, "reason": "{"x" * MAX_ANSWER_CHARS}"}}')
    reply = await ask(fault_server.url, WAYS["direct"])
    assert (reply.failure.kind, "characters" in reply.failure.message, reply.text) == ("malformed", True, "")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_request_is_not_sent_on(fault_server, way, status):
    """Texts of cases go to the address that was named: a redirect is a failure that names what to do."""
    with FaultServer(ok()) as other_server:
        fault_server.plan = lambda _: redirects(other_server.url, status)
        reply = await ask(fault_server.url, WAYS[way])
        assert other_server.calls == 0
    assert str(status) in reply.failure.message
    assert not reply.text


def test_replies_at_once_are_bounded():
    """Of replies that take too much together, the largest one is given up, and the others go on."""
    with ExitStack() as stack, ExitStack() as largest_stack:
        largest = largest_stack.enter_context(receive_reply())
        largest.add(9 * MEGABYTE)
        others = [stack.enter_context(receive_reply()) for _ in range(11)]
        for other in others:
            other.add(5 * MEGABYTE)
        # Beyond the limit, but another one is larger.
        others[0].add(1)
        with pytest.raises(ReplyTooLargeError, match="this is the largest"):
            largest.add(1)
        largest_stack.close()
        others[0].add(MEGABYTE)
