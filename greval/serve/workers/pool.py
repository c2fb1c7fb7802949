"""A pool of child processes with limits, for work that would keep the server's own process busy."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from math import inf
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, TypeVarTuple, assert_never, cast, get_type_hints

from pydantic import TypeAdapter

from greval.serve.call_limit import FairCallLimit
from greval.serve.problems import ServeError
from greval.serve.settings import MEGABYTE, ServerSettings
from greval.serve.workers.child import (
    MAX_RESULT_BYTES,
    TaskOutcome,
    TaskRefusal,
    hide_secrets,
    run_task,
)

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

PRELOADED = "greval.serve.workers.preload"
MIN_TASKS = 2
"""At least as many tasks run at once, so that no tenant alone can take all places."""
MAX_TASKS = 8
MAX_WAITING = 8
"""The most tasks at once that wait for another server, such as a judge, nearly all of their time."""
MAX_TENANT_WAITING = 6
"""The most of them that belong to one of several tenants."""
LONG_SECONDS = 2.0
"""The seconds after which a task leaves its place to the next one; after as much CPU time its priority is lowered."""
LONG_NICENESS = 10
MIN_PAUSE_SECONDS = 0.1
"""The least seconds between two looks at the CPU time of a task."""
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


class TaskPlaces:
    """The places of tasks, which tenants share fairly. With keys, no tenant takes all of them.

    A short task does not wait for the end of long ones: these move to places of their own, one for each tenant.
    """

    def __init__(self, width: int, tenant_width: int) -> None:
        self._width = width
        self._turns = FairCallLimit(width)
        self._own: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(tenant_width))
        self._long: set[str] = set()

    @asynccontextmanager
    async def hold(self, tenant: str) -> AsyncIterator[Callable[[], None]]:
        """Hold a place, and yield a function that moves the task to the places of long ones, if one is free."""
        own, is_long = self._own[tenant], False

        def release() -> None:
            self._turns.release()
            own.release()

        def move() -> None:
            nonlocal is_long
            if tenant not in self._long and len(self._long) < self._width:
                is_long = True
                self._long.add(tenant)
                release()

        await own.acquire()
        try:
            await self._turns.acquire(tenant)
        except BaseException:
            own.release()
            raise
        try:
            yield move
        finally:
            if is_long:
                self._long.discard(tenant)
            else:
                release()


class WorkerPool:
    """Runs functions in child processes with limits of memory, CPU time and time; tenants take turns.

    Each task has a process of its own, forked from one that has imported everything already. It gets what it needs by
    pickle and answers by JSON. A cancelled task is killed, or never begun.
    """

    def __init__(self, settings: ServerSettings) -> None:
        """Start with no process; `start`, or else the first task, starts the one that the others are forked from."""
        self.width = max(MIN_TASKS, min(len(os.sched_getaffinity(0)), MAX_TASKS) // settings.workers)
        self._limits = settings.limits
        self._places = TaskPlaces(self.width, self.width - 1 if settings.keys else self.width)
        self._waiting = TaskPlaces(MAX_WAITING, MAX_TENANT_WAITING if settings.keys else MAX_WAITING)
        self._context = get_context("forkserver")
        # each child runs the main module of this process again, which imports these
        imported = [name for name in sys.modules if name.startswith("greval.") and name != PRELOADED]
        self._context.set_forkserver_preload([PRELOADED, *imported])
        # Starting a process may block.
        self._threads = ThreadPoolExecutor(self.width + MAX_WAITING, thread_name_prefix="workers")
        self._running: set[ForkServerProcess] = set()
        self._ends: set[asyncio.Task[int | None]] = set()
        self._stopped = False

    def start(self) -> None:
        """Start the process that tasks are forked from, so that the first task does not wait for its imports."""
        with hide_secrets():
            forkserver.ensure_running()

    async def run(self, tenant: str, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call a function of a module in a child process, and return its value, read from JSON as it is annotated.

        It raises the `ServeError` of a `GrevalError` that the function raises, `TaskLimitError` if it needs too much
        memory or time, and `ServeError` (503) if the server stops or the process is killed.
        """
        content = await self.run_to_json(tenant, function, *arguments)
        adapter = _build_adapter(function)
        return cast("T", content.decode() if adapter is None else adapter.validate_json(content))

    async def run_to_json(
        self,
        tenant: str,
        function: Callable[[*Arguments], object],
        *arguments: *Arguments,
        environment: Mapping[str, str] = MappingProxyType({}),
        waits: bool = False,
    ) -> bytes:
        """Call a function as `run` does, and return its value as the JSON that the process wrote, which is not read.

        `environment` is added to that of the process, which has no keys. `waits` is whether the task waits for another
        server nearly all of its time: such tasks have places of their own.
        """
        async with (self._waiting if waits else self._places).hold(tenant) as move:
            content, _ = await self._run_in_child(function, arguments, environment, None if waits else move)
        return content

    async def run_to_answer(
        self, tenant: str, function: Callable[[*Arguments], object], *arguments: *Arguments
    ) -> tuple[bytes, Mapping[str, str]]:
        """Call a function as `run_to_json` does, and return its value and the headers of its `TaskAnswer`."""
        async with self._places.hold(tenant) as move:
            return await self._run_in_child(function, arguments, {}, move)

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

    async def _run_in_child(
        self,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        environment: Mapping[str, str],
        move: Callable[[], None] | None,
    ) -> tuple[bytes, Mapping[str, str]]:
        if self._stopped:
            raise _build_stopping_error()
        reading, writing = self._context.Pipe(duplex=False)
        order = (writing, self._limits, dict(environment), function, arguments)
        process = self._context.Process(target=run_task, args=order, daemon=True)
        content = None
        starting = asyncio.get_running_loop().run_in_executor(self._threads, _start_process, process, writing)
        lengthy = asyncio.create_task(_step_back(process, starting, move)) if move else None
        try:
            await asyncio.shield(starting)
            self._running.add(process)
            async with asyncio.timeout(self._limits.seconds):
                content = b"" if self._stopped else await _read_all(reading)
        except TimeoutError as error:
            raise TaskLimitError("timeout", f"{self._limits.seconds:g} s", "--request-timeout") from error
        except (OSError, EOFError) as error:
            raise _build_lost_error("cannot be started") from error
        finally:
            if lengthy:
                lengthy.cancel()
            ending = asyncio.create_task(self._end_process(process, starting, kill=content is None))
            self._ends.add(ending)
            ending.add_done_callback(self._ends.discard)
            reading.close()
            # Shielded, so that a process which is being started is ended after that.
            code = await asyncio.shield(ending)
        return self._read_outcome(content, code)

    async def _end_process(
        self, process: ForkServerProcess, starting: asyncio.Future[None], *, kill: bool
    ) -> int | None:
        """Wait for a process, or kill it; return its exit code, or None if it was not started."""
        await asyncio.wait({starting})
        self._running.discard(process)
        if starting.exception() is not None or process.pid is None:
            return None
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(process.sentinel, ended.set)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(0 if kill else EXIT_SECONDS):
                    await ended.wait()
            if not ended.is_set():
                process.kill()
            await ended.wait()
        finally:
            loop.remove_reader(process.sentinel)
        process.join()
        code = process.exitcode
        process.close()
        return code

    def _read_outcome(self, content: bytes, code: int | None) -> tuple[bytes, Mapping[str, str]]:
        """Return what a task returned, or raise the error that stands for how it ended."""
        if content:
            line, _, value = content.partition(b"\n")
            outcome = TaskOutcome.model_validate_json(line)
            for logged in outcome.log:
                fields = {"trace": logged.trace} if logged.trace else {}
                logging.getLogger(logged.logger).log(logged.level, "%s", logged.message, extra={"fields": fields})
            return self._unpack_outcome(outcome, value)
        if self._stopped:
            raise _build_stopping_error()
        if code == -signal.SIGXCPU:
            raise TaskLimitError("timeout", f"{self._limits.worker_seconds} s of CPU time", "--worker-seconds")
        raise _build_lost_error("ended early, perhaps for want of memory")

    def _unpack_outcome(self, outcome: TaskOutcome, value: bytes) -> tuple[bytes, Mapping[str, str]]:
        match outcome.kind:
            case "returned":
                return value, outcome.headers
            case "refused":
                raise ServeError(**dict(cast("TaskRefusal", outcome.refusal)))
            case "memory":
                raise TaskLimitError(
                    "answer_too_large", f"{self._limits.worker_memory // MEGABYTE:,} MB of memory", "--worker-memory"
                )
            case "size":
                raise ServeError(
                    "answer_too_large", f"the answer is larger than {MAX_RESULT_BYTES // MEGABYTE} MB; ask for less"
                )
            case "failed":
                raise RuntimeError("a worker process failed")
            case _:
                assert_never(outcome.kind)


@cache
def _build_adapter(function: Callable[..., object]) -> TypeAdapter[Any] | None:
    """Build the reader of what a function returns; None for a text, which is not written as JSON."""
    returned = get_type_hints(function).get("return", Any)
    return None if returned is str else TypeAdapter(returned)


async def _step_back(process: ForkServerProcess, starting: asyncio.Future[None], move: Callable[[], None]) -> None:
    """Let a task that runs for long leave its place to others, and the CPU as well once it has taken much of it."""
    await asyncio.sleep(LONG_SECONDS)
    move()
    await asyncio.wait({starting})
    # It may have ended.
    with suppress(OSError, ValueError):
        # On a busy machine a short task takes long too, and with a lower priority it would take for ever.
        while process.pid and (left := LONG_SECONDS - _measure_cpu_seconds(process.pid)) > 0:  # noqa: ASYNC110 - no event
            await asyncio.sleep(max(left, MIN_PAUSE_SECONDS))
        if process.pid:
            os.setpriority(os.PRIO_PROCESS, process.pid, LONG_NICENESS)


def _measure_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has taken; infinite if the system has no such files."""
    try:
        # The name of the process, which comes first, may have blanks and is in brackets (proc_pid_stat(5)).
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _start_process(process: ForkServerProcess, writing: Connection) -> None:
    try:
        process.start()
    finally:
        # Else the pipe would stay open when the process ends.
        writing.close()


async def _read_all(reading: Connection) -> bytes:
    """Read a pipe to its end, which comes when the process at the other end ends."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), reading)
    parts, size = [], 0
    try:
        # More is written by no code of ours.
        while (part := await reader.read(MEGABYTE)) and size <= 2 * MAX_RESULT_BYTES:
            parts.append(part)
            size += len(part)
        return b"".join(parts)
    finally:
        transport.close()


def _build_stopping_error() -> ServeError:
    message = "the server is stopping; send the request again in a moment"
    return ServeError("server_stopping", message, headers={"Retry-After": RETRY_SECONDS})


def _build_lost_error(what: str) -> ServeError:
    message = f"the process that was to do this work {what}; send the request again in a moment"
    return ServeError("worker_lost", message, headers={"Retry-After": RETRY_SECONDS})
