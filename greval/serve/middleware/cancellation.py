"""Middleware that cancels a request at its timeout, when the client disconnects, or when the server stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from greval.serve.middleware.access import RequestKind, Scope
from greval.serve.problems import ServeError
from greval.serve.service import Service

CANCEL_SECONDS = 5.0
"""The seconds to wait for cancelled tasks to end."""
Receive = Callable[[], Awaitable[dict[str, Any]]]


class CancellationMiddleware:
    """Middleware that runs the inner app as a task and cancels it when the client disconnects or the time is over."""

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        self._app = app
        self._seconds = service.settings.limits.seconds
        self._stopping = service.stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:  # noqa: ANN401 - ASGI's callable
        """Run the inner app until its response is sent, the client disconnects, or the timeout is over."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        kind: RequestKind = scope["state"]["kind"]
        # Only an upload is read by its route; any other body is there already, as one message.
        incoming = DisconnectWatcher(receive, None if kind.upload else await receive())
        ends = [incoming.wait_for_disconnect(), *([self._stopping.wait()] if kind.event_stream else [])]
        async with _run_tasks(self._app(scope, incoming.receive, _wrap_send(send)), *ends) as (work, *watchers):
            # Files have a minimum rate instead.
            unlimited = kind.event_stream or kind.upload or kind.download
            seconds = None if unlimited else self._seconds
            await asyncio.wait({work, *watchers}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            elif not any(watcher.done() for watcher in watchers):
                message = f"the request took longer than {self._seconds:g} s; send fewer cases at once, or start a run"
                raise ServeError("timeout", message)


def _wrap_send(send: Any) -> Any:  # noqa: ANN401 - ASGI's callable
    """Return a `send` that yields to the loop after each part."""

    async def send_and_yield(message: dict[str, Any]) -> None:
        await send(message)
        if message.get("more_body"):
            # A stream without a reader would block the loop.
            await asyncio.sleep(0)

    return send_and_yield


class DisconnectWatcher:
    """The messages of a client: first its body, then its disconnection.

    `body` is the whole body if it was read already: then the client is watched from the start.
    """

    def __init__(self, receive: Receive, body: dict[str, Any] | None) -> None:
        self._receive = receive
        self._body = body
        self._read = asyncio.Event()
        self._gone = asyncio.Event()
        if body is not None:
            self._read.set()

    async def receive(self) -> dict[str, Any]:
        """Return the next message of the body; after the last one, wait until the client disconnects."""
        if self._body is not None:
            body, self._body = self._body, None
            return body
        if self._read.is_set():
            await self._gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._gone.set()
        if not message.get("more_body", False):
            self._read.set()
        return message

    async def wait_for_disconnect(self) -> None:
        """Wait until the client disconnects."""
        await self._read.wait()
        while not self._gone.is_set():
            if (await self._receive())["type"] == "http.disconnect":
                self._gone.set()


@asynccontextmanager
async def _run_tasks(*work: Coroutine[Any, Any, object]) -> AsyncIterator[list[asyncio.Task[object]]]:
    """Run coroutines concurrently; on exit, cancel those that still run and wait for them."""
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        yield tasks
    finally:
        unfinished = {task for task in tasks if not task.done()}
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=CANCEL_SECONDS)
        for task in tasks:
            with suppress(BaseException):
                # Reported already, or no longer needed.
                task.result()
