"""A way to a server that can be cut: it hands calls on until its `plan` says otherwise."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

PASS, DROP, DROP_AFTER = "pass", "drop", "drop after"
"""Hand a call on; cut it off before the server sees it; cut it off when the server has done it."""


class Proxy:
    """A way to a server: `plan(n, method, path)` gives what becomes of call n (from 1).

    That is one of the above, a status and a text, or a function that is called when the server has done it and
    before anything is answered. `gate` has headers without which a call is refused.
    """

    def __init__(self, upstream):
        self.upstream = upstream
        self.calls = []
        self.plan = lambda *_: PASS
        self.gate = {}
        self.client = httpx.Client(base_url=upstream, timeout=60)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def reset(self, plan=None):
        """Count from 1 again, under another plan."""
        self.calls = []
        self.plan = plan or (lambda *_: PASS)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.client.close()


def _handler(proxy):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def _any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.calls.append((self.command, self.path))
            do = proxy.plan(len(proxy.calls), self.command, self.path)
            if do == DROP:
                return
            if any(self.headers[name] != value for name, value in proxy.gate.items()):
                do = (403, b'{"detail": "the gate is closed"}')
            status, content = do if isinstance(do, tuple) else self._handed_on(body)
            if callable(do):
                do()
            elif do != DROP_AFTER:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def _handed_on(self, body):
            names = ("X-Argilla-Api-Key", "Content-Type")
            headers = {name: self.headers[name] for name in names if self.headers[name]}
            answer = proxy.client.request(self.command, self.path, content=body, headers=headers)
            return answer.status_code, answer.content

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815 - the names that the base class calls

    return Handler
