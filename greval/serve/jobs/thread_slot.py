"""The server's limit of calls in flight, for a run that has an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager


class FarLane:
    """A lane of the server's loop, entered from the loop of another thread.

    A run has a thread and a loop of its own: reading cases, computing and writing down hold up no request.

    Args:
        lane: What is entered in the server's loop.
        home: The server's loop.
        width: How many at most are in it from here.
    """

    def __init__(self, lane: AbstractAsyncContextManager[object], home: asyncio.AbstractEventLoop, width: int) -> None:
        """Hold nothing."""
        self._lane = lane
        self._home = home
        self._width = asyncio.Semaphore(width)
        self._held: list[Future[None]] = []

    async def __aenter__(self) -> None:
        """Wait for a turn; who stops waiting takes none."""
        await self._width.acquire()
        try:
            self._held.append(await self._turn())
        except BaseException:
            self._width.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        """Give a turn back; those of one lane are all alike."""
        self._held.pop().cancel()
        self._width.release()

    async def _turn(self) -> Future[None]:
        here = asyncio.get_running_loop()
        came: asyncio.Future[None] = here.create_future()

        def tell(error: Exception | None) -> None:
            here.call_soon_threadsafe(_settle, came, error)

        holding = asyncio.run_coroutine_threadsafe(self._hold(tell), self._home)
        try:
            await came
        except asyncio.CancelledError:
            holding.cancel()
            raise
        return holding

    async def _hold(self, tell: Callable[[Exception | None], None]) -> None:
        """Be in the lane, in the server's loop, until this is cancelled: there only the lane knows whose turn it is."""
        try:
            async with self._lane:
                tell(None)
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - whatever it is, who waits must hear of it
            tell(error)


def _settle(came: asyncio.Future[None], error: Exception | None) -> None:
    if came.done():
        return
    if error is None:
        came.set_result(None)
    else:
        came.set_exception(error)
