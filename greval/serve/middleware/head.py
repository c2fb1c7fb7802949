"""Middleware that answers HEAD as GET does, without the content."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from greval.serve.service import Service

Message = dict[str, Any]


class HeadMiddleware:
    """Middleware that serves HEAD by the routes of GET, because FastAPI has no HEAD for them.

    Once the head of the response is sent, the route learns that the client is gone: a stream of events ends at once.
    """

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401, ARG002 - an ASGI app; one signature for all
        self._app = app

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        is_sent = False

        async def receive_until_sent() -> Message:
            return {"type": "http.disconnect"} if is_sent else await receive()

        async def send_head(message: Message) -> None:
            nonlocal is_sent
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                is_sent = True

        # In place, so that the outer middleware sees what the inner one adds.
        scope["method"] = "GET"
        try:
            await self._app(scope, receive_until_sent, send_head)
        finally:
            scope["method"] = "HEAD"
