"""A clock of work: how long something took, and apart from it how long it waited for its turn.

Work is measured with `measure_work`. Code that waits for a lock, a queue, a limit of calls, the pause before a retry or
the opening of a file says so with `count_as_waiting`, and needs to know nothing of who measures.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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
