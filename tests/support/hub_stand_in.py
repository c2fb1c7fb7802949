"""A stand-in for the Hugging Face hub: files of repositories by HEAD and GET, with their hashes, in parts if wanted."""

from __future__ import annotations

import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from waiting import SECONDS

COMMIT = "0123456789" * 4


class HubStandIn(ThreadingHTTPServer):
    """A server of files, by their paths `OWNER/REPO/resolve/REVISION/FILE`. It serves as a proxy to itself, too.

    As on the hub, an address of a file states its hash and leads to the bytes on another host. `requests` has method,
    path and headers of each request. From `stall_at` bytes on, a download waits for `resumed`.
    """

    daemon_threads = True

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.hashes = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        self.requests = []
        self.stall_at = None
        self.resumed = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.resumed.set()
        self.shutdown()
        self.server_close()

    def list_ranges(self):
        """List the ranges of bytes that were asked for, None for a whole file."""
        downloads = [headers for method, path, headers in self.requests if (method, path[:4]) == ("GET", "cdn/")]
        return [headers.get("Range") for headers in downloads]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._answer()

    do_GET = do_HEAD  # noqa: N815 - http.server's names

    def _answer(self):
        # A proxy is asked for the whole address.
        path = re.sub(r"^(http://[^/]+)?/", "", self.path)
        self.server.requests.append((self.command, path, self.headers))
        name = path.removeprefix("cdn/")
        if name not in self.server.files:
            self._start(404, {"X-Error-Code": "EntryNotFound", "Content-Length": "0"})
        elif path == name:
            self._start(
                302,
                {
                    "Location": f"http://localhost:{self.server.server_address[1]}/cdn/{name}",
                    "X-Repo-Commit": COMMIT,
                    "X-Linked-Etag": f'"{self.server.hashes[name]}"',
                    "X-Linked-Size": str(len(self.server.files[name])),
                    "Content-Length": "0",
                },
            )
        else:
            self._send_bytes(self.server.files[name])

    def _start(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_bytes(self, data):
        wanted = self.headers["Range"]
        begin = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        limits = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"} if wanted else {}
        self._start(206 if wanted else 200, {"Content-Length": str(len(data) - begin), **limits})
        stall_at = self.server.stall_at or len(data)
        self.wfile.write(data[begin:stall_at])
        if stall_at < len(data):
            self.server.resumed.wait(SECONDS)
            self.wfile.write(data[stall_at:])
