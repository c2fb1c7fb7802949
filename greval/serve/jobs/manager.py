"""The job manager of a server process: it starts queued jobs in order, including those of killed processes.

The queue and the runs are folders, so several processes share them. The next process that reads the queue resumes
the jobs of a killed one.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from pathlib import Path

from greval.serve.jobs.job import CANCELLED, Going
from greval.serve.jobs.queue import CANCEL, Claim, Entry, Queue, order_of, put_state, state_of, tidy
from greval.serve.jobs.records import ACTIVE, State
from greval.serve.service import Service, Tenant

AT_ONCE = 4
"""The most jobs of a process at once; their calls share one limit regardless of their number."""
AT_ONCE_EACH = 2
"""The most of them that belong to one tenant."""
SWEEP_SECONDS = 1.0
log = logging.getLogger(__name__)


class Runs:
    """The jobs that this process runs.

    Args:
        service: The shared state of the server.
    """

    def __init__(self, service: Service) -> None:
        """Start with no jobs."""
        self.queue = Queue(service.settings.runs)
        self._service = service
        self._going: dict[Path, Going] = {}
        self._ends: dict[Path, asyncio.Future[None]] = {}
        self._left: set[Path] = set()
        self._closing = False
        self._poked = asyncio.Event()
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start with the queued and the interrupted jobs."""
        await asyncio.to_thread(tidy, self._service.settings.runs)
        self._sweeper = asyncio.create_task(self._sweeping())

    async def close(self) -> None:
        """Start no further job, and wait until calls in flight are finished and stored.

        The next start of the server resumes the jobs.
        """
        self._closing = True
        self.poke()
        if self._sweeper:
            await asyncio.wait({self._sweeper})
        for going in self._going.values():
            going.stop(cancel=False)
        if self._ends:
            await asyncio.wait([*self._ends.values()])

    def going(self, folder: Path) -> Going | None:
        """Return the job of a run, or None if this process does not run it."""
        return self._going.get(folder)

    def poke(self) -> None:
        """Check the queue now, because it changed."""
        self._poked.set()

    def cancel(self, folder: Path) -> None:
        """Cancel a run, whichever process works on it."""
        (folder / CANCEL).touch()
        if going := self._going.get(folder):
            going.stop(cancel=True)
        self.poke()

    async def _sweeping(self) -> None:
        while not self._closing:
            self._poked.clear()
            try:
                await self._sweep()
            except Exception:
                log.exception("the queue of runs could not be read")
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._poked.wait()

    async def _sweep(self) -> None:
        for entry in await asyncio.to_thread(self.queue.entries):
            if entry.folder in self._going or self._closing:
                continue
            cancelled = (entry.folder / CANCEL).exists()
            if cancelled or (entry.folder not in self._left and self._has_room(entry.folder.parent)):
                await self._take(entry)

    def _has_room(self, runs: Path) -> bool:
        of_tenant = sum(folder.parent == runs for folder in self._going)
        return len(self._going) < AT_ONCE and of_tenant < AT_ONCE_EACH

    async def _take(self, entry: Entry) -> None:
        """Start a job, unless another process runs it or has finished it."""
        order = await asyncio.to_thread(order_of, entry.folder)
        claim = await asyncio.to_thread(Claim.take, entry.folder) if order else None
        if order is None or claim is None:
            return
        if not await asyncio.to_thread(_still_due, entry):
            claim.close()
            return
        going = Going(entry, order, claim, self._service, Tenant(order.tenant, entry.folder.parent))
        self._going[entry.folder] = going
        end = self._ends[entry.folder] = going.start()
        end.add_done_callback(partial(self._forget, going))

    def _forget(self, going: Going, _: asyncio.Future[None]) -> None:
        del self._going[going.folder], self._ends[going.folder]
        if not going.written:  # as on a full disk: starting again and again would pay for the same calls
            self._left.add(going.folder)
        self.poke()


def _still_due(entry: Entry) -> bool:
    """Return whether a locked job is still to be run; a cancelled or ended one is removed from the queue."""
    if not entry.path.exists():
        return False
    state = state_of(entry.folder) or State(status="queued")
    if state.status in ACTIVE and not (entry.folder / CANCEL).exists():
        return True
    if state.status in ACTIVE:
        put_state(entry.folder, State(status="stopped", why=CANCELLED, progress=state.progress))
    entry.path.unlink(missing_ok=True)
    return False
