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

MAX_LINE_BYTES = 16 * MEGABYTE
"""The most bytes of a line. A line is read at once, and takes many times its length in memory."""
MAX_WHOLE_FILE_BYTES = 32 * MEGABYTE
"""The most bytes of a JSON file, which is read at once too."""
WHOLE_FILE_EXTENSION = ".json"
LINE_EXTENSIONS = frozenset({".jsonl", ".csv", ".tsv"})
DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
T = TypeVar("T")


class ReceivedFile(NamedTuple):
    """A file that was received completely."""

    path: Path
    bytes: int
    sha256: str


def find_extension(content_type: str, kinds: Mapping[str, str]) -> str:
    """Return the file extension for a content type, or raise `ServeError` (415) if it is not accepted.

    Example:
        >>> find_extension("text/csv; charset=utf-8", {"text/csv": ".csv"})
        '.csv'
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in kinds:
        message = f"Content-Type: {media_type or 'none'} is not accepted; accepted types: {', '.join(kinds)}"
        raise ServeError("unsupported_type", message)
    return kinds[media_type]


def describe_file_body(kinds: Mapping[str, str], **schemas: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON schemas
    """Return the OpenAPI description of a request body that is a file of these kinds.

    `schemas` holds the schemas of some kinds, by extension without the dot.
    """
    return {"requestBody": {"required": True, "content": describe_file_content(kinds, **schemas)}}


def describe_file_content(kinds: Mapping[str, str], **schemas: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON schemas
    """Return the OpenAPI description of a file of one of these kinds; `schemas` are as for `describe_file_body`."""
    plain = {"type": "string", "format": "binary"}
    return {kind: {"schema": schemas.get(ending.removeprefix("."), plain)} for kind, ending in kinds.items()}


async def receive_file(parts: AsyncIterator[bytes], path: Path, most: int) -> ReceivedFile:
    """Write a file to disk as its parts arrive, and flush it; its extension says of which kind it is.

    Raise `ServeError` if the file has more than `most` bytes, or a line is too long (413), or the disk is full (507).
    """
    with report_full_disk(), path.open("xb") as stream:
        taking = _FileWriter(stream, path.suffix, most)
        async for part in parts:
            await asyncio.to_thread(taking.write, part)
        await asyncio.to_thread(_sync_file, stream)
    return ReceivedFile(path, taking.size, taking.mark.hexdigest())


class _FileWriter:
    """A file that is being written: its size so far, and the length of its last line."""

    def __init__(self, stream: BinaryIO, kind: str, most: int) -> None:
        self.size = 0
        self.mark = sha256()
        self._stream = stream
        self._lines = kind in LINE_EXTENSIONS
        self._most = min(most, MAX_WHOLE_FILE_BYTES) if kind == WHOLE_FILE_EXTENSION else most
        self._whole = kind == WHOLE_FILE_EXTENSION
        self._line = 0

    def write(self, part: bytes) -> None:
        self.size += len(part)
        if self.size > self._most:
            hint = "write a case a line (application/jsonl)" if self._whole else "send it in parts, a data set each"
            message = f"body: holds more than {self._most:,} bytes, the most for such a file; {hint}"
            raise ServeError("body_too_large", message)
        if self._lines and self._measure_longest_line(part) > MAX_LINE_BYTES:
            message = f"body: has a line of more than {MAX_LINE_BYTES:,} bytes; write one case a line"
            raise ServeError("line_too_long", message)
        self.mark.update(part)
        self._stream.write(part)

    def _measure_longest_line(self, part: bytes) -> int:
        """Return the length of the longest line that a part extends."""
        first, *later = map(len, part.split(b"\n"))
        longest = max(self._line + first, *later, 0)
        self._line = later[-1] if later else self._line + first
        return longest


async def run_to_completion(function: Callable[..., T], *args: object) -> T:
    """Call a function in a thread that must not be interrupted: if this is cancelled, wait until it returns first."""
    working = asyncio.ensure_future(asyncio.to_thread(function, *args))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


def _sync_file(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def report_full_disk() -> Iterator[None]:
    """Convert the errors of a full disk to `ServeError` (507)."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS:
            raise
        raise ServeError("disk_full", "body: the server's disk is full; its operator must make room") from error
