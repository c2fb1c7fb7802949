"""The most bytes of a reply: a server that never stops sending, or sends what unpacks to far more, fills no memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiohttp import ClientResponse

MEGABYTE = 1024 * 1024
MAX_REPLY_BYTES = 10 * MEGABYTE
"""The most bytes of a reply once it is unpacked; one with the probabilities of all its tokens has some megabytes."""
MAX_TOTAL_BYTES = 64 * MEGABYTE
"""The most bytes of all replies that this process receives at once."""
_AUTO_HEADER = 32
"""What zlib adds to the size of its window to read gzip and deflate alike."""
_received: dict[object, int] = {}


class ReplyTooLargeError(Exception):
    """A reply was given up because it is too large."""


class ReplyNotPackedError(Exception):
    """A reply is not packed in the way that its server says."""


@contextmanager
def receive_reply() -> Iterator[ReceivedBytes]:
    """Count the bytes of a reply as long as it is received."""
    counter = ReceivedBytes()
    try:
        yield counter
    finally:
        _received.pop(counter, None)


class ReceivedBytes:
    """The bytes of a reply that were received so far."""

    def add(self, size: int) -> None:
        """Count further bytes, or raise `ReplyTooLargeError` if it or all replies together are too large."""
        _received[self] = _received.get(self, 0) + size
        if _received[self] > MAX_REPLY_BYTES:
            message = f"the reply has more than {MAX_REPLY_BYTES // MEGABYTE} MB; a verdict has some kilobytes"
            raise ReplyTooLargeError(f"{message}: look at what the judge's server sends")
        # The largest one is given up: no small reply fails for what others send.
        if sum(_received.values()) > MAX_TOTAL_BYTES and max(_received.values()) == _received[self]:
            message = f"all replies at once have more than {MAX_TOTAL_BYTES // MEGABYTE} MB, and this is the largest"
            raise ReplyTooLargeError(f"{message}; make fewer calls at once (--concurrency)")


async def read_content(response: ClientResponse) -> bytes:
    """Return the content of a response, which was not unpacked; raise `ReplyTooLargeError` if it is too large."""
    parts: list[bytes] = []
    with receive_reply() as received:
        async for part in response.content.iter_any():
            received.add(len(part))
            parts.append(part)
        content = b"".join(parts)
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding in {"", "identity"}:
            return content
        try:
            unpacked = zlib.decompressobj(zlib.MAX_WBITS + _AUTO_HEADER).decompress(content, MAX_REPLY_BYTES + 1)
        except zlib.error as error:
            raise ReplyNotPackedError(f"the server calls its reply {encoding!r}, but it is not: {error}") from error
        received.add(max(0, len(unpacked) - len(content)))
        return unpacked


def limit_response(response: Any) -> None:  # noqa: ANN401 - a response of httpx, which some packages ship under another name
    """Let a response of httpx raise `ReplyTooLargeError` when it is read, also as a stream, and is too large."""
    read_parts = response.aiter_bytes

    async def read_limited(*size: int) -> AsyncIterator[bytes]:
        with receive_reply() as received:
            async for part in read_parts(*size):
                received.add(len(part))
                yield part

    response.aiter_bytes = read_limited
