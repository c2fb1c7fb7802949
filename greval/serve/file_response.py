"""Responses that are files to save: never shown by a browser in the server's origin, and sent at a minimum rate."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

MIN_BYTES_PER_SECOND = 16 * 1024
"""The lowest average rate at which a file is taken, in bytes a second; the `patience` seconds come on top."""
NO_SCRIPTS = "sandbox; default-src 'none'"
"""Judged texts of a file may hold markup. If a browser shows it all the same, it has no origin and no scripts."""


class DownloadResponse(FileResponse):
    """A file to save, with its name; a client that takes it too slowly is disconnected.

    `folder` is a temporary folder that is removed after the response.
    """

    def __init__(
        self,
        path: Path,
        *,
        media_type: str,
        patience: float,
        filename: str | None = None,
        folder: Path | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        # The size is read now, so that no other file is sent under its length.
        safe = {**(headers or {}), "Content-Security-Policy": NO_SCRIPTS}
        super().__init__(
            path, headers=safe, media_type=media_type, filename=filename or path.name, stat_result=path.stat()
        )
        self._folder = folder
        self._seconds = patience + (self.stat_result.st_size if self.stat_result else 0) / MIN_BYTES_PER_SECOND

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, and remove its folder if it is temporary, also if the client has disconnected."""
        try:
            async with asyncio.timeout(self._seconds):
                await super().__call__(scope, receive, send)
        finally:
            if self._folder:
                # Not in a thread: the request may be cancelled here. Not as a background task: those do not run if the
                # client has disconnected.
                shutil.rmtree(self._folder, ignore_errors=True)
