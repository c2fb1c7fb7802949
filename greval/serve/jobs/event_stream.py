"""Progress of a run as server-sent events, whichever process works on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from fastapi.responses import StreamingResponse

from greval.records.record import Record
from greval.runs.progress import Progress
from greval.serve.jobs.records import ACTIVE, RunInfo
from greval.serve.problems import ServeError

POLL_SECONDS = 0.25
HEARTBEAT_SECONDS = 15.0
EVENT_SCHEMA = {
    "type": "object",
    "description": "An event; its data is JSON: the progress of the run, or at its end the run itself.",
    "properties": {"event": {"enum": ["progress", "end"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
"""The schema of one event, for the OpenAPI document."""


class EventStream(StreamingResponse):
    """A stream of server-sent events; it ends when the client disconnects."""

    media_type = "text/event-stream"


async def stream_events(
    look: Callable[[], RunInfo], stopping: asyncio.Event, *, heartbeat: float = HEARTBEAT_SECONDS
) -> AsyncIterator[str]:
    """Yield the progress of a run as it changes, and the run itself at its end.

    Args:
        look: Returns the current state of the run; called in a thread, at most four times a second.
        stopping: Set when the server shuts down; it ends the stream, and the client can reconnect after a restart.
        heartbeat: Seconds without news after which a comment line is sent to keep the connection open.
    """
    told: Progress | None = None
    last = time.monotonic()
    while not stopping.is_set():
        try:
            info = await asyncio.to_thread(look)
        except ServeError:  # it was deleted
            return
        if info.progress is not None and info.progress != told:
            told, last = info.progress, time.monotonic()
            yield format_event("progress", told)
        if info.status not in ACTIVE:
            yield format_event("end", info)
            return
        if time.monotonic() - last >= heartbeat:
            last = time.monotonic()
            yield ": nothing new\n\n"
        await asyncio.sleep(POLL_SECONDS)


def format_event(name: str, content: Record) -> str:
    r"""Format a server-sent event; JSON is one line, so that no text in it can begin another event.

    Example:
        >>> format_event("progress", Progress(total=2))[:34]
        'event: progress\ndata: {"total":2,"'
    """
    return f"event: {name}\ndata: {content.model_dump_json()}\n\n"
