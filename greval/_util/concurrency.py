"""Concurrency: parallel workers, background tasks, the event loop of synchronous calls, and the clock of work."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
SHUTDOWN_SECONDS = 2.0
"""The seconds for which the end of the process waits for the background loop."""
GC_THRESHOLD = 10_000
"""Number of new objects between two garbage collections, instead of the default 700 or 2,000."""


async def run_workers(workers: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run workers concurrently until all finish; if one fails, cancel the others and raise its error."""
    try:
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker)
    except BaseExceptionGroup as error:
        raise _find_first_error(error) from None


@asynccontextmanager
async def run_in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine in the background within the `async with` block and cancel it at the end of the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        # Awaiting the task would not distinguish our cancellation from its own.
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()


def _find_first_error(error: BaseException) -> BaseException:
    """Return the first error of nested exception groups, so that a run ends with a single error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@contextmanager
def reduce_collections() -> Iterator[None]:
    """Freeze existing objects for the garbage collector and collect less often within the `with` block.

    A run creates millions of short-lived objects without cycles. Each collection traverses all objects of the
    imported packages, which costs more than the judging itself.
    """
    if gc.get_freeze_count():
        # The process already manages the collector itself.
        yield
        return
    thresholds = gc.get_threshold()
    # Without a collection before it, which takes longer than a small run if many packages are imported.
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, even if an event loop is already running, as in a notebook.

    All such calls share one background loop, to which the models' connections belong. A call from
    that loop itself (a callback, a computed metric) gets a new loop in a thread.
    """
    background = _get_background_loop()
    if _get_running_loop() is background:
        # The loop would wait for itself.
        with ThreadPoolExecutor(1) as apart:
            return apart.submit(asyncio.run, work).result()
    future = asyncio.run_coroutine_threadsafe(work, background)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


_LOOPS: dict[int, tuple[asyncio.AbstractEventLoop, threading.Thread]] = {}
"""The background loop by process id, because a forked process does not inherit its parent's threads."""
_LOOPS_LOCK = threading.Lock()


def _get_background_loop() -> asyncio.AbstractEventLoop:
    """Return the background loop of this process, started at first use."""
    with _LOOPS_LOCK:
        if os.getpid() not in _LOOPS:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_run_loop, args=(loop,), name="greval", daemon=True)
            thread.start()
            _LOOPS[os.getpid()] = loop, thread
        return _LOOPS[os.getpid()][0]


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Run an event loop until it is stopped."""
    is_ended = False
    while not is_ended:
        # Either is also the error of the task that raised it, for which a caller waits; the loop serves other callers.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
            is_ended = True


def _get_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@atexit.register
def _stop_background_loop() -> None:
    """Stop the background loop at the end of the process, so that the models' connections are closed properly."""
    if os.getpid() in _LOOPS:
        loop, thread = _LOOPS.pop(os.getpid())
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_close_loop(), loop).result(SHUTDOWN_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(SHUTDOWN_SECONDS)
        if not loop.is_running():
            loop.close()


async def _close_loop() -> None:
    """Cancel the tasks that are still running in the loop, and close the connections of its models."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


class _Clock:
    """The clock of one piece of work. Its tasks and threads share it.

    The time passes as waiting while more `count_as_waiting` than `count_as_work` blocks are open.
    """

    def __init__(self, read_time: Callable[[], float]) -> None:
        self._read_time = read_time
        self._waits = 0
        self._waited = 0.0
        self._waiting_since = 0.0
        self._lock = threading.Lock()

    def read(self) -> tuple[float, float]:
        """Return the time, and how much of it passed as waiting."""
        with self._lock:
            now = self._read_time()
            return now, self._waited + (now - self._waiting_since if self._waits > 0 else 0.0)

    @contextmanager
    def change_waits(self, change: int) -> Iterator[None]:
        """Add to the number of waits within the `with` block."""
        self._add_waits(change)
        try:
            yield
        finally:
            self._add_waits(-change)

    def _add_waits(self, change: int) -> None:
        with self._lock:
            now = self._read_time()
            if self._waits > 0:
                self._waited += now - self._waiting_since
            self._waiting_since = now
            self._waits += change


_CLOCK: ContextVar[_Clock | None] = ContextVar("work_clock", default=None)


@dataclass
class WorkTime:
    """The seconds for which something worked and waited, known when the measurement has ended."""

    worked: float = 0.0
    waited: float = 0.0


@contextmanager
def measure_work() -> Iterator[WorkTime]:
    """Measure the work in the `with` block. Measurements may be nested.

    The time is that of the running event loop.

    Example:
        >>> with measure_work() as spent, count_as_waiting():
        ...     pass
        >>> spent.worked < 1, spent.waited < 1
        (True, True)
    """
    outer = _CLOCK.get()
    clock = outer or _Clock(_choose_time())
    token = _CLOCK.set(clock)
    spent = WorkTime()
    start, waited_before = clock.read()
    try:
        yield spent
    finally:
        end, waited = clock.read()
        spent.waited = waited - waited_before
        spent.worked = max(0.0, end - start - spent.waited)
        _CLOCK.reset(token)


def count_as_waiting() -> AbstractContextManager[None]:
    """Count the time in the `with` block as waiting, if work is measured."""
    clock = _CLOCK.get()
    return clock.change_waits(1) if clock else nullcontext()


def count_as_work() -> AbstractContextManager[None]:
    """Count the time in the `with` block as work within a block of `count_as_waiting`, such as after a lock is held."""
    clock = _CLOCK.get()
    return clock.change_waits(-1) if clock else nullcontext()


def fails_one_call(error: BaseException) -> bool:
    """Return whether an exception of a user's code fails what the code was called for, and ends nothing else.

    So does `sys.exit`. Ctrl-C in the main thread ends the program, and a cancellation the task that is cancelled.
    """
    if isinstance(error, KeyboardInterrupt):
        return threading.current_thread() is not threading.main_thread()
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task() if _get_running_loop() else None
        return task is None or not task.cancelling()
    return not isinstance(error, GeneratorExit)


async def run_in_turn(
    lock: AbstractContextManager[Any], function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a function in a thread that holds a lock; the time until it starts counts as waiting."""

    def run() -> T:
        with lock, count_as_work():
            return function(*args, **kwargs)

    with count_as_waiting():
        return await asyncio.to_thread(run)


def _choose_time() -> Callable[[], float]:
    """Return the clock of the running event loop, which may be virtual; without a loop the process's."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return time.perf_counter
    # a loop of another make, such as uvloop, reads its clock only once in each round
    return loop.time if isinstance(loop, asyncio.BaseEventLoop) else time.perf_counter
