"""The code of a worker process: limits of memory and CPU time, one task, and how it ended."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NamedTuple

from greval.errors import GrevalError

NICENESS = 2
"""What the server's process answers by itself goes first, and runs later; much less, and a busy machine starves it."""
MAX_RESULT_BYTES = 32 * 1024 * 1024
"""The most bytes of a result, because the server's process holds it whole."""
DATA_PAGES = 5
"""The position of the size of a process's data in `/proc/self/statm`."""


class TaskLimits(NamedTuple):
    """The most memory that a task may take, in bytes, and the most CPU time, in seconds."""

    memory: int
    seconds: int


class TaskOutcome(NamedTuple):
    """How a task ended.

    The value is what it returned, the `GrevalError` that it raised, or the frames of an unexpected error.
    """

    kind: Literal["returned", "refused", "memory", "size", "failed"]
    value: Any = None


def run_task(channel: Connection, limits: TaskLimits, function: Callable[..., object], arguments: Any) -> None:  # noqa: ANN401 - what the function takes
    """Run one task within its limits, and write how it ended to a pipe."""
    # Ctrl-C reaches the server, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_with_parent, daemon=True).start()
    os.nice(NICENESS)
    _set_limits(limits)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # What a task prints may quote what a client sent.
        sys.stdout = sys.stderr = nowhere
        content = _dump_outcome(function, arguments)
    with open(channel.fileno(), "wb", closefd=False) as stream:
        stream.write(content)


def _exit_with_parent() -> None:
    """End this process when the server is gone, also if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _set_limits(limits: TaskLimits) -> None:
    """Set the limits of this process, beyond what it took before the task."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = limits.seconds + int(usage.ru_utime + usage.ru_stime) + 1
    # SIGXCPU, then SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # not RLIMIT_AS, which would count address space that allocators and threads reserve and never use
    memory = limits.memory + measure_data()
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def measure_data() -> int:
    """Return the bytes of data that this process has already; 0 if the system does not say it."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[DATA_PAGES]) * resource.getpagesize()
    except OSError:
        return 0


def _dump_outcome(function: Callable[..., object], arguments: Any) -> bytes:  # noqa: ANN401 - as above
    """Call a function, and return how it ended as bytes."""
    try:
        content = pickle.dumps(_call_function(function, arguments), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return pickle.dumps(TaskOutcome("memory"))
    return content if len(content) <= MAX_RESULT_BYTES else pickle.dumps(TaskOutcome("size"))


def _call_function(function: Callable[..., object], arguments: Any) -> TaskOutcome:  # noqa: ANN401 - as above
    try:
        return TaskOutcome("returned", function(*arguments))
    except GrevalError as error:
        return TaskOutcome("refused", error)
    except MemoryError:
        return TaskOutcome("memory")
    except Exception as error:  # noqa: BLE001 - any error is told to the server
        # without its message, which may quote what a client sent
        return TaskOutcome("failed", "".join([*traceback.format_tb(error.__traceback__), type(error).__name__]))
