"""Functions as methods: asynchronous ones are awaited, others run each in a daemon thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from greval._util.concurrency import count_as_waiting, count_as_work
from greval.errors import MethodError
from greval.methods.protocol import prepare_method
from greval.methods.responses import as_response
from greval.records.case import Response, Sample

P = ParamSpec("P")
T = TypeVar("T")


class ThreadPerCallExecutor(ThreadPoolExecutor):
    """An executor that runs each call in its own daemon thread.

    The default executor of an event loop has only a few threads, whatever concurrency is requested, and a call that
    hangs would keep the process from exiting.
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


@contextmanager
def use_thread_per_call() -> Iterator[None]:
    """Run each blocking call of the running event loop in its own thread within the `with` block.

    With the few threads of the default executor, synchronous parts of LangChain would wait for one another.
    """
    loop = asyncio.get_running_loop()
    # There is no public way to read it.
    previous = getattr(loop, "_default_executor", None)
    loop.set_default_executor(EXECUTOR)
    try:
        yield
    finally:
        if previous is not None:
            loop.set_default_executor(previous)


def _run_call(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        result = call()
    except StopIteration as error:
        # asyncio rejects it, and the awaiting call would never return.
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    except BaseException as error:  # noqa: BLE001 - raised again to the awaiting call
        future.set_exception(error)
    else:
        future.set_result(result)


MAX_ABANDONED = 64
"""The maximum number of calls that timed out and still run in their threads, to bound the number of threads."""
EXECUTOR = ThreadPerCallExecutor()


class FunctionMethod:
    """A function, or any other callable, as a method."""

    def __init__(self, function: Callable[[Sample], Any]) -> None:
        self._function = function
        self._blocks = not (_is_async(function) or _is_async(getattr(function, "__call__", None)))  # noqa: B004
        self._abandoned: set[Future[Any]] = set()

    async def __call__(self, sample: Sample) -> Response:
        """Call the function."""
        result = await self._run_in_thread(sample) if self._blocks else self._function(sample)
        if inspect.isawaitable(result):
            result = await result
        return as_response(result)

    async def prepare(self) -> None:
        """Let a callable object that has `prepare()` open what it needs."""
        await prepare_method(self._function)

    async def _run_in_thread(self, sample: Sample) -> object:
        if len(self._abandoned) >= MAX_ABANDONED:
            raise MethodError(
                f"{len(self._abandoned)} earlier calls were given up and still run; fix the method, which hangs"
            )
        # The clock of the call is a context variable, which a new thread does not have.
        future = EXECUTOR.submit(copy_context().run, self._call_function, sample)
        try:
            # For the thread to start, and at the end for the event loop.
            with count_as_waiting():
                return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not future.done():
                self._abandoned.add(future)
                future.add_done_callback(self._abandoned.discard)
            raise

    def _call_function(self, sample: Sample) -> object:
        with count_as_work():
            return self._function(sample)


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function)
