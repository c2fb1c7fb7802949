"""Concurrency of a run: parallel workers, background tasks and garbage collection."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

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
        await asyncio.wait({task})  # awaiting the task would not distinguish our cancellation from its own
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
    imported packages, which costs more than the judging itself. There is no collection before the freeze,
    because with many imported packages it takes longer than a small run.
    """
    if gc.get_freeze_count():  # the process already manages the collector itself
        yield
        return
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
