"""Responses that are files to save: never shown by a browser in the server's origin, and sent at a minimum rate."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

from greval.serve.service import Service, Tenant

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
        filename: str,
        media_type: str,
        patience: float,
        folder: Path | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Read the size of the file now, so that no other file is sent under its length."""
        safe = {**(headers or {}), "Content-Security-Policy": NO_SCRIPTS}
        super().__init__(path, headers=safe, media_type=media_type, filename=filename, stat_result=path.stat())
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


async def make_download(
    service: Service,
    tenant: Tenant,
    filename: str,
    media_type: str,
    write: Callable[..., None],
    *arguments: Any,  # noqa: ANN401 - what the function takes
) -> DownloadResponse:
    """Let a child process write a file, and return it as a response; `write` gets the path before the arguments."""
    # The next start removes it if this process is killed.
    folder = tenant.runs / f".new-{secrets.token_hex(8)}"
    path = folder / filename
    await asyncio.to_thread(folder.mkdir, parents=True)
    try:
        await service.workers.run(tenant.name, write, path, *arguments)
        patience = service.settings.limits.patience
        return DownloadResponse(path, filename=filename, media_type=media_type, patience=patience, folder=folder)
    except BaseException:
        # Also if the request is cancelled, which is no Exception.
        shutil.rmtree(folder, ignore_errors=True)
        raise
