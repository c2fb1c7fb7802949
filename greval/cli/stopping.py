"""Graceful stop of a command: the first Ctrl-C finishes calls in flight, the second ends it immediately."""

from __future__ import annotations

import asyncio
import signal
import sys

from greval.judging.model.budget import RAISE_CAP_HINT

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def stop_on_signals(stop: asyncio.Event) -> None:
    """Set the event on the first Ctrl-C or SIGTERM, and restore the default handlers for the next one."""
    loop = asyncio.get_running_loop()

    def handle_first() -> None:  # prints last: a user who sees the line can stop immediately
        stop.set()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
        sys.stderr.write("stopping: what is in flight is finished and kept; once more stops at once\n")

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, handle_first)


def describe_stop(why: str) -> str:
    """Format why a command was stopped, and how to resume it.

    Example:
        >>> describe_stop("it was asked to stop")
        'stopped: it was asked to stop; what was judged is kept, run the same command again to go on'
    """
    again = "" if RAISE_CAP_HINT in why else ", run the same command again to go on"
    return f"stopped: {why}; what was judged is kept{again}"
