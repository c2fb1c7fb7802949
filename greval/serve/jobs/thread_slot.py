"""The server's limit of calls in flight, for a job that runs in an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager


class ThreadSlot:
    """A slot of a limit that belongs to the server's event loop, entered from the loop of another thread.

    A job has a thread and a loop of its own, so that reading cases, computing and writing delay no request.

    Args:
        slot: The context manager to enter in the server's loop.
        server_loop: The server's loop.
        max_calls: The most slots held from here at once.
    """

    def __init__(
        self, slot: AbstractAsyncContextManager[object], server_loop: asyncio.AbstractEventLoop, max_calls: int
    ) -> None:
        """Start with no slot held."""
        self._slot = slot
        self._server_loop = server_loop
        self._width = asyncio.Semaphore(max_calls)
        self._held: list[Future[None]] = []

    async def __aenter__(self) -> None:
        """Wait for a slot; if the wait is cancelled, none is taken."""
        await self._width.acquire()
        try:
            self._held.append(await self._wait_for_slot())
        except BaseException:
            self._width.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        """Release a slot; all slots of one tenant are interchangeable."""
        self._held.pop().cancel()
        self._width.release()

    async def _wait_for_slot(self) -> Future[None]:
        here = asyncio.get_running_loop()
        came: asyncio.Future[None] = here.create_future()

        def report(error: Exception | None) -> None:
            here.call_soon_threadsafe(_resolve_future, came, error)

        holding = asyncio.run_coroutine_threadsafe(self._hold_slot(report), self._server_loop)
        try:
            await came
        except asyncio.CancelledError:
            holding.cancel()
            raise
        return holding

    async def _hold_slot(self, report: Callable[[Exception | None], None]) -> None:
        """Hold the slot in the server's loop until this is cancelled: the limit may be used from that loop only."""
        try:
            async with self._slot:
                report(None)
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - any error must reach the waiting caller
            report(error)


def _resolve_future(came: asyncio.Future[None], error: Exception | None) -> None:
    if came.done():
        return
    if error is None:
        came.set_result(None)
    else:
        came.set_exception(error)
