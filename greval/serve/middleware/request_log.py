"""The outermost middleware: request ids, the request log, security headers and problem documents for all errors."""

from __future__ import annotations

import re
import secrets
import time
from typing import Any

from starlette.datastructures import Headers

from greval.errors import GrevalError
from greval.serve.logs import ACCESS, ERRORS
from greval.serve.problems import ServeError, build_problem_response
from greval.serve.service import Service

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CLIENT_GONE = 499
"""The status that is logged if the client disconnected; it is never sent."""
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Default headers of every response; a response may override them."""


class RequestLogMiddleware:
    """The outermost middleware: every error leaves it as a problem document without secrets."""

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        self._app = app
        self._service = service

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's callables
        """Serve a request, then log and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent_id = Headers(scope=scope).get("x-request-id", "")
        # The id is logged and sent back, so only a plain one of the client is used.
        request_id = sent_id if REQUEST_ID.fullmatch(sent_id) else secrets.token_hex(16)
        scope.setdefault("state", {})["request_id"] = request_id
        answer = ResponseSender(send, request_id)
        start = time.perf_counter()
        self._service.counters.start_request()
        try:
            await self._call_app(scope, receive, answer)
        finally:
            self._log_request(scope, answer, time.perf_counter() - start)

    async def _call_app(self, scope: dict[str, Any], receive: Any, answer: ResponseSender) -> None:  # noqa: ANN401 - ASGI's
        try:
            await self._app(scope, receive, answer)
        except GrevalError as error:
            await answer.send_problem(error)
        except Exception:  # noqa: BLE001 - the stack trace of any error goes to the log only
            ERRORS.exception("unhandled", extra={"fields": {"request_id": answer.request_id}})
            await answer.send_problem(
                ServeError("internal_error", "the server failed; its log has more under the id of this request")
            )

    def _log_request(self, scope: dict[str, Any], answer: ResponseSender, seconds: float) -> None:
        """Log and count a request by the template of its path, because paths contain what clients send."""
        # A client may send any word as a method, and each would be a counter of its own.
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        route = getattr(scope.get("route"), "path", None) or ("" if "endpoint" not in scope else "other")
        status = answer.status or CLIENT_GONE
        self._service.counters.end_request(method, route, status, seconds)
        tenant = scope["state"].get("tenant")
        line = {
            "request_id": answer.request_id,
            "method": method,
            "route": route,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "tenant": tenant.name if tenant else "",
            "bytes_in": scope["state"].get("bytes_in", 0),
            "bytes_out": answer.sent,
        }
        ACCESS.info("%s %s %s", method, route, status, extra={"fields": line})


class ResponseSender:
    """A wrapper of `send` that adds headers and records the status and the bytes sent."""

    def __init__(self, send: Any, request_id: str) -> None:  # noqa: ANN401 - ASGI's callable
        self.request_id = request_id
        self.status = 0
        self.sent = 0
        self._send = send

    async def __call__(self, message: dict[str, Any]) -> None:
        """Send a message, with the headers added."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": self._add_headers(message.get("headers") or ())}
        self.sent += len(message.get("body", b""))
        await self._send(message)

    async def send_problem(self, error: GrevalError) -> None:
        """Send a problem; if a response has started, leave it unfinished, which breaks the connection."""
        if self.status:
            return
        response = build_problem_response(error, self.request_id)
        await self({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        await self({"type": "http.response.body", "body": response.body})

    def _add_headers(self, headers: Any) -> list[tuple[bytes, bytes]]:  # noqa: ANN401 - pairs of bytes
        app_headers = [*headers]
        names = {name.lower() for name, _ in app_headers}
        security_headers = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
        missing_headers = [(name, value) for name, value in security_headers if name not in names]
        return [*app_headers, *missing_headers, (b"x-request-id", self.request_id.encode())]
