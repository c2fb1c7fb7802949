"""The work of a request: it ends with its time, with its client, and with the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from greval.serve.middleware.request_kinds import Scope, is_following, is_upload
from greval.serve.problems import ServeError
from greval.serve.service import Service

STUBBORN = 5.0
"""The seconds for which cancelled work is waited for."""
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Working:
    """Runs what is within as a task, and cancels it where nobody waits for its answer any more."""

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        """Keep how long a request may take."""
        self._app = app
        self._seconds = service.settings.limits.seconds
        self._stopping = service.stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:  # noqa: ANN401 - ASGI's callable
        """Work until the answer is sent, the client is gone, or the time is over."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        following, upload = is_following(scope), is_upload(scope)
        incoming = Watched(receive, None if upload else await receive())
        ends = [incoming.left(), *([self._stopping.wait()] if following else [])]
        async with _tasks(self._app(scope, incoming.receive, _yielding(send)), *ends) as (work, *others):
            seconds = None if following or upload else self._seconds  # files have a pace to keep to instead
            await asyncio.wait({work, *others}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            elif not any(other.done() for other in others):
                told = f"the request took longer than {self._seconds:g} s; send fewer cases at once, or start a run"
                raise ServeError(504, told)


def _yielding(send: Any) -> Any:  # noqa: ANN401 - ASGI's callable
    """Give a way to send that lets others run after each part: a stream to nobody would keep the loop for itself."""

    async def sending(message: dict[str, Any]) -> None:
        await send(message)
        if message.get("more_body"):
            await asyncio.sleep(0)

    return sending


class Watched:
    """What comes from a client: first its body, then the news that it went away.

    `body` is the whole body where it is there already: then the client is watched from the beginning.
    """

    def __init__(self, receive: Receive, body: dict[str, Any] | None) -> None:
        """Begin with the body."""
        self._receive = receive
        self._body = body
        self._read = asyncio.Event()
        self._gone = asyncio.Event()
        if body is not None:
            self._read.set()

    async def receive(self) -> dict[str, Any]:
        """Give the next part of the body; after the last one wait for the client to go."""
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

    async def left(self) -> None:
        """Wait until the client went away."""
        await self._read.wait()
        while not self._gone.is_set():
            if (await self._receive())["type"] == "http.disconnect":
                self._gone.set()


@asynccontextmanager
async def _tasks(*work: Coroutine[Any, Any, object]) -> AsyncIterator[list[asyncio.Task[object]]]:
    """Run these at once; what still runs at the end is cancelled and waited for."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield tasks
    finally:
        left = {task for task in tasks if not task.done()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=STUBBORN)
        for task in tasks:
            with suppress(BaseException):
                task.result()  # told already, or of no one's interest any more
