"""A server on this machine that keeps what traces and events are sent to it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple


class Received(NamedTuple):
    """A request: its path, its headers, and its content, unpacked."""

    path: str
    headers: dict[str, str]
    content: bytes


class CollectorHandler(BaseHTTPRequestHandler):
    """Keeps each request and answers with the status of the server."""

    server: Collector

    def do_POST(self):
        """Keep a request with content."""
        content = self._read()
        packed = self.headers["Content-Encoding"] == "gzip"
        self.server.received.append(
            Received(self.path, dict(self.headers), gzip.decompress(content) if packed else content)
        )
        self._answer(b"{}")

    def do_GET(self):
        """Answer a question about the server with nothing."""
        self._answer(b"{}")

    def _read(self) -> bytes:
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(parts)

    def _answer(self, content: bytes) -> None:
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Print nothing."""


class Collector(ThreadingHTTPServer):
    """A server that answers all with `status` and has what it `received`."""

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        self.status = 200
        self.received: list[Received] = []

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serve_collector() -> Iterator[Collector]:
    """Serve a collector in a thread."""
    with Collector() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
