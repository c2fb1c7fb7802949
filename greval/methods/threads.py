"""Threads for methods that block: one for each call, and none of them holds up the end of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads(ThreadPoolExecutor):
    """Runs each call in a daemon thread of its own.

    An event loop's own pool has a few threads, whatever concurrency was asked for, and a call that
    hangs for ever would keep the process from ending.

    Example:
        >>> Threads().submit(pow, 2, 10).result()
        1024
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start the call; its future cannot be cancelled, as no thread can."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        call = partial(fn, *args, **kwargs)
        threading.Thread(target=_run, args=(future, call), daemon=True, name="greval-method").start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - theirs
        """Do nothing: there is no pool, and nobody waits for a call that hangs."""


def _run(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        given = call()
    except StopIteration as error:  # asyncio refuses it, and the waiting call would never end
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
        future.set_exception(error)
    else:
        future.set_result(given)
