"""Receives a file from a client: streamed to disk, within a size limit."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from fastapi import Request

from greval._util.files import sync_folder
from greval.serve.problems import ServeError, report_full_disk
from greval.serve.quotas import KeptName
from greval.serve.settings import MEGABYTE
from greval.serve.state.whole_folders import name_new_folder
from greval.serve.tenant_quotas import TenantQuotas

MAX_LINE_BYTES = 16 * MEGABYTE
"""The most bytes of a line. A line is read at once, and takes many times its length in memory."""
MAX_WHOLE_FILE_BYTES = 32 * MEGABYTE
"""The most bytes of a JSON file, which is read at once too."""
WHOLE_FILE_EXTENSION = ".json"
PLAIN_SCHEMA = {"type": "string", "format": "binary"}
KINDS: Mapping[str, str] = {
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/json": ".json",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}
"""The extensions of files that clients send, by content type."""
LINE_EXTENSIONS = frozenset({".jsonl", ".csv", ".tsv"})
T = TypeVar("T")


class ReceivedFile(NamedTuple):
    """A file that was received completely."""

    path: Path
    bytes: int
    sha256: str


def find_extension(request: Request) -> str:
    """Return the extension of the file that a request holds, or raise `ServeError` (415) if it is not accepted."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in KINDS:
        message = f"Content-Type: {media_type or 'none'} is not accepted; accepted types: {', '.join(KINDS)}"
        raise ServeError("unsupported_type", message)
    return KINDS[media_type]


def describe_file_body(json: object = PLAIN_SCHEMA) -> dict[str, Any]:
    """Return the OpenAPI description of a request body that is a file; `json` is the schema of a JSON file."""
    return {"requestBody": {"required": True, "content": describe_file_content(json)}}


def describe_file_content(json: object) -> dict[str, Any]:
    """Return the OpenAPI description of a file, as for `describe_file_body`."""
    return {kind: {"schema": json if ending == ".json" else PLAIN_SCHEMA} for kind, ending in KINDS.items()}


async def receive_file(parts: AsyncIterator[bytes], path: Path, most: int) -> ReceivedFile:
    """Write a file to disk as its parts arrive, and flush it; its extension says of which kind it is."""
    is_whole = path.suffix == WHOLE_FILE_EXTENSION
    max_bytes = min(most, MAX_WHOLE_FILE_BYTES) if is_whole else most
    size = line = 0
    digest = sha256()
    with report_full_disk(), path.open("xb") as stream:
        async for part in parts:
            size += len(part)
            if size > max_bytes:
                hint = "write a case a line (application/jsonl)" if is_whole else "send it in parts, a data set each"
                message = f"body: holds more than {max_bytes:,} bytes, the most for such a file; {hint}"
                raise ServeError("body_too_large", message)
            if path.suffix in LINE_EXTENSIONS:
                line = _measure_open_line(part, line)
            await asyncio.to_thread(_write_part, stream, part, digest.update)
        await asyncio.to_thread(_sync_file, stream)
    return ReceivedFile(path, size, digest.hexdigest())


def _measure_open_line(part: bytes, length: int) -> int:
    """Return the length of the line that is open after a part, or raise `ServeError` (413) if a line is too long.

    `length` is that of the line that was open before it.
    """
    first, *later = map(len, part.split(b"\n"))
    if max(length + first, *later, 0) > MAX_LINE_BYTES:
        message = f"body: has a line of more than {MAX_LINE_BYTES:,} bytes; write one case a line"
        raise ServeError("line_too_long", message)
    return later[-1] if later else length + first


def _write_part(stream: BinaryIO, part: bytes, update: Callable[[bytes], None]) -> None:
    update(part)
    stream.write(part)


@asynccontextmanager
async def receive_in_folder(
    parts: AsyncIterator[bytes], path: Path, most: int, *, quotas: TenantQuotas, kind: KeptName
) -> AsyncIterator[ReceivedFile]:
    """Receive a file that becomes one more of a kind, in a folder that is removed at the end unless it was published.

    `path` is the name of the file in the folder of all things of its kind. It has at most `most` bytes, and what the
    quota of the disk leaves. Raise the errors of `receive_file`, and `ServeError` (409) if a quota is used up.
    """
    new = name_new_folder(path.parent)
    try:
        with report_full_disk():
            async with quotas.turns:
                await asyncio.to_thread(new.mkdir, parents=True)
                await asyncio.to_thread(quotas.check_stored, kind)
                free = await asyncio.to_thread(quotas.measure_free_disk)
            try:
                sent = await receive_file(parts, new / path.name, int(min(most, free)))
            except ServeError as error:
                # The quota of the disk was the tighter limit, and so the reason.
                if error.code == "body_too_large" and free < most:
                    raise await asyncio.to_thread(quotas.build_disk_error) from error
                raise
            yield sent
    finally:
        # Not in a thread: the request may be cancelled here too.
        shutil.rmtree(new, ignore_errors=True)


async def publish_folder(new: Path, final: Path, *, quotas: TenantQuotas, kind: KeptName) -> None:
    """Move a folder to its final place, whole or not at all, or raise `ServeError` (409) beyond the quota."""

    def publish() -> None:
        with quotas.reserve(kind):
            new.rename(final)
            sync_folder(final.parent)

    async with quotas.turns:
        await run_to_completion(publish)


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
