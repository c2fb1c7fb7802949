"""What the server and the process of a run say to each other through pipes: one JSON object a line.

The server writes the order, then a line for granted call slots or to stop the run. The end of its pipe means that the
server ends, also because it was killed. The process asks for slots, returns them, and counts its new results.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from greval.records.record import Record
from greval.serve.prometheus import ResultCounts
from greval.serve.settings import ServerSettings

SHUTDOWN_SECONDS = 20
"""The seconds that a run has for its calls in flight once the server has ended; then its process ends."""
EXIT_UNWRITTEN = 3
"""The exit code of a run's process if the end of the run could not be written, as on a full disk."""
READ_BYTES = 65_536
MAX_LINE_BYTES = 1024 * 1024
"""The longest line that the server reads. Counts of new results have some kilobytes."""


class JobOrder(Record):
    """The first line: what a run needs beside its folder. The keys of judges stay in the environment.

    `folder` is that of the run and `entry` the run's file in the queue. `lock` is the inherited descriptor of the run's
    lock.
    """

    settings: ServerSettings
    folder: Path
    entry: Path
    lock: int


class ServerMessage(Record):
    """A message of the server: call slots that it grants, or the request to stop in order."""

    granted: int = 0
    stop: bool = False


class JobMessage(Record):
    """A message of a run: call slots that it asks for and returns, and counts of its new results."""

    asked: int = 0
    returned: int = 0
    counts: tuple[ResultCounts, ...] = ()


def encode_message(message: JobOrder | ServerMessage | JobMessage) -> bytes:
    r"""Encode a message as a line."""
    return message.model_dump_json(exclude_defaults=True).encode() + b"\n"


class ServerLink:
    """The pipes to the server. Standard input and output are replaced, so that no other code can use them."""

    def __init__(self) -> None:
        self._lines = _read_lines(os.dup(0))
        self._out: BinaryIO = os.fdopen(os.dup(1), "wb", buffering=0)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        # What metrics print goes to the log.
        os.dup2(2, 1)

    def read_order(self) -> JobOrder | None:
        """Return the order, or None if the server has ended."""
        line = next(self._lines, None)
        return JobOrder.model_validate_json(line) if line else None

    def send(self, message: JobMessage) -> None:
        """Send a message; if the server has ended, nothing happens."""
        with suppress(OSError):
            self._out.write(encode_message(message))

    def listen(self, receive: Callable[[ServerMessage], None]) -> None:
        """Call a function in the running event loop with each message of the server.

        A thread reads them, because a computation may hold the loop. If the server has ended, it also sets an alarm
        that ends this process.
        """
        loop = asyncio.get_running_loop()

        def read() -> None:
            # The loop is closed: the run has ended.
            with suppress(RuntimeError):
                for line in self._lines:
                    loop.call_soon_threadsafe(receive, ServerMessage.model_validate_json(line))
                # The alarm of the system also ends a process whose loop is held by a computation.
                signal.alarm(SHUTDOWN_SECONDS)
                loop.call_soon_threadsafe(receive, ServerMessage(stop=True))

        threading.Thread(target=read, name="server-link", daemon=True).start()


def _read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of a pipe until its end."""
    remainder = b""
    # A buffered reader would hold its lock in the thread that reads, and the end of the process would wait for it.
    while data := os.read(descriptor, READ_BYTES):
        *lines, remainder = (remainder + data).split(b"\n")
        yield from lines
