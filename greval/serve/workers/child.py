"""The code of a worker process: limits of memory and CPU time, one task, and how it ended."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NamedTuple

from pydantic import Field
from pydantic_core import to_json

from greval.errors import GrevalError
from greval.records.record import Record
from greval.serve.logs import ERRORS, JsonLines
from greval.serve.problems import Fault, convert_error
from greval.serve.settings import ServerLimits

NICENESS = 2
"""What the server's process answers by itself goes first, and runs later; much less, and a busy machine starves it."""
MAX_RESULT_BYTES = 32 * 1024 * 1024
"""The most bytes of a result, because the server's process holds it whole."""
MAX_LOG_LINES = 20
DATA_PAGES = 5
"""The position of the size of a process's data in `/proc/self/statm`."""
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|GREVAL_SERVE_SETTINGS|PROMETHEUS_MULTIPROC_DIR", re.IGNORECASE)
"""Variables of the environment that only the server, and what judges, may have: its keys and its own files."""


class TaskRefusal(Record):
    """A `GrevalError` that a task raised: what the response to the request says of it."""

    code: str
    message: str
    headers: Mapping[str, str]
    faults: tuple[Fault, ...]
    columns: tuple[str, ...]


class TaskLogLine(Record):
    """A warning or an error that a task logged; what it prints is lost."""

    logger: str
    level: int
    message: str
    trace: str


class TaskOutcome(Record):
    """How a task ended: the first line of what its process writes, as JSON; what it returned follows.

    It is JSON and no pickle: the process reads what clients sent, and code that it might be made to run must not reach
    the server.
    """

    kind: Literal["returned", "refused", "memory", "size", "failed"]
    headers: Mapping[str, str] = Field(default_factory=dict)
    refusal: TaskRefusal | None = None
    log: tuple[TaskLogLine, ...] = ()


class TaskAnswer(NamedTuple):
    """What a task returns for a response with headers of its own."""

    content: object
    headers: Mapping[str, str]


def list_secrets() -> dict[str, str]:
    """List the variables of the environment that most tasks must not have."""
    return {name: value for name, value in os.environ.items() if _SECRET.search(name)}


@contextmanager
def hide_secrets() -> Iterator[None]:
    """Let a process that is started here not inherit the secrets of the environment."""
    secrets = list_secrets()
    for name in secrets:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(secrets)


def run_task(
    channel: Connection,
    limits: ServerLimits,
    environment: Mapping[str, str],
    function: Callable[..., object],
    arguments: Any,  # noqa: ANN401 - what the function takes
) -> None:
    """Run one task within its limits, and write how it ended to a pipe."""
    # Ctrl-C reaches the server, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_with_parent, daemon=True).start()
    os.nice(NICENESS)
    os.environ.update(environment)
    _set_limits(limits)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # What a task prints may quote what a client sent.
        sys.stdout = sys.stderr = nowhere
        log: list[TaskLogLine] = []
        logging.getLogger("greval").addHandler(LogCollector(log))
        outcome, content = _call_function(function, arguments)
        outcome = outcome.model_copy(update={"log": tuple(log[:MAX_LOG_LINES])})
    with open(channel.fileno(), "wb", closefd=False) as stream:
        stream.write(outcome.model_dump_json().encode() + b"\n")
        stream.write(content)


class LogCollector(logging.Handler):
    """Collects what a task logs, for the log of the server; without texts of exceptions, which may quote a client."""

    def __init__(self, lines: list[TaskLogLine]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line."""
        trace = JsonLines().formatException(record.exc_info) if record.exc_info else ""
        line = TaskLogLine(logger=record.name, level=record.levelno, message=record.getMessage(), trace=trace)
        self._lines.append(line)


def _exit_with_parent() -> None:
    """End this process when the server is gone, also if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _set_limits(limits: ServerLimits) -> None:
    """Set the limits of this process, beyond what it took before the task."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = limits.worker_seconds + int(usage.ru_utime + usage.ru_stime) + 1
    # SIGXCPU, then SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory(limits.worker_memory)


def limit_memory(size: int) -> None:
    """Limit the data of this process beyond what it has already; more is a `MemoryError`.

    Files that it maps, such as a model, do not count.
    """
    # Not RLIMIT_AS, which would count address space that allocators and threads reserve and never use.
    memory = size + _measure_data()
    # The system may have a lower limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _measure_data() -> int:
    """Return the bytes of data that this process has already; 0 if the system does not say it."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[DATA_PAGES]) * resource.getpagesize()
    except OSError:
        return 0


def _call_function(function: Callable[..., object], arguments: Any) -> tuple[TaskOutcome, bytes]:  # noqa: ANN401 - as above
    """Call a function, and return how it ended and what it returned."""
    try:
        value = function(*arguments)
        answer = value if isinstance(value, TaskAnswer) else TaskAnswer(value, {})
        content = dump_value(answer.content)
    except GrevalError as error:
        refusal = convert_error(error)
        fields = {name: getattr(refusal, name) for name in ("code", "headers", "faults", "columns")}
        return TaskOutcome(kind="refused", refusal=TaskRefusal(message=str(refusal), **fields)), b""
    except MemoryError:
        return TaskOutcome(kind="memory"), b""
    except Exception:  # noqa: BLE001 - any error is told to the server
        ERRORS.exception("unhandled in a worker process")
        return TaskOutcome(kind="failed"), b""
    if len(content) > MAX_RESULT_BYTES:
        return TaskOutcome(kind="size"), b""
    return TaskOutcome(kind="returned", headers=dict(answer.headers)), content


def dump_value(value: object) -> bytes:
    """Return what a task returned as JSON; a text is JSON already, or another format of a response."""
    if isinstance(value, str):
        return value.encode()
    return value.model_dump_json().encode() if isinstance(value, Record) else to_json(value, inf_nan_mode="null")
