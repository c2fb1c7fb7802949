"""Waiting for what another thread or process does, with a limit that only a hang reaches."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 300
"""Long enough for any step of a test on a busy machine; a test that waits so long has found a hang."""


CPU_SECONDS = 60
"""Far more time on the processor than a test needs whose work grows as its input does."""


@contextmanager
def bounded(seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Raise `TimeoutError` if the body takes so much time on the processor, whatever else the machine does.

    It is no measurement: the input is made so large that work that grows faster than the input takes hours.
    """

    def give_up(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"{seconds:g} s on the processor were not enough")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def until(true: Callable[[], object], seconds: float = SECONDS, pause: float = 0.01) -> None:
    """Wait until something is true, with a pause in seconds between two looks at it."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(pause)
