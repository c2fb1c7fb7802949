"""Middleware for authentication and rate limits: API keys, or this machine only when there are no keys."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from greval.errors import GrevalError
from greval.serve.logs import ERRORS
from greval.serve.middleware.api_keys import ApiKeyFile
from greval.serve.middleware.request_kinds import Scope, count_head_bytes, get_header, is_public, is_traversal
from greval.serve.problems import ServeError
from greval.serve.service import Service, Tenant
from greval.serve.settings import LOCAL_HOSTS

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_HEAD_BYTES = 16 * 1024
BURST_SECONDS = 10
MINUTE_SECONDS = 60


class AccessMiddleware:
    """Middleware that assigns each request to a tenant, or refuses it before any of its body is read."""

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        """Store the key file and the rate limit."""
        settings = service.settings
        self._app = app
        self._runs = settings.runs
        self._keys = ApiKeyFile(settings.keys) if settings.keys else None
        self._rate = settings.limits.rate / settings.workers
        self._buckets: dict[str, TokenBucket] = {}

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's callables
        """Authenticate the request, or raise `ServeError`."""
        if scope["type"] == "http":
            if count_head_bytes(scope) > MAX_HEAD_BYTES:
                told = f"the address and the headers have more than {MAX_HEAD_BYTES // 1024} KB; send less of them"
                raise ServeError(431, told)
            if is_traversal(scope):
                raise ServeError(404, "path: there is nothing at such a path; /openapi.json lists what there is")
            scope["state"]["tenant"] = self._identify_tenant(scope)
        await self._app(scope, receive, send)

    def _identify_tenant(self, scope: Scope) -> Tenant:
        if self._keys is None:
            _check_same_origin(scope)
            return Tenant("", self._runs)
        if is_public(scope):
            return Tenant("", self._runs)
        name = self._authenticate(self._keys, get_header(scope, b"authorization"))
        self._check_rate(name)
        return Tenant(name, self._runs / name)

    def _authenticate(self, keys: ApiKeyFile, authorization: str) -> str:
        """Return the name of the key that was sent, or raise `ServeError` (401)."""
        scheme, _, key = authorization.partition(" ")
        try:
            known = keys.read()
        except GrevalError as error:
            ERRORS.error("%s", error)
            raise ServeError(503, "the server cannot read its keys; ask its operator") from error
        name = known.find_name(key.strip()) if scheme.lower() == "bearer" else None
        if name is None:
            told = "Authorization: no valid key; send there the word Bearer, a blank, and a key of this server"
            raise ServeError(401, told, headers={"WWW-Authenticate": "Bearer"})
        return name

    def _check_rate(self, name: str) -> None:
        """Take one token from the rate limit of a key, or raise `ServeError` (429)."""
        bucket = self._buckets.get(name) or self._buckets.setdefault(name, TokenBucket(self._rate))
        if wait := bucket.take():
            told = f"key {name}: more than {self._rate:g} requests a minute; ask again in {wait} s"
            raise ServeError(429, told, headers={"Retry-After": str(wait)})


class TokenBucket:
    """A rate limiter: a number of requests per minute on average, with bursts of up to ten seconds' worth.

    Args:
        per_minute: The rate.
        clock: Returns the time in seconds.

    Example:
        >>> bucket = TokenBucket(60, lambda: 0.0)
        >>> [bucket.take() for _ in range(11)]
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a full bucket."""
        self._rate = per_minute / MINUTE_SECONDS
        self._size = max(1.0, self._rate * BURST_SECONDS)
        self._left = self._size
        self._clock = clock
        self._at = clock()

    def take(self) -> int:
        """Take one token and return 0; if the bucket is empty, return the seconds until there is one."""
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return math.ceil((1 - self._left) / self._rate)
        self._left -= 1
        return 0


def _check_same_origin(scope: Scope) -> None:
    """Refuse requests that a page of another site made a browser on this machine send.

    `Host` reveals a foreign host name that was pointed at this machine (DNS rebinding). `Origin` reveals the others.
    """
    host = get_header(scope, b"host")
    if _parse_hostname(f"//{host}") not in LOCAL_HOSTS:
        raise ServeError(403, "Host: without keys this machine alone is served; open it as http://127.0.0.1:PORT")
    if scope["method"] in SAFE_METHODS:
        return
    origin = get_header(scope, b"origin")
    if get_header(scope, b"sec-fetch-site") == "cross-site" or (origin and origin.partition("://")[2] != host):
        raise ServeError(403, "Origin: pages of other sites may not use this server; use the page that it serves")


def _parse_hostname(url: str) -> str | None:
    """Return the host name of a URL, or None if it has none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
