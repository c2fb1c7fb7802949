"""What the server and the process of a run say to each other through pipes: one JSON object a line.

The server writes the order, then a line for granted call slots or to stop the run. The end of its pipe means that the
server ends, also because it was killed. The process asks for slots, returns them, and counts its new results.
"""

from __future__ import annotations

from pathlib import Path

from greval.records.record import Record
from greval.serve.result_counts import ResultCounts
from greval.serve.settings import ServerSettings

SHUTDOWN_SECONDS = 20
"""The seconds that a run has for its calls in flight once the server has ended; then its process ends."""
EXIT_UNWRITTEN = 3
"""The exit code of a run's process if the end of the run could not be written, as on a full disk."""
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
    r"""Encode a message as a line.

    Example:
        >>> encode_message(ServerMessage(granted=1))
        b'{"granted":1}\n'
    """
    return message.model_dump_json(exclude_defaults=True).encode() + b"\n"
