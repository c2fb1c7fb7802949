"""What a method under test is: an asynchronous function from a sample to its response."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from greval.records.case import Response, Sample


@runtime_checkable
class Method(Protocol):
    """A retrieval method under test: an asynchronous function from a sample to its response.

    It raises if it cannot answer. The exception becomes the response's `error`, never an empty answer.

    A method may have an asynchronous function `prepare()`, which opens and loads what it needs. It is awaited before
    the first question, so that the latency of no question contains it.

    Example:
        >>> async def nothing_found(sample: Sample) -> Response:
        ...     return Response(answer="I do not know.", chunks=())
        >>> isinstance(nothing_found, Method)
        True
    """

    def __call__(self, sample: Sample, /) -> Awaitable[Response]:
        """Return what the method retrieved and answered, with its usage."""
        ...


async def prepare_method(method: object) -> None:
    """Await `prepare()` of a method that has it."""
    prepare = getattr(method, "prepare", None)
    if inspect.iscoroutinefunction(prepare):
        await prepare()
