"""Waiting for what another thread or process does, with a limit that only a hang reaches."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 120
"""Long enough for any step of a test on a busy machine; a test that waits so long has found a hang."""


def until(true: Callable[[], object], seconds: float = SECONDS) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.01)
