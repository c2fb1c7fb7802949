"""Middleware that checks a request body before it is parsed: its type, size, transfer rate and nesting depth."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.datastructures import Headers

from greval.serve.middleware.access import Scope
from greval.serve.problems import ServeError
from greval.serve.service import Service
from greval.serve.settings import MEGABYTE, ServerLimits

JSON_TYPE = "application/json"
MIN_BYTES_PER_SECOND = 16 * 1024
"""The lowest average transfer rate of a body, in bytes a second; the `patience` seconds come on top."""
THREAD_BYTES = 64 * 1024
"""The size in bytes from which a body is checked in a thread."""
Receive = Callable[[], Awaitable[dict[str, Any]]]


class RequestBodyMiddleware:
    """Middleware that reads and checks a body, then passes it on whole; uploaded files are streamed and counted."""

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        """Start with no body in memory."""
        self._app = app
        self._limits = service.settings.limits
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:  # noqa: ANN401 - ASGI's callable
        """Pass a request on if its body may be parsed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        upload = scope["state"]["kind"].upload
        body = BoundedBody(scope, receive, self._limits.upload if upload else self._limits.body, self._limits)
        if upload:
            await self._app(scope, body.receive, send)
            return
        async with self._read_whole(body) as content:
            if content is None:  # the client disconnected
                return
            await self._check_json(scope, content)
            await self._app(scope, _replay_body(content, receive), send)

    @asynccontextmanager
    async def _read_whole(self, body: BoundedBody) -> AsyncIterator[bytes | None]:
        """Read a body within the memory limit of all bodies together; yield None if the client disconnected."""
        parts: list[bytes] = []
        held = 0
        try:
            more = True
            while more:
                message = await body.receive()
                if message["type"] == "http.disconnect":
                    break
                more = message.get("more_body", False)
                parts.append(message.get("body", b""))
                held += len(parts[-1])
                self._held += len(parts[-1])
                if self._held > self._limits.held:
                    refusal = "the server holds as many bodies as it may; ask again in a moment"
                    raise ServeError(503, refusal, headers={"Retry-After": "1"})
            yield None if more else b"".join(parts)
        finally:
            self._held -= held

    async def _check_json(self, scope: Scope, content: bytes) -> None:
        """Raise `ServeError` if the body is not JSON that is safe to parse."""
        if not content:
            return
        _check_content_type(scope)
        depth = self._limits.depth
        fault = (
            find_json_fault(content, depth)
            if len(content) < THREAD_BYTES
            else await asyncio.to_thread(find_json_fault, content, depth)
        )
        if fault:
            raise ServeError(422, fault, faults=[fault])


class BoundedBody:
    """The stream of a request body, with a size limit and a minimum transfer rate."""

    def __init__(self, scope: Scope, receive: Receive, max_bytes: int, limits: ServerLimits) -> None:
        """Check the declared length, and raise `ServeError` (413) if it is too large."""
        self._scope = scope
        self._receive = receive
        self._most = max_bytes
        self._patience = limits.patience
        self._read = 0
        self._done = False
        self._start = time.monotonic()
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and (len(length) > len(str(max_bytes)) or int(length) > max_bytes):
            raise self._build_size_error()

    async def receive(self) -> dict[str, Any]:
        """Return the next message of the body."""
        if self._done:
            return await self._receive()
        try:
            async with asyncio.timeout(self._patience):
                message = await self._receive()
        except TimeoutError as error:
            raise self._build_rate_error() from error
        self._done = not message.get("more_body", False)
        self._read += len(message.get("body", b""))
        self._scope["state"]["bytes_in"] = self._read
        if self._read > self._most:
            raise self._build_size_error()
        if not self._done and time.monotonic() - self._start > self._patience + self._read / MIN_BYTES_PER_SECOND:
            raise self._build_rate_error()
        return message

    def _build_size_error(self) -> ServeError:
        message = f"body: larger than {self._most / MEGABYTE:g} MB; send it in parts, or ask the operator for more"
        return ServeError(413, message, headers={"Connection": "close"})

    def _build_rate_error(self) -> ServeError:
        message = (
            f"body: it came too slowly (nothing for {self._patience:g} s, or under {MIN_BYTES_PER_SECOND // 1024} KB/s)"
        )
        return ServeError(408, message, headers={"Connection": "close"})


def _check_content_type(scope: Scope) -> None:
    """Refuse bodies of other content types: browsers send some of those across sites without a preflight request."""
    kind = Headers(scope=scope).get("content-type", "")
    if kind.partition(";")[0].strip().lower() != JSON_TYPE:
        raise ServeError(415, f"Content-Type: this body must be {JSON_TYPE}; send it as JSON under that header")


def _replay_body(content: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays the body in one message, then receives what the client sends."""
    given = False

    async def receive_replayed() -> dict[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": content, "more_body": False}

    return receive_replayed


JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
"""A string, or an unclosed one up to the end of the text; linear time, without backtracking."""
TO_SQUARE_BRACKETS = bytes.maketrans(b"{}", b"[]")
NON_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
NON_FINITE = re.compile(rb"NaN|Infinity")
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escaped surrogate."""
COMPLETE_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[^u]|u(?![dD][89a-fA-F]))", re.DOTALL
)
"""Complete escapes: surrogate pairs, and all escapes that are no surrogates."""
MAX_DIGITS = 1000
LONG_NUMBER = re.compile(rb"\d{%d}" % MAX_DIGITS)


def find_json_fault(body: bytes, depth: int) -> str | None:
    """Return why a body must not be parsed (not UTF-8, nested deeper than `depth`, invalid numbers), or None.

    Whether it is valid JSON is left to the parser.

    Example:
        >>> find_json_fault(b'{"a": [1]}', 2), find_json_fault(b'["["]', 1)
        (None, None)
        >>> find_json_fault(b"[[[]]]", 2)
        'body: nested deeper than 2; flatten it'
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"body: byte {error.start} is not UTF-8; send JSON in UTF-8"
    if b"\0" in body:
        return "body: holds NUL bytes; send JSON in UTF-8, with \\u0000 where the character is meant"
    if SURROGATE.search(body) and SURROGATE.search(COMPLETE_ESCAPE.sub(b" ", body)):
        return "body: holds half of a surrogate pair (\\ud800 to \\udfff alone); send the whole character"
    bare = JSON_STRING.sub(b"", body)
    if NON_FINITE.search(bare):
        return "body: NaN and Infinity are no JSON; leave the field out or send null"
    if LONG_NUMBER.search(bare):
        return f"body: a number has {MAX_DIGITS} digits or more; send it as a text"
    return f"body: nested deeper than {depth}; flatten it" if _is_deeper(bare, depth) else None


def _is_deeper(bare: bytes, depth: int) -> bool:
    """Return whether brackets are nested more deeply than `depth`; each round removes the innermost pairs."""
    left = bare.translate(TO_SQUARE_BRACKETS, NON_BRACKETS)
    for _ in range(depth):
        if not left:
            return False
        left = left.replace(b"[]", b"")
    return left.count(b"[") > depth or b"[]" in left
