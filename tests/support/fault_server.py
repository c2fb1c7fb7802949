"""A real OpenAI-compatible chat server on 127.0.0.1 that answers, and fails, by a plan.

A plan is one behaviour, a list of them (begun again when it ran out), or a function from the body of
a request to a behaviour. As a command it serves `ok()` and prints its address: for benchmarks.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import threading
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from aiohttp import web
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import convert_to_messages
from waiting import SECONDS

Body = dict[str, Any]
Behaviour = Callable[[web.Request, Body], Awaitable[web.StreamResponse]]
Plan = Behaviour | Sequence[Behaviour] | Callable[[Body], Behaviour]
KEY = "sk-very-secret-0123456789"
"""The key that tests use, which no log, report or message may hold."""
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
}
ITEM = re.compile(r'<item n="(\d+)">')
CHUNK = re.compile(r'<chunk n="(\d+)">')


def keep_every_client() -> None:
    """Let LangChain keep all of its HTTP clients, not only the last 128.

    It leaves the sockets of others to the garbage collector, which is an error of whichever test runs then; the tests
    of one process ask more servers than that.
    """
    module: Any = sys.modules.get("langchain_openai.chat_models._client_utils")
    if module and module._cached_async_httpx_client.cache_info().maxsize:
        unbounded = lru_cache(maxsize=None)(module._cached_async_httpx_client.__wrapped__)
        module._cached_async_httpx_client = unbounded


class FaultServer:
    """A chat server on a free port; use it as a context manager.

    With `with` it runs in a thread of its own, with `async with` in the running loop, whose time is then its time.

    `calls` counts requests, `most` is the most that were in flight at once, `bodies` keeps what was
    sent, `headers` under which headers. `latency` is slept before each answer, in seconds, and `jitter`
    is the most that is slept beyond it, at random.
    """

    def __init__(self, plan: Plan | None = None, *, latency: float = 0.0, jitter: float = 0.0) -> None:
        """Keep the plan; nothing is served yet."""
        self.plan: Plan = plan or ok()
        self.latency = latency
        self.jitter = jitter
        self.bodies: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self.most = 0
        self.url = ""
        self._flying = 0
        self._came = threading.Event()

    def wait(self, seconds: float = SECONDS) -> None:
        """Wait until a first request has come."""
        assert self._came.wait(seconds)

    @property
    def calls(self) -> int:
        return len(self.bodies)

    @property
    def connections(self) -> int:
        """How many connections are open; each carries one request at a time."""
        assert self._runner.server
        return len(self._runner.server.connections)

    async def __aenter__(self) -> Self:
        self._runner = await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-server", daemon=True)
        self._thread.start()
        self._runner = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> web.AppRunner:
        keep_every_client()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        number = len(self.bodies)
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self._came.set()
        self._flying += 1
        self.most = max(self.most, self._flying)
        try:
            if self.latency or self.jitter:
                await asyncio.sleep(self.latency + random.uniform(0, self.jitter))
            return await self._behaviour(number, body)(request, body)
        finally:
            self._flying -= 1

    def _behaviour(self, number: int, body: Body) -> Behaviour:
        plan: Any = self.plan
        if isinstance(plan, Sequence):
            return plan[number % len(plan)]
        return plan if asyncio.iscoroutinefunction(plan) else plan(body)


def says(
    content: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    tokens: Sequence[Mapping[str, Any]] | None = None,
    calls: Sequence[Mapping[str, str]] | None = None,
    usage: Mapping[str, Any] | None = USAGE,
    extra: Mapping[str, Any] | None = None,
) -> Behaviour:
    """Answer with this message; `calls` are tool calls as `name` and `arguments`, `extra` more fields of it."""

    async def answer(_: web.Request, body: Body) -> web.StreamResponse:
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal, **(extra or {})}
        if calls:
            message["tool_calls"] = [
                {"id": f"c{n}", "type": "function", "function": {**c}} for n, c in enumerate(calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": finish}
        if tokens is not None:
            choice["logprobs"] = {"content": [{"bytes": None, "top_logprobs": [], **token} for token in tokens]}
        told = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", ""),
            "choices": [choice],
        }
        return web.json_response({**told, "usage": usage} if usage else told)

    return answer


def gives(content: Mapping[str, Any], **settings: Any) -> Behaviour:
    """Answer with this object as JSON."""
    return says(json.dumps(content, ensure_ascii=False), **settings)


def ok(value: object = None) -> Behaviour:
    """Answer as the schema of the request wants it, with a verdict on each item; `value` where it is given.

    A request without a schema gets a verdict as text.
    """

    async def answer(request: web.Request, body: Body) -> web.StreamResponse:
        if "tools" in body:
            function = body["tools"][0]["function"]
            arguments = json.dumps(sample(function["parameters"], body, value))
            return await says(None, calls=[{"name": function["name"], "arguments": arguments}])(request, body)
        if "response_format" not in body:
            return await says('{"reason": "It names what decides.", "value": 1}')(request, body)
        schema = body["response_format"]["json_schema"]["schema"]
        return await gives(sample(schema, body, value))(request, body)

    return answer


def answers_as(models: Mapping[str, BaseChatModel]) -> Callable[[Body], Behaviour]:
    """Answer as these chat models of the test's process do, such as scripted judges; the request names one."""

    def choose(body: Body) -> Behaviour:
        async def answer(request: web.Request, body: Body) -> web.StreamResponse:
            tools = {"tools": body["tools"]} if "tools" in body else {}
            reply = await models[body["model"]].ainvoke(convert_to_messages(body["messages"]), **tools)
            calls = [{"name": call["name"], "arguments": json.dumps(call["args"])} for call in reply.tool_calls]
            return await says(None if calls else reply.text, calls=calls)(request, body)

        return answer

    return choose


def lists(change: Callable[[list[dict[str, Any]]], list[Any]]) -> Behaviour:
    """Answer with a verdict on each item, changed: items left out, repeated, invented, permuted."""

    async def answer(request: web.Request, body: Body) -> web.StreamResponse:
        found = sample(body["response_format"]["json_schema"]["schema"], body)
        return await gives({"judgements": change(found["judgements"])})(request, body)

    return answer


def sample(schema: Mapping[str, Any], body: Body, value: object = None) -> Any:
    """Give content that a schema allows; a list of judgements has one for each numbered item."""
    if schema["type"] == "object":
        fields = {name: sample(field, body, value) for name, field in schema["properties"].items()}
        return {**fields, "value": value} if value is not None and "value" in fields else fields
    if schema["type"] == "array":
        entry = sample(schema["items"], body, value)
        if "item" not in entry:
            return [entry]
        return [{**entry, "item": number} for number in numbers(body)]
    if "enum" in schema:
        return schema["enum"][0]
    return schema.get("minimum", 1) if schema["type"] == "integer" else "It names what decides."


def numbers(body: Body) -> list[int]:
    """Give the numbers of the items, or else of the chunks, that a request asks for, in the last message with any."""
    texts = [message["content"] or "" for message in reversed(body["messages"])]
    asked = (pattern.findall(text) for pattern in (ITEM, CHUNK) for text in texts)
    return [int(number) for number in next(filter(None, asked), [])]


def cut(content: str = '{"reason": "It is long') -> Behaviour:
    return says(content, finish="length")


def filtered(content: str = '{"reason": "It') -> Behaviour:
    return says(content, finish="content_filter")


def refuses(words: str = "I can't help with that.") -> Behaviour:
    return says(None, refusal=words)


def error(status: int, code: str | None = None, message: str = "No.", **headers: str) -> Behaviour:
    """Answer with an error in OpenAI's form; `{authorization}` in the message echoes the request's header."""

    async def answer(request: web.Request, _: Body) -> web.StreamResponse:
        told = message.replace("{authorization}", request.headers.get("Authorization", ""))
        fault = {"message": told, "type": "error", "param": None, "code": code}
        return web.json_response(
            {"error": fault}, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )

    return answer


def answers_with(status: int, content: Any, **headers: str) -> Behaviour:
    """Answer with this status and body: JSON, or a text as it is."""

    async def answer(_: web.Request, __: Body) -> web.StreamResponse:
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        if isinstance(content, str):
            return web.Response(text=content, status=status, headers=named)
        return web.json_response(content, status=status, headers=named)

    return answer


def streams(content: str = '{"reason": "It names what decides.", "value": 1}') -> Behaviour:
    """Answer with this content as a stream of two parts, and its usage at the end."""

    async def answer(request: web.Request, body: Body) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": body.get("model", "")}
        half = len(content) // 2
        parts = [({"role": "assistant", "content": content[:half]}, None), ({"content": content[half:]}, "stop")]
        for delta, finish in parts:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
            await response.write(f"data: {json.dumps({**head, 'choices': choices})}\n\n".encode())
        await response.write(
            f"data: {json.dumps({**head, 'choices': [], 'usage': USAGE})}\n\ndata: [DONE]\n\n".encode()
        )
        return response

    return answer


def resets() -> Behaviour:
    """Break the connection without an answer."""

    async def answer(request: web.Request, _: Body) -> web.StreamResponse:
        assert request.transport
        request.transport.abort()
        return web.Response()

    return answer


def breaks_off() -> Behaviour:
    """Break the connection in the middle of the body."""

    async def answer(request: web.Request, _: Body) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "99"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        assert request.transport
        request.transport.close()
        return response

    return answer


def hangs(seconds: float = 3600) -> Behaviour:
    """Say nothing for longer than any test lasts."""

    async def answer(_: web.Request, __: Body) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.Response()

    return answer


def held(release: threading.Event, then: Behaviour) -> Behaviour:
    """Say nothing until an event is set, and then behave so."""

    async def answer(request: web.Request, body: Body) -> web.StreamResponse:
        while not release.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.01)
        return await then(request, body)

    return answer


def keyed(key: str, then: Behaviour) -> Behaviour:
    """Behave so for this key, and answer 401 to any other."""

    async def answer(request: web.Request, body: Body) -> web.StreamResponse:
        right = request.headers.get("Authorization") == f"Bearer {key}"
        return await (then if right else error(401, "invalid_api_key"))(request, body)

    return answer


def trickles(seconds: float = 3600) -> Behaviour:
    """Send the body a blank at a time, so that no single read is ever late."""

    async def answer(request: web.Request, _: Body) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _ in range(int(seconds / 0.05)):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    return answer


async def floods(request: web.Request, _: Body) -> web.StreamResponse:
    """Answer with a body that does not end."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" " * 65_536)


async def unpacks(_: web.Request, __: Body) -> web.StreamResponse:
    """Answer with some megabytes that unpack to a gigabyte."""
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS + 16)
    content = b"".join([*(packer.compress(b" " * 1_000_000) for _ in range(1_000)), packer.flush()])
    return web.Response(body=content, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})


def body(text: str, content_type: str = "application/json") -> Behaviour:
    """Answer 200 with any body of any type."""

    async def answer(_: web.Request, __: Body) -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type)

    return answer


def main() -> None:
    """Serve until the input ends; `--latency SECONDS` is slept before each answer."""
    latency = float(sys.argv[sys.argv.index("--latency") + 1]) if "--latency" in sys.argv else 0.0
    with FaultServer(latency=latency) as server:
        print(server.url, flush=True)  # noqa: T201 - the address is what a caller waits for
        sys.stdin.read()


if __name__ == "__main__":
    main()
