"""An event loop whose clock is virtual: when nothing is left to do, it jumps to the next timer.

A test in such a loop waits for no pause and knows each moment exactly, however busy the machine is.
Threads that the loop started and bytes between sockets of the loop are waited for before a jump, so a
`FaultServer` that was entered with `async with` belongs to the same time. Other threads, other processes
and servers outside of the loop do not: their answers would come after the jump.
"""

from __future__ import annotations

import asyncio
import fcntl
import selectors
import struct
import termios
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any

from waiting import SECONDS

LOOK_SECONDS = 0.001
"""How long threads and sockets are waited for, in real time, before they are looked at again."""


class _Selector(selectors.DefaultSelector):
    """A selector that moves a clock instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; if nothing is and nothing can become ready, move the clock by the timeout."""
        if timeout is None:
            events = super().select(SECONDS)
            assert events, "nothing is left that could happen: the test waits for ever"
            return events
        if timeout <= 0:
            return super().select(timeout)
        while True:
            idle = not self.threads and not any(map(_is_sending, self.get_map().values()))
            if events := super().select(0 if idle else LOOK_SECONDS):
                return events
            if idle:
                self.now += timeout
                return []


def _is_sending(key: selectors.SelectorKey) -> bool:
    """Return whether a socket connects, or has sent bytes that the other end has not received."""
    if key.events & selectors.EVENT_WRITE:
        return True
    try:
        (unsent,) = struct.unpack("i", fcntl.ioctl(key.fd, termios.TIOCOUTQ, b"\0" * 4))
    except OSError:  # a listening socket sends nothing
        return False
    return unsent > 0


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop with a virtual clock."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def spend(self, seconds: float) -> None:
        """Let time pass in a thread, as a function that works that long would."""
        moved = threading.Event()

        def move() -> None:
            self._clock.now += seconds
            moved.set()

        self.call_soon_threadsafe(move)  # never while a task of the loop runs
        assert moved.wait(SECONDS), "the loop does not run"

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Run a function in a thread, until whose end the clock stands still."""
        future = super().run_in_executor(executor, func, *args)
        self._clock.threads += 1
        future.add_done_callback(self._end_thread)
        return future

    def _end_thread(self, _: asyncio.Future[Any]) -> None:
        self._clock.threads -= 1


@dataclass
class ManualClock:
    """A clock for what takes one as an argument; it stands still until a test sets it."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def in_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test in a loop with a virtual clock."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def now() -> float:
    return asyncio.get_running_loop().time()
