"""Plain connections to a server, for requests that no HTTP client would send."""

from __future__ import annotations

import socket
from contextlib import suppress
from urllib.parse import urlsplit

import httpx
from waiting import SECONDS


def connect(url: str) -> socket.socket:
    """Connect to a server; the end of a `with` closes the connection."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=SECONDS)


def is_closed(line: socket.socket) -> bool:
    """Read what comes, and tell whether the server closes the connection within its timeout."""
    try:
        while line.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def is_served(url: str) -> bool:
    """Return whether a server answers; a client that a busy machine holds up may be cut off before it has asked."""
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/health", timeout=SECONDS).status_code == 200
    return False


def format_post(
    path: str, body: str | bytes, *, length: int | None = None, media_type: str = "application/json"
) -> bytes:
    """Give the bytes of a POST request; `length` is what it declares if the body is cut short."""
    content = body if isinstance(body, bytes) else body.encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {length or len(content)}\r\n\r\n".encode() + content
