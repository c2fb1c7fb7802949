"""A way to a server that can be cut: it hands calls on until its `plan` says otherwise."""

from __future__ import annotations

import httpx
from method_server import MethodServer, Reply

PASS, DROP, DROP_AFTER = "pass", "drop", "drop after"
"""Hand a call on; cut it off before the server sees it; cut it off when the server has done it."""


class Proxy:
    """A way to a server: `plan(n, method, path)` gives what becomes of call n (from 1).

    That is one of the above, a status and a text, or a function that is called when the server has done it and
    before anything is answered. `gate` has headers without which a call is refused.
    """

    def __init__(self, upstream):
        self.calls = []
        self.plan = lambda *_: PASS
        self.gate = {}
        self._client = httpx.Client(base_url=upstream, timeout=60)
        self._server = MethodServer(self._answer)
        self.url = self._server.url

    def reset(self, plan=None):
        """Count from 1 again, under another plan."""
        self.calls = []
        self.plan = plan or (lambda *_: PASS)

    def __enter__(self):
        self._server.__enter__()
        return self

    def __exit__(self, *_):
        self._server.__exit__()
        self._client.close()

    def _answer(self, asked):
        self.calls.append((asked.method, asked.path))
        do = self.plan(len(self.calls), asked.method, asked.path)
        if do == DROP:
            return None
        if any(asked.headers[name] != value for name, value in self.gate.items()):
            do = (403, b'{"detail": "the gate is closed"}')
        status, content = do if isinstance(do, tuple) else self._hand_on(asked)
        if callable(do):
            do()
        if do == DROP_AFTER or callable(do):
            return None
        return Reply(content, status, {"Content-Type": "application/json"})

    def _hand_on(self, asked):
        headers = {name: asked.headers[name] for name in ("X-Argilla-Api-Key",) if asked.headers[name]}
        answer = self._client.request(asked.method, asked.path, json=asked.body, headers=headers)
        return answer.status_code, answer.content
