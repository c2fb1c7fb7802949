"""Functions as methods: asynchronous ones are awaited, others run in a thread."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from greval.errors import MethodError
from greval.methods.responses import as_response
from greval.methods.threads import ThreadPerCallExecutor
from greval.records.case import Response, Sample

MAX_ABANDONED = 64
"""The maximum number of calls that timed out and still run in their threads, to bound the number of threads."""
EXECUTOR = ThreadPerCallExecutor()


class FunctionMethod:
    """A function, or any other callable, as a method.

    Args:
        function: Takes a sample and returns a `Response`, a mapping of its fields, or the answer as text.

    Example:
        >>> async def ask(sample):
        ...     return f"You asked: {sample.question}"
        >>> asyncio.run(FunctionMethod(ask)(Sample(question="Who?"))).answer
        'You asked: Who?'
    """

    def __init__(self, function: Callable[[Sample], Any]) -> None:
        self._function = function
        self._blocks = not (_is_async(function) or _is_async(getattr(function, "__call__", None)))  # noqa: B004
        self._abandoned: set[Future[Any]] = set()

    async def __call__(self, sample: Sample) -> Response:
        """Call the function.

        Raises:
            MethodError: If its result is not a response, or too many earlier calls of it hang.
        """
        given = await self._run_in_thread(sample) if self._blocks else self._function(sample)
        if inspect.isawaitable(given):
            given = await given
        return as_response(given)

    async def _run_in_thread(self, sample: Sample) -> object:
        if len(self._abandoned) >= MAX_ABANDONED:
            message = f"{len(self._abandoned)} earlier calls were given up and still run; mend the method, it hangs"
            raise MethodError(message)
        future = EXECUTOR.submit(copy_context().run, self._function, sample)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not future.done():
                self._abandoned.add(future)
                future.add_done_callback(self._abandoned.discard)
            raise


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function)
