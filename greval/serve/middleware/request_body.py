"""Middleware that checks a request body before it is parsed: its type, size, transfer rate and nesting depth."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from greval.serve.middleware.json_text import find_json_fault
from greval.serve.middleware.request_kinds import Scope, get_header, is_upload
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
        upload = is_upload(scope)
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
                    told = "the server holds as many bodies as it may; ask again in a moment"
                    raise ServeError(503, told, headers={"Retry-After": "1"})
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
        told = get_header(scope, b"content-length")
        if told.isdecimal() and (len(told) > len(str(max_bytes)) or int(told) > max_bytes):
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
    kind = get_header(scope, b"content-type")
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
