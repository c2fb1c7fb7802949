"""Middleware that checks a request body before it is parsed: its type, size, transfer rate and nesting depth."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.datastructures import Headers

from greval.datasets.row_faults import count_json_values, remove_json_strings
from greval.serve.call_limit import FairCallLimit
from greval.serve.middleware.access import Scope
from greval.serve.problems import ServeError, parse_faults
from greval.serve.service import Service
from greval.serve.settings import MEGABYTE, ServerLimits

JSON_TYPE = "application/json"
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
MIN_BYTES_PER_SECOND = 16 * 1024
"""The lowest average transfer rate of a body, in bytes a second; the `patience` seconds come on top."""
VALUE_BYTES = 150
"""The memory in bytes that a value of JSON takes once it is parsed: as much as an object within an object."""
BODY_COPIES = 4
"""As often a text of a body is in memory: as it was sent, parsed, with wider letters, and on its way to a process."""
LARGE_BODY = 64 * 1024
"""The size in bytes from which the inspection of a body takes so long that others may notice it."""
TENANT_SHARE = 0.5
"""With keys, the share of the memory for bodies that the bodies of one tenant may take."""
Receive = Callable[[], Awaitable[dict[str, Any]]]


class RequestBodyMiddleware:
    """Middleware that reads and checks a body, then passes it on whole; uploaded files are streamed and counted."""

    def __init__(self, app: Any, service: Service) -> None:  # noqa: ANN401 - an ASGI app
        self._app = app
        self._limits = service.settings.limits
        self._max_bytes = min(self._limits.body, self._limits.held)
        self._turns = FairCallLimit(1)
        self._memory = BodyMemory(self._limits.held, TENANT_SHARE if service.settings.keys else 1.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:  # noqa: ANN401 - ASGI's callable
        """Pass a request on if its body may be parsed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] not in BODY_METHODS:
            # What such a request holds is not read.
            await self._app(scope, _replay_body(b"", receive), send)
            return
        _check_content_encoding(scope)
        upload = scope["state"]["kind"].upload
        body = BoundedBody(scope, receive, self._limits.upload if upload else self._max_bytes, self._limits)
        if upload:
            await self._app(scope, body.receive, send)
            return
        with self._memory.hold(scope["state"]["tenant"].name) as add_memory:
            content = await _read_whole(body, add_memory)
            # The client disconnected.
            if content is None:
                return
            await self._check_json(scope, content, add_memory)
            await self._app(scope, _replay_body(content, receive), send)

    async def _check_json(self, scope: Scope, content: bytes, add_memory: Callable[[int], None]) -> None:
        """Raise `ServeError` if the body is not JSON that is safe to parse; hold the memory that its values will take.

        The values are counted in the text: from one they would take up to a hundred times its size.
        """
        if not content:
            return
        _check_content_type(scope)
        fault, values = await self._inspect_in_turn(scope["state"]["tenant"].name, content)
        if fault:
            raise ServeError("invalid_json", fault, faults=parse_faults([fault]))
        memory = values * VALUE_BYTES + len(content) * BODY_COPIES
        if memory > self._limits.held:
            message = (
                f"body: holds about {values:,} values, and takes {memory / MEGABYTE:.3g} MB in memory, at most "
                f"{self._limits.held / MEGABYTE:g} are allowed; send fewer cases at once, or shorter ones"
            )
            raise ServeError("body_too_large", message)
        add_memory(memory - len(content))

    async def _inspect_in_turn(self, tenant: str, content: bytes) -> tuple[str | None, int]:
        """Inspect a body; large ones one at a time in a thread, for which tenants take turns."""
        if len(content) < LARGE_BODY:
            return inspect_json(content, self._limits.depth)
        async with self._turns.get_slot(tenant):
            inspecting = asyncio.create_task(asyncio.to_thread(inspect_json, content, self._limits.depth))
            try:
                return await asyncio.shield(inspecting)
            finally:
                # The next one waits for the thread also if the client has left.
                await asyncio.wait({inspecting})


async def _read_whole(body: BoundedBody, add_memory: Callable[[int], None]) -> bytes | None:
    """Read a body; return None if the client disconnected."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await body.receive()
        if message["type"] == "http.disconnect":
            return None
        more = message.get("more_body", False)
        parts.append(message.get("body", b""))
        add_memory(len(parts[-1]))
    return b"".join(parts)


class BodyMemory:
    """The memory that bodies and their values take, with a limit for all and a share of it for each tenant.

    The only body of a tenant may take more than this share. Small bodies are accepted whatever others hold.
    """

    def __init__(self, most: int, share: float) -> None:
        self._most = most
        self._own = int(most * share)
        self._bodies: dict[str, Counter[object]] = {}

    @contextmanager
    def hold(self, tenant: str) -> Iterator[Callable[[int], None]]:
        """Count the memory of a body of a tenant until its request has been served.

        The context is a function that counts further bytes of the body, or raises `ServeError` (503).
        """
        body = object()
        bodies = self._bodies.setdefault(tenant, Counter())

        def add(size: int) -> None:
            bodies[body] += size
            self._check(bodies)

        bodies[body] = 0
        try:
            yield add
        finally:
            del bodies[body]
            if not bodies:
                del self._bodies[tenant]

    def _check(self, tenant_bodies: Counter[object]) -> None:
        """Raise `ServeError` (503) if the bodies in memory take too much."""
        size = tenant_bodies.total()
        if size <= LARGE_BODY:
            return
        if size > self._own and len(tenant_bodies) > 1:
            message = "the bodies that this key sent take as much memory as they may; ask again in a moment"
        elif sum(bodies.total() for bodies in self._bodies.values()) > self._most:
            message = "the server holds as many bodies as it may; ask again in a moment"
        else:
            return
        raise ServeError("memory_in_use", message, headers={"Retry-After": "1"})


class BoundedBody:
    """The stream of a request body, with a size limit and a minimum transfer rate."""

    def __init__(self, scope: Scope, receive: Receive, max_bytes: int, limits: ServerLimits) -> None:
        self._scope = scope
        self._receive = receive
        self._most = max_bytes
        self._patience = limits.patience
        self._read = 0
        self._done = False
        self._start = time.monotonic()
        length = Headers(scope=scope).get("content-length", "")
        # By the number of digits first, because int() raises an error if there are thousands.
        if length.isdecimal() and (len(length) > len(str(max_bytes)) or int(length) > max_bytes):
            raise self._build_size_error()

    async def receive(self) -> dict[str, Any]:
        """Return the next message of the body."""
        if self._done:
            return await self._receive()
        try:
            async with asyncio.timeout(self._patience):
                message = await self._receive()
        except TimeoutError as error:
            raise self._build_rate_error() from error
        self._done = not message.get("more_body", False)
        self._read += len(message.get("body", b""))
        self._scope["state"]["bytes_in"] = self._read
        if self._read > self._most:
            raise self._build_size_error()
        if not self._done and time.monotonic() - self._start > self._patience + self._read / MIN_BYTES_PER_SECOND:
            raise self._build_rate_error()
        return message

    def _build_size_error(self) -> ServeError:
        message = f"body: larger than {self._most / MEGABYTE:g} MB; send it in parts, or ask the operator for more"
        return ServeError("body_too_large", message, headers={"Connection": "close"})

    def _build_rate_error(self) -> ServeError:
        message = (
            f"body: it came too slowly (nothing for {self._patience:g} s, or under {MIN_BYTES_PER_SECOND // 1024} KB/s)"
        )
        return ServeError("body_too_slow", message, headers={"Connection": "close"})


def _check_content_encoding(scope: Scope) -> None:
    """Refuse compressed bodies: they are not decoded, and a small one could hold a large text."""
    encoding = Headers(scope=scope).get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        message = f"Content-Encoding: {encoding[:40]} is not decoded; send the body uncompressed, without this header"
        raise ServeError("unsupported_encoding", message, headers={"Accept-Encoding": "identity"})


def _check_content_type(scope: Scope) -> None:
    """Refuse bodies of other content types: browsers send some of those across sites without a preflight request."""
    kind = Headers(scope=scope).get("content-type", "")
    if kind.partition(";")[0].strip().lower() != JSON_TYPE:
        message = f"Content-Type: this body must be {JSON_TYPE}; send it as JSON under that header"
        raise ServeError("unsupported_type", message)


def _replay_body(content: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays the body in one message, then receives what the client sends."""
    is_replayed = False

    async def receive_replayed() -> dict[str, Any]:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": content, "more_body": False}

    return receive_replayed


TO_SQUARE_BRACKETS = bytes.maketrans(b"{}", b"[]")
NON_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
NON_FINITE = re.compile(rb"NaN|Infinity")
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escaped surrogate."""
COMPLETE_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[^u]|u(?![dD][89a-fA-F]))", re.DOTALL
)
"""Complete escapes: surrogate pairs, and all escapes that are no surrogates."""
MAX_DIGITS = 1000
LONG_NUMBER = re.compile(rb"\d{%d}" % MAX_DIGITS)


def inspect_json(body: bytes, depth: int) -> tuple[str | None, int]:
    """Return why a body must not be parsed, if so, and about how many values it holds.

    It is not UTF-8, nested deeper than `depth`, or holds invalid numbers. Whether it is JSON is left to the parser.

    Example:
        >>> inspect_json(b'{"a": [1, 2]}', 2), inspect_json(b'["[,"]', 1)
        ((None, 3), (None, 1))
        >>> inspect_json(b"[[[]]]", 2)[0]
        'body: nested deeper than 2; flatten it'
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"body: byte {error.start} is not UTF-8; send JSON in UTF-8", 0
    if b"\0" in body:
        return "body: holds NUL bytes; send JSON in UTF-8, with \\u0000 where the character is meant", 0
    # The first search is quick, and finds nothing in most bodies.
    if SURROGATE.search(body) and SURROGATE.search(COMPLETE_ESCAPE.sub(b" ", body)):
        return "body: holds half of a surrogate pair (\\ud800 to \\udfff alone); send the whole character", 0
    bare = remove_json_strings(body)
    if NON_FINITE.search(bare):
        return "body: NaN and Infinity are no JSON; leave the field out or send null", 0
    if LONG_NUMBER.search(bare):
        return f"body: a number has {MAX_DIGITS} digits or more; send it as a text", 0
    fault = f"body: nested deeper than {depth}; flatten it" if _is_deeper(bare, depth) else None
    return fault, count_json_values(bare)


def _is_deeper(bare: bytes, depth: int) -> bool:
    """Return whether brackets are nested more deeply than `depth`; each round removes the innermost pairs."""
    # Methods of bytes are much faster than a loop over the characters.
    brackets = bare.translate(TO_SQUARE_BRACKETS, NON_BRACKETS)
    for _ in range(depth):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return brackets.count(b"[") > depth or b"[]" in brackets
