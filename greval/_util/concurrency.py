"""Tasks of a run: workers side by side, and work that goes on beside them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

YOUNG = 10_000
"""New objects between two collections, in place of the usual 700 or 2,000."""


async def all_of(workers: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run workers to their end; where one breaks, its error is the run's."""
    try:
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker)
    except BaseExceptionGroup as error:
        raise _first(error) from None


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do something beside the run, and leave it with the run."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})  # awaiting the task itself would take our own cancellation for its
        if not task.cancelled():
            task.result()


def _first(error: BaseException) -> BaseException:
    """Give the first error of nested groups: what ended the run is one thing to say."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the garbage collector leave alone what was there before the run, and look less often.

    A run makes millions of short-lived objects without cycles; each collection walks all that the
    imported packages hold, which costs more than judging does itself. Nothing is collected before: in a
    process that holds many packages that takes longer than a small run.
    """
    if gc.get_freeze_count():  # the process has its own ideas
        yield
        return
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
