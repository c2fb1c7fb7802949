"""A real HTTP server on 127.0.0.1 that stands for another system, and does as its `plan` says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Asked:
    """A request: its method, path with query, headers (None if missing), and content."""

    method: str
    path: str
    headers: Message
    content: bytes

    @property
    def body(self) -> Any:
        """The content as JSON, None if there was none."""
        return json.loads(self.content) if self.content else None


@dataclass
class Reply:
    """What is sent back; content that is neither text nor bytes is sent as JSON."""

    content: Any
    status: int = 200
    headers: Mapping[str, str] | None = None


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of callers who gave up."""


class MethodServer:
    """Serves on a free port in threads of its own; use it as a context manager.

    If the plan gives None, the connection is closed without an answer.
    """

    def __init__(self, plan: Callable[[Asked], Reply | None] | None = None) -> None:
        """Keep the plan; nothing is served yet."""
        self.plan = plan or (lambda asked: Reply({"answer": f"You asked: {asked.body['question']}"}))
        self.asked: list[Asked] = []
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = Asked(self.command, self.path, self.headers, self._read())
                server.asked.append(asked)
                if (reply := server.plan(asked)) is not None:
                    self._send(reply)

            do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - http.server's names

            def _read(self) -> bytes:
                if self.headers["Transfer-Encoding"] != "chunked":
                    return self.rfile.read(int(self.headers["Content-Length"] or 0))
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                return b"".join(parts)

            def _send(self, reply: Reply) -> None:
                text = reply.content if isinstance(reply.content, str | bytes) else json.dumps(reply.content)
                content = text if isinstance(text, bytes) else text.encode()
                self.send_response(reply.status)
                for name, value in (reply.headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
