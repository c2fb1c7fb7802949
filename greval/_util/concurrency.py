"""Concurrency: parallel workers, background tasks, the event loop behind synchronous calls, garbage collection."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

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
            thread = threading.Thread(target=loop.run_forever, name="greval", daemon=True)
            thread.start()
            _LOOPS[os.getpid()] = loop, thread
        return _LOOPS[os.getpid()][0]


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
