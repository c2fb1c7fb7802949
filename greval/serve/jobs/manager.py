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

from greval.serve.jobs.job import CANCELLED, RunJob
from greval.serve.jobs.queue import (
    ACTIVE,
    CANCEL_FILE,
    JobLock,
    JobQueue,
    JobState,
    QueueEntry,
    read_job_spec,
    read_job_state,
    remove_leftovers,
    write_job_state,
)
from greval.serve.service import Service, Tenant

MAX_JOBS = 4
"""The most jobs of a process at once; their calls share one limit regardless of their number."""
MAX_TENANT_JOBS = 2
"""The most of them that belong to one tenant."""
POLL_SECONDS = 1.0
log = logging.getLogger(__name__)


class JobManager:
    """The jobs that this process runs."""

    def __init__(self, service: Service) -> None:
        """Start with no jobs."""
        self.queue = JobQueue(service.settings.runs)
        self._service = service
        self._jobs: dict[Path, RunJob] = {}
        self._ends: dict[Path, asyncio.Future[None]] = {}
        self._left: set[Path] = set()
        self._closing = False
        self._woken = asyncio.Event()
        self._poll_task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start with the queued and the interrupted jobs."""
        await asyncio.to_thread(remove_leftovers, self._service.settings.runs)
        self._poll_task = asyncio.create_task(self._poll_queue())

    async def close(self) -> None:
        """Start no further job, and wait until calls in flight are finished and stored.

        The next start of the server resumes the jobs.
        """
        self._closing = True
        self.wake()
        if self._poll_task:
            await asyncio.wait({self._poll_task})
        for job in self._jobs.values():
            job.stop(cancel=False)
        if self._ends:
            await asyncio.wait([*self._ends.values()])

    def find_job(self, folder: Path) -> RunJob | None:
        """Return the job of a run, or None if this process does not run it."""
        return self._jobs.get(folder)

    def wake(self) -> None:
        """Check the queue now, because it changed."""
        self._woken.set()

    def cancel(self, folder: Path) -> None:
        """Cancel a run, whichever process works on it."""
        (folder / CANCEL_FILE).touch()
        if job := self._jobs.get(folder):
            job.stop(cancel=True)
        self.wake()

    async def _poll_queue(self) -> None:
        while not self._closing:
            self._woken.clear()
            try:
                await self._start_due_jobs()
            except Exception:
                log.exception("the queue of runs could not be read")
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._woken.wait()

    async def _start_due_jobs(self) -> None:
        for entry in await asyncio.to_thread(self.queue.list_entries):
            if entry.folder in self._jobs or self._closing:
                continue
            cancelled = (entry.folder / CANCEL_FILE).exists()
            if cancelled or (entry.folder not in self._left and self._has_capacity(entry.folder.parent)):
                await self._start_job(entry)

    def _has_capacity(self, runs: Path) -> bool:
        of_tenant = sum(folder.parent == runs for folder in self._jobs)
        return len(self._jobs) < MAX_JOBS and of_tenant < MAX_TENANT_JOBS

    async def _start_job(self, entry: QueueEntry) -> None:
        """Start a job, unless another process runs it or has finished it."""
        spec = await asyncio.to_thread(read_job_spec, entry.folder)
        lock = await asyncio.to_thread(JobLock.try_acquire, entry.folder) if spec else None
        if spec is None or lock is None:
            return
        if not await asyncio.to_thread(_is_still_due, entry):
            lock.close()
            return
        job = RunJob(entry, spec, lock, self._service, Tenant(spec.tenant, entry.folder.parent))
        self._jobs[entry.folder] = job
        end = self._ends[entry.folder] = job.start()
        end.add_done_callback(partial(self._remove_job, job))

    def _remove_job(self, job: RunJob, _: asyncio.Future[None]) -> None:
        del self._jobs[job.folder], self._ends[job.folder]
        if not job.written:  # as on a full disk: starting again and again would pay for the same calls
            self._left.add(job.folder)
        self.wake()


def _is_still_due(entry: QueueEntry) -> bool:
    """Return whether a locked job is still to be run; a cancelled or ended one is removed from the queue."""
    if not entry.path.exists():
        return False
    state = read_job_state(entry.folder) or JobState(status="queued")
    if state.status in ACTIVE and not (entry.folder / CANCEL_FILE).exists():
        return True
    if state.status in ACTIVE:
        write_job_state(entry.folder, JobState(status="stopped", why=CANCELLED, progress=state.progress))
    entry.path.unlink(missing_ok=True)
    return False
