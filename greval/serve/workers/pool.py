"""A pool of child processes with limits, for work that would keep the server's own process busy."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import TypeVar, TypeVarTuple, assert_never, cast

from greval.serve.call_limit import FairCallLimit
from greval.serve.logs import ERRORS
from greval.serve.problems import ServeError
from greval.serve.settings import MEGABYTE, ServerSettings
from greval.serve.workers.child import MAX_RESULT_BYTES, TaskLimits, TaskOutcome, run_task

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

PRELOADED = "greval.serve.workers.preload"
MIN_TASKS = 2
"""At least as many tasks run at once, so that no tenant alone can take all places."""
MAX_TASKS = 8
RETRY_SECONDS = "1"
EXIT_SECONDS = 5.0
"""The seconds that a process has to end after its outcome was read."""


class TaskLimitError(ServeError):
    """A task needed more memory or time than it may take; `limit` says which and how much."""

    def __init__(self, code: str, limit: str, option: str) -> None:
        super().__init__(
            code, f"the answer needs more than {limit}; ask for less, or ask the operator to raise {option}"
        )
        self.limit = limit


@contextmanager
def blame_file_for_limits() -> Iterator[None]:
    """Report a task that needed too much as a fault of the file that was sent (422)."""
    try:
        yield
    except TaskLimitError as error:
        message = f"body: reading it needs more than {error.limit}, the most for a file; send it in parts"
        raise ServeError("file_too_costly", message) from error


class WorkerPool:
    """Runs functions in child processes with limits of memory, CPU time and time; tenants take turns.

    Each task has a process of its own, forked from one that has imported everything already. A cancelled task is
    killed, or never begun. With keys, no tenant takes all places.
    """

    def __init__(self, settings: ServerSettings) -> None:
        """Start with no process; `start`, or else the first task, starts the one that the others are forked from."""
        self.width = max(MIN_TASKS, min(len(os.sched_getaffinity(0)), MAX_TASKS) // settings.workers)
        limits = settings.limits
        self._limits = TaskLimits(limits.worker_memory, limits.worker_seconds)
        self._seconds = limits.seconds
        self._turns = FairCallLimit(self.width)
        tenant_width = self.width - 1 if settings.keys else self.width
        self._own: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(tenant_width))
        self._context = get_context("forkserver")
        # each child runs the main module of this process again, which imports these
        imported = [name for name in sys.modules if name.startswith("greval.") and name != PRELOADED]
        self._context.set_forkserver_preload([PRELOADED, *imported])
        # Starting a process may block.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="workers")
        self._running: set[ForkServerProcess] = set()
        self._stopped = False

    def start(self) -> None:
        """Start the process that tasks are forked from, so that the first task does not wait for its imports."""
        forkserver.ensure_running()

    async def run(self, tenant: str, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call a function of a module in a child process; what it takes and returns is pickled.

        It raises the `GrevalError` that the function raises, `TaskLimitError` if it needs too much memory or time, and
        `ServeError` (503) if the server stops or the process is killed.
        """
        async with self._own[tenant], self._turns.get_slot(tenant):
            return cast("T", await self._run_in_child(function, arguments))

    def stop(self) -> None:
        """Kill all tasks, and refuse further ones."""
        self._stopped = True
        for process in self._running:
            process.kill()

    async def stop_at(self, stopping: asyncio.Event) -> None:
        """Stop when the server begins to shut down, so that no request in flight delays that."""
        try:
            await stopping.wait()
        finally:
            self.stop()

    async def _run_in_child(self, function: Callable[..., object], arguments: tuple[object, ...]) -> object:
        if self._stopped:
            raise _build_stopping_error()
        reading, writing = self._context.Pipe(duplex=False)
        process = self._context.Process(target=run_task, args=(writing, self._limits, function, arguments), daemon=True)
        content, loop = None, asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, _start_process, process, writing)
            self._running.add(process)
            async with asyncio.timeout(self._seconds):
                content = b"" if self._stopped else await _read_all(reading)
        except TimeoutError as error:
            raise TaskLimitError("timeout", f"{self._seconds:g} s", "--request-timeout") from error
        except (OSError, EOFError) as error:
            raise _build_lost_error("cannot be started") from error
        finally:
            self._running.discard(process)
            reading.close()
            # in the thread that starts processes, so that one that is being started is ended after that
            ending = loop.run_in_executor(self._thread, _end_process, process, writing, content is None)
            code = await asyncio.shield(ending)
        return self._read_value(content, code)

    def _read_value(self, content: bytes, code: int | None) -> object:
        """Return the value of a task, or raise the error that stands for how it ended."""
        if content:
            outcome: TaskOutcome = pickle.loads(content)  # noqa: S301 - our own process wrote it
            return self._unpack_outcome(outcome)
        if self._stopped:
            raise _build_stopping_error()
        if code == -signal.SIGXCPU:
            raise TaskLimitError("timeout", f"{self._limits.seconds} s of CPU time", "--worker-seconds")
        raise _build_lost_error("ended early, perhaps for want of memory")

    def _unpack_outcome(self, outcome: TaskOutcome) -> object:
        match outcome.kind:
            case "returned":
                return outcome.value
            case "refused":
                raise outcome.value
            case "memory":
                raise TaskLimitError(
                    "answer_too_large", f"{self._limits.memory // MEGABYTE:,} MB of memory", "--worker-memory"
                )
            case "size":
                raise ServeError(
                    "answer_too_large", f"the answer is larger than {MAX_RESULT_BYTES // MEGABYTE} MB; ask for less"
                )
            case "failed":
                ERRORS.error("unhandled in a worker process", extra={"fields": {"trace": outcome.value}})
                raise RuntimeError("a worker process failed")
            case _:
                assert_never(outcome.kind)


def _start_process(process: ForkServerProcess, writing: Connection) -> None:
    try:
        process.start()
    finally:
        # Else the pipe would stay open when the process ends.
        writing.close()


def _end_process(process: ForkServerProcess, writing: Connection, kill: bool) -> int | None:  # noqa: FBT001 - called by position
    """Wait for a process, or kill it; return its exit code, or None if it was not started."""
    writing.close()
    if process.pid is None:
        return None
    process.join(0 if kill else EXIT_SECONDS)
    process.kill()
    process.join()
    code = process.exitcode
    process.close()
    return code


async def _read_all(reading: Connection) -> bytes:
    """Read a pipe to its end, which comes when the process at the other end ends."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), reading)
    try:
        return await reader.read()
    finally:
        transport.close()


def _build_stopping_error() -> ServeError:
    message = "the server is stopping; send the request again in a moment"
    return ServeError("server_stopping", message, headers={"Retry-After": RETRY_SECONDS})


def _build_lost_error(what: str) -> ServeError:
    message = f"the process that was to do this work {what}; send the request again in a moment"
    return ServeError("worker_lost", message, headers={"Retry-After": RETRY_SECONDS})
