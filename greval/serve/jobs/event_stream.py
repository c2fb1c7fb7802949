"""Following a run: its newest progress as server-sent events, whichever process works on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from fastapi.responses import StreamingResponse

from greval.records.record import Record
from greval.runs.progress import Progress
from greval.serve.jobs.records import ACTIVE, RunInfo
from greval.serve.problems import ServeError

LOOK_SECONDS = 0.25
HEARTBEAT_SECONDS = 15.0
EVENT = {
    "type": "object",
    "description": "An event; its data is JSON: the progress of the run, or at its end the run itself.",
    "properties": {"event": {"enum": ["progress", "end"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
"""The schema of one event, for the OpenAPI document."""


class EventStream(StreamingResponse):
    """A stream of server-sent events; a client that goes away ends it."""

    media_type = "text/event-stream"


async def events(
    look: Callable[[], RunInfo], stopping: asyncio.Event, *, heartbeat: float = HEARTBEAT_SECONDS
) -> AsyncIterator[str]:
    """Give the progress of a run as it changes, and the run when it comes to its end.

    Args:
        look: Gives the run as it stands; called in a thread, four times a second at most.
        stopping: Set when the server ends: then the stream ends too, and can be opened again after the next start.
        heartbeat: After so many seconds without news a line is sent that keeps the connection open.
    """
    told: Progress | None = None
    last = time.monotonic()
    while not stopping.is_set():
        try:
            info = await asyncio.to_thread(look)
        except ServeError:  # it was taken away
            return
        if info.progress is not None and info.progress != told:
            told, last = info.progress, time.monotonic()
            yield event("progress", told)
        if info.status not in ACTIVE:
            yield event("end", info)
            return
        if time.monotonic() - last >= heartbeat:
            last = time.monotonic()
            yield ": nothing new\n\n"
        await asyncio.sleep(LOOK_SECONDS)


def event(name: str, content: Record) -> str:
    r"""Give an event as it is sent; JSON is one line, so that no text in it can begin another event.

    Example:
        >>> event("progress", Progress(total=2))[:34]
        'event: progress\ndata: {"total":2,"'
    """
    return f"event: {name}\ndata: {content.model_dump_json()}\n\n"
