"""A server on this machine that keeps what traces and events are sent to it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from typing import NamedTuple

from method_server import Asked, MethodServer, Reply


class Received(NamedTuple):
    """A request: its path, its headers, and its content, unpacked."""

    path: str
    headers: Message
    content: bytes


class Collector(MethodServer):
    """A server that answers all with `status` and has what it `received` with content."""

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__(self._keep)
        self.status = 200
        self.received: list[Received] = []

    def _keep(self, asked: Asked) -> Reply:
        if asked.method == "POST":
            packed = asked.headers["Content-Encoding"] == "gzip"
            content = gzip.decompress(asked.content) if packed else asked.content
            self.received.append(Received(asked.path, asked.headers, content))
        return Reply({}, self.status)


@contextmanager
def serve_collector() -> Iterator[Collector]:
    """Serve a collector in a thread."""
    with Collector() as server:
        yield server
