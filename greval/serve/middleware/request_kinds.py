"""Classification of requests by method and path, before a route is looked up."""

from __future__ import annotations

import re
from typing import Any

Scope = dict[str, Any]

PUBLIC_PATHS = frozenset({"/", "/favicon.ico", "/health", "/ready"})
"""Paths that are served without a key, for the page and for monitoring."""
PAGE_PREFIX = "/page/"
PROMETHEUS_PATH = "/metrics-exposition"
_UPLOAD_PATHS = {"POST": re.compile(r"/v1/datasets"), "PUT": re.compile(r"/v1/runs/[^/]+/annotations")}
_EVENT_STREAM_PATH = re.compile(r"/v1/runs/[^/]+/events")
_TRAVERSAL = re.compile(r"[\x00-\x1f\x7f\\]|/\.{1,2}(?:/|$)")


def is_public(scope: Scope) -> bool:
    """Return whether the path is served without a key."""
    path = scope["path"]
    return path in PUBLIC_PATHS or path.startswith(PAGE_PREFIX)


def is_exempt_from_admission(scope: Scope) -> bool:
    """Return whether the request is too cheap to need admission control."""
    return is_public(scope) or scope["path"] == PROMETHEUS_PATH


def is_upload(scope: Scope) -> bool:
    """Return whether the body is a file, which the route itself reads.

    Example:
        >>> is_upload({"method": "POST", "path": "/v1/datasets"}), is_upload({"method": "POST", "path": "/v1/runs"})
        (True, False)
    """
    pattern = _UPLOAD_PATHS.get(scope["method"])
    return pattern is not None and pattern.fullmatch(scope["path"]) is not None


def is_event_stream(scope: Scope) -> bool:
    """Return whether the response is an event stream, which lasts as long as the run and has no request timeout."""
    return scope["method"] == "GET" and _EVENT_STREAM_PATH.fullmatch(scope["path"]) is not None


def is_traversal(scope: Scope) -> bool:
    """Return whether the path attempts a traversal or contains characters that no name may have.

    Example:
        >>> is_traversal({"path": "/metrics/../keys"}), is_traversal({"path": "/metrics/v1.2/invoke"})
        (True, False)
    """
    return _TRAVERSAL.search(scope["path"]) is not None


def get_header(scope: Scope, name: bytes) -> str:
    """Return a header of the request, or an empty string if it is missing."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def count_head_bytes(scope: Scope) -> int:
    """Return the bytes of the URL and the headers. A head that arrives in one piece is not limited by uvicorn."""
    address = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    return address + sum(len(name) + len(value) for name, value in scope["headers"])
