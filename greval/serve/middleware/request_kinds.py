"""What kind of request it is, told by method and path before a route is looked for."""

from __future__ import annotations

import re
from typing import Any

Scope = dict[str, Any]

OPEN = frozenset({"/", "/favicon.ico", "/health", "/ready"})
"""What is served without a key: the page asks for it, and who watches over servers has none."""
PAGE = "/page/"
EXPOSITION = "/metrics-exposition"
_UPLOADS = {"POST": re.compile(r"/v1/datasets"), "PUT": re.compile(r"/v1/runs/[^/]+/annotations")}
_FOLLOWING = re.compile(r"/v1/runs/[^/]+/events")
_TRICKS = re.compile(r"[\x00-\x1f\x7f\\]|/\.{1,2}(?:/|$)")


def is_open(scope: Scope) -> bool:
    """Whether it is served without a key."""
    path = scope["path"]
    return path in OPEN or path.startswith(PAGE)


def is_light(scope: Scope) -> bool:
    """Whether it is no work worth a place in the queue."""
    return is_open(scope) or scope["path"] == EXPOSITION


def is_upload(scope: Scope) -> bool:
    """Whether its body is a file, which the route itself reads.

    Example:
        >>> is_upload({"method": "POST", "path": "/v1/datasets"}), is_upload({"method": "POST", "path": "/v1/runs"})
        (True, False)
    """
    pattern = _UPLOADS.get(scope["method"])
    return pattern is not None and pattern.fullmatch(scope["path"]) is not None


def is_following(scope: Scope) -> bool:
    """Whether its answer is a stream that ends with a run, not with a request's time."""
    return scope["method"] == "GET" and _FOLLOWING.fullmatch(scope["path"]) is not None


def is_trick(scope: Scope) -> bool:
    """Whether the path tries to leave where it belongs, or holds what no name may.

    Example:
        >>> is_trick({"path": "/metrics/../keys"}), is_trick({"path": "/metrics/v1.2/invoke"})
        (True, False)
    """
    return _TRICKS.search(scope["path"]) is not None


def header(scope: Scope, name: bytes) -> str:
    """Give a header of the request, empty where there is none."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def head_size(scope: Scope) -> int:
    """Give the bytes of the address and the headers; a head that came at once has passed uvicorn's own limit."""
    address = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    return address + sum(len(name) + len(value) for name, value in scope["headers"])
