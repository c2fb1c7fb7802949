"""Responses that child processes made: JSON, and files to save.

Files are never shown by a browser in the server's origin, and sent at a minimum rate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from fastapi import Response
from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

MIN_BYTES_PER_SECOND = 16 * 1024
"""The lowest average rate at which a file is taken, in bytes a second; the `patience` seconds come on top."""
NO_SCRIPTS = "sandbox; default-src 'none'"
"""Judged texts of a file may hold markup. If a browser shows it all the same, it has no origin and no scripts."""


PART_BYTES = 256 * 1024
"""The size of the parts of JSON: each is compressed at once, while no other request is served."""


class JsonContent(Response):
    """JSON that is sent as it was written, in parts."""

    media_type = "application/json"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's callables
        """Send the content; other requests are served between its parts."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = memoryview(self.body)
        for begin in range(0, max(1, len(body)), PART_BYTES):
            end = begin + PART_BYTES
            await send({"type": "http.response.body", "body": bytes(body[begin:end]), "more_body": end < len(body)})


class DownloadResponse(FileResponse):
    """A file to save, with its name; a client that takes it too slowly is disconnected.

    `close` is called after the response, also if the client has disconnected.
    """

    def __init__(
        self,
        path: Path,
        *,
        media_type: str,
        patience: float,
        filename: str | None = None,
        close: Callable[[], Awaitable[None]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        # The size is read now, so that no other file is sent under its length.
        safe = {**(headers or {}), "Content-Security-Policy": NO_SCRIPTS}
        super().__init__(
            path, headers=safe, media_type=media_type, filename=filename or path.name, stat_result=path.stat()
        )
        self._close = close
        self._seconds = patience + (self.stat_result.st_size if self.stat_result else 0) / MIN_BYTES_PER_SECOND

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        try:
            async with asyncio.timeout(self._seconds):
                await super().__call__(scope, receive, send)
        finally:
            # Not as a background task: those do not run if the client has disconnected.
            if self._close:
                await self._close()
