"""An executor for blocking methods: one daemon thread per call, so that a hanging call does not block process exit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class ThreadPerCallExecutor(ThreadPoolExecutor):
    """An executor that runs each call in its own daemon thread.

    The default executor of an event loop has only a few threads, whatever concurrency is requested, and a call that
    hangs would keep the process from exiting.

    Example:
        >>> ThreadPerCallExecutor().submit(pow, 2, 10).result()
        1024
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start the call; its future cannot be cancelled, because a thread cannot be."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        call = partial(fn, *args, **kwargs)
        threading.Thread(target=_run_call, args=(future, call), daemon=True, name="greval-method").start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - the signature of the base class
        """Do nothing: there is no pool, and hanging calls are not waited for."""


def _run_call(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        given = call()
    except StopIteration as error:  # asyncio rejects it, and the awaiting call would never return
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    except BaseException as error:  # noqa: BLE001 - raised again to the awaiting call
        future.set_exception(error)
    else:
        future.set_result(given)
