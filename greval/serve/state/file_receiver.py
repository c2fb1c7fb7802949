"""Receives a file from a client: streamed to disk, within a size limit."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from greval.serve.problems import ServeError
from greval.serve.settings import MEGABYTE

LONGEST_LINE = 16 * MEGABYTE
"""The most bytes of a line. A line is read at once, and takes many times its length in memory."""
LARGEST_WHOLE = 32 * MEGABYTE
"""The most bytes of a JSON file, which is read at once too."""
WHOLE = ".json"
LINES = frozenset({".jsonl", ".csv"})
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
T = TypeVar("T")


class Sent(NamedTuple):
    """A file that was received completely."""

    path: Path
    bytes: int
    sha256: str


def ending_of(content_type: str, kinds: Mapping[str, str]) -> str:
    """Return the file extension for a content type.

    Raises:
        ServeError: If this content type is not accepted (415).

    Example:
        >>> find_extension("text/csv; charset=utf-8", {"text/csv": ".csv"})
        '.csv'
    """
    given = content_type.partition(";")[0].strip().lower()
    if given not in kinds:
        raise ServeError(415, f"Content-Type: {given or 'none'} is not taken here; known are {', '.join(kinds)}")
    return kinds[given]


def file_body(kinds: Mapping[str, str], **schemas: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON schemas
    """Return the OpenAPI description of a request body that is a file of these kinds.

    `schemas` holds the schemas of some kinds, by extension without the dot.
    """
    plain = {"type": "string", "format": "binary"}
    content = {kind: {"schema": schemas.get(ending.removeprefix("."), plain)} for kind, ending in kinds.items()}
    return {"requestBody": {"required": True, "content": content}}


async def receive(parts: AsyncIterator[bytes], path: Path, most: int) -> Sent:
    """Write a file to disk as its parts arrive, and flush it.

    Args:
        parts: The parts of the body.
        path: A new file; its extension says of which kind it is.
        most: The most bytes that are accepted.

    Raises:
        ServeError: If the file or a line of it is too large (413), or the disk is full (507).
    """
    with room(), path.open("xb") as stream:
        taking = _Taking(stream, path.suffix, most)
        async for part in parts:
            await asyncio.to_thread(taking.take, part)
        await asyncio.to_thread(_to_disk, stream)
    return Sent(path, taking.size, taking.mark.hexdigest())


class _Taking:
    """A file that is being written: its size so far, and the length of its last line."""

    def __init__(self, stream: BinaryIO, kind: str, most: int) -> None:
        self.size = 0
        self.mark = sha256()
        self._stream = stream
        self._lines = kind in LINES
        self._most = min(most, LARGEST_WHOLE) if kind == WHOLE else most
        self._whole = kind == WHOLE
        self._line = 0

    def take(self, part: bytes) -> None:
        self.size += len(part)
        if self.size > self._most:
            hint = "write a case a line (application/jsonl)" if self._whole else "send it in parts, a data set each"
            raise ServeError(413, f"body: holds more than {self._most:,} bytes, the most for such a file; {hint}")
        if self._lines and self._longest(part) > LONGEST_LINE:
            raise ServeError(413, f"body: has a line of more than {LONGEST_LINE:,} bytes; write one case a line")
        self.mark.update(part)
        self._stream.write(part)

    def _longest(self, part: bytes) -> int:
        """Return the length of the longest line that a part extends."""
        first, *others = map(len, part.split(b"\n"))
        longest = max(self._line + first, *others, 0)
        self._line = others[-1] if others else self._line + first
        return longest


async def to_the_end(work: Callable[..., T], *given: object) -> T:
    """Call a function in a thread that must not be interrupted: if this is cancelled, wait until it returns first."""
    working = asyncio.ensure_future(asyncio.to_thread(work, *given))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


def _to_disk(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def room() -> Iterator[None]:
    """Convert the errors of a full disk.

    Raises:
        ServeError: If the disk is full (507).
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise ServeError(507, "body: the server's disk is full; its operator must make room") from error
