"""Middleware that decides whether a request is served: its kind, its tenant, and how often and how many at once."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from greval.judging.model.rate_limit import RateBucket
from greval.serve.middleware.api_keys import hash_api_key
from greval.serve.middleware.authentication import (
    PROMETHEUS_PATH,
    SAFE_METHODS,
    KeyAuthentication,
    check_token,
    find_required_scope,
)
from greval.serve.problems import ServeError
from greval.serve.service import Service, Tenant
from greval.serve.settings import LOCAL_HOSTS

Scope = dict[str, Any]

PUBLIC_PATHS = frozenset({"/", "/favicon.ico", "/health", "/ready"})
"""Paths that are served without a key, for the page and for monitoring."""
HEALTH_PATHS = frozenset({"/health", "/ready"})
PAGE_PREFIX = "/page/"
MAX_PUBLIC = 64
"""The most files of the page that are sent at once; a browser asks for six."""
_UPLOAD_METHODS = frozenset({"POST", "PUT", "PATCH"})
_UPLOAD_PATH = re.compile(r"/v1/datasets|/v1/runs/import|/v1/runs/[^/]+/annotations")
"""The paths that take files, also by a method that the route refuses: that is answered before the kind of the body."""
_DOWNLOAD_PATH = re.compile(r"/v1/runs/[^/]+/\w+\.\w+|/v1/datasets/[^/]+/file")
_EVENT_STREAM_PATH = re.compile(r"/v1/runs/[^/]+/events")
_TRAVERSAL = re.compile(r"[\x00-\x1f\x7f\\]|/\.{1,2}(?:/|$)")
"""Path traversal, and characters that no name may have."""

PROXY_HEADERS = ("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")
"""Headers that proxies add. A request that has one may come from another machine."""
MAX_HEAD_BYTES = 16 * 1024
BURST_SECONDS = 10
RETRY_SECONDS = "1"


class RequestKind(NamedTuple):
    """The kind of a request by its method and path; inner middleware reads it from `scope["state"]["kind"]`.

    `public` requests need no key; they are counted with other `cheap` ones, and not for a tenant. The body of an
    `upload` is a file, which the route itself reads. The response to an `event_stream` lasts as long as the run and has
    no request timeout. A `download` is a large file, which has a minimum rate instead.
    """

    public: bool
    cheap: bool
    upload: bool
    event_stream: bool
    download: bool


def classify_request(method: str, path: str) -> RequestKind:
    """Return the kind of a request."""
    public = path in PUBLIC_PATHS or path.startswith(PAGE_PREFIX)
    return RequestKind(
        public=public,
        cheap=public or path == PROMETHEUS_PATH,
        upload=method in _UPLOAD_METHODS and _UPLOAD_PATH.fullmatch(path) is not None,
        event_stream=method == "GET" and _EVENT_STREAM_PATH.fullmatch(path) is not None,
        download=method == "GET" and _DOWNLOAD_PATH.fullmatch(path) is not None,
    )


class AccessMiddleware:
    """Middleware that assigns each request to a tenant, or refuses it before any of its body is read.

    As many requests of a tenant are served at once as there are calls in flight and requests that may wait for them.
    """

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        settings, limits = service.settings, service.settings.limits
        self._app = app
        self._origins = settings.cors_origins
        self._runs = settings.runs
        self._keys = KeyAuthentication(settings.keys) if settings.keys else None
        self._token_hash = hash_api_key(settings.token) if settings.token else None
        # Each process counts by itself, and gets about its share of the requests.
        self._rate = limits.rate / settings.workers
        self._buckets: dict[str, RateBucket] = {}
        self._most = max(1, (limits.calls + limits.waiting) // settings.workers)
        self._in_progress: Counter[str | None] = Counter()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's callables
        """Serve the request, or raise `ServeError`."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        _check_head(scope)
        kind = classify_request(scope["method"], scope["path"])
        tenant = self._identify_tenant(scope, kind)
        scope["state"].update(kind=kind, tenant=tenant)
        # Not counted, so that a busy server still answers its monitor.
        if scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
        else:
            with self._count_request(None if kind.cheap else tenant.name):
                await self._app(scope, receive, send)

    def _identify_tenant(self, scope: Scope, kind: RequestKind) -> Tenant:
        headers = Headers(scope=scope)
        if self._keys is None:
            _check_direct_request(headers)
            _check_same_origin(scope, headers, self._origins)
        if kind.public:
            return Tenant("", self._runs)
        authorization = headers.get("authorization", "")
        if self._keys is None:
            if self._token_hash is not None:
                check_token(authorization, self._token_hash)
            return Tenant("", self._runs)
        needed = find_required_scope(scope["method"], scope["path"])
        name = self._keys.identify_tenant(authorization, needed)
        self._check_rate(name)
        return Tenant(name, self._runs / name)

    def _check_rate(self, name: str) -> None:
        """Count a request of a key, or raise `ServeError` (429) if it sends too many."""
        bucket = self._buckets.setdefault(name, RateBucket(self._rate, BURST_SECONDS))
        now = time.monotonic()
        if wait := math.ceil(bucket.compute_wait(now)):
            message = f"key {name}: more than {self._rate:g} requests a minute; ask again in {wait} s"
            # what the connection holds beyond this request would only be refused as well
            raise ServeError("rate_limit", message, headers={"Retry-After": str(wait), "Connection": "close"})
        bucket.take(1, now)

    @contextmanager
    def _count_request(self, tenant: str | None) -> Iterator[None]:
        """Count a request in progress, or raise `ServeError` (429) if there are as many as may be.

        Nobody's rate limits those without a tenant, and a client may send many in one go: its connection ends.
        """
        most = MAX_PUBLIC if tenant is None else self._most
        if self._in_progress[tenant] >= most:
            code, headers = ("server_busy", {"Connection": "close"}) if tenant is None else ("share_in_use", {})
            message = f"{most:,} requests at once are the most; ask again in {RETRY_SECONDS} s"
            raise ServeError(code, message, headers={"Retry-After": RETRY_SECONDS, **headers})
        self._in_progress[tenant] += 1
        try:
            yield
        finally:
            self._in_progress[tenant] -= 1


def _check_head(scope: Scope) -> None:
    """Refuse heads that are too long or state two lengths of the body, and path traversal."""
    # uvicorn does not limit a head that arrives in one piece.
    head = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    if head + sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD_BYTES:
        message = f"the address and the headers have more than {MAX_HEAD_BYTES // 1024} KB; send less of them"
        raise ServeError("head_too_large", message)
    # A proxy may take a part of the body for the next request (RFC 9112, section 6.3).
    if {name for name, _ in scope["headers"]} >= {b"content-length", b"transfer-encoding"}:
        message = "Content-Length, Transfer-Encoding: a request states one of them, got both; leave one out"
        raise ServeError("two_lengths", message, headers={"Connection": "close"})
    if _TRAVERSAL.search(scope["path"]):
        message = "path: there is nothing at such a path; /openapi.json lists what there is"
        raise ServeError("path_not_found", message)


def _check_direct_request(headers: Headers) -> None:
    """Refuse requests that came through a proxy: without keys only programs on this machine are served."""
    if header := next((name for name in PROXY_HEADERS if name in headers), None):
        message = (
            f"{header.title()}: the request came through a proxy, and without keys this machine alone is served. Make "
            "a key with: greval keys add NAME --file keys.json, and start the server with --keys keys.json"
        )
        raise ServeError("forwarded", message)


def _check_same_origin(scope: Scope, headers: Headers, allowed: Collection[str] = ()) -> None:
    """Refuse requests that a page of another site made a browser on this machine send.

    `Host` or `Origin` reveals them. Origins that the operator allowed are served.
    """
    host = headers.get("host", "")
    # A foreign host name may have been pointed at this machine (DNS rebinding).
    if _parse_hostname(f"//{host}") not in LOCAL_HOSTS:
        message = "Host: without keys this machine alone is served; open it as http://127.0.0.1:PORT"
        raise ServeError("foreign_host", message)
    origin = headers.get("origin")
    if origin in allowed:
        return
    foreign = headers.get("sec-fetch-site") == "cross-site" or (origin and origin != f"{scope['scheme']}://{host}")
    if foreign and scope["method"] not in SAFE_METHODS:
        message = "Origin: pages of other sites may not use this server; use the page that it serves"
        raise ServeError("foreign_origin", message)


def _parse_hostname(url: str) -> str | None:
    """Return the host name of a URL, or None if it has none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
