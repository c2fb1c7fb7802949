"""The job manager of a server process: it starts queued jobs in turns of tenants, also those of killed processes.

The queue and the runs are folders, so several processes share them. The next process that reads the queue resumes
the jobs of a killed one.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from greval._util.files import is_locked
from greval.serve.jobs.info import RunWatch
from greval.serve.jobs.job import RunningJob
from greval.serve.jobs.messages import EXIT_UNWRITTEN
from greval.serve.jobs.queue import (
    ACTIVE,
    CANCEL_FILE,
    CANCELLED,
    LOCK_FILE,
    JobLock,
    JobQueue,
    JobState,
    JobStatus,
    QueueEntry,
    read_job_head,
    read_job_state,
    write_job_state,
)
from greval.serve.problems import ServeError
from greval.serve.service import Service
from greval.serve.state.whole_folders import remove_leftovers

MAX_DEATHS = 5
"""The number of times in a row that the process of a run may die without progress before the run has failed."""
POLL_SECONDS = 1.0
GRACE_SECONDS = 2 * POLL_SECONDS
"""The seconds after which no other process of the server has room for a run that waits."""
MAX_JOBS = 4
"""The most runs of a server process at once; their calls share one limit regardless of their number."""
MAX_TENANT_JOBS = 2
"""The most of them that belong to one tenant."""
TURN_SECONDS = 30.0
"""The seconds after which a tenant's only run gives way to a tenant that has none."""
UNWRITTEN = "its folder could not be written, as on a full disk; make room, and resume it"
RELEASE_ATTEMPTS = 100
RELEASE_SECONDS = 0.02
"""The seconds between attempts to lock a run whose process is about to end."""
log = logging.getLogger(__name__)


class JobManager:
    """The jobs that this process runs."""

    def __init__(self, service: Service) -> None:
        self.queue = JobQueue(service.settings.runs)
        self.watch = RunWatch()
        self._service = service
        self._jobs: dict[Path, RunningJob] = {}
        self._ends: set[asyncio.Task[None]] = set()
        self._turns: dict[Path, float] = {}
        self._deaths: Counter[Path] = Counter()
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
        self._service.stopping.set()
        self.wake()
        if self._poll_task:
            await asyncio.wait({self._poll_task})
        if self._ends:
            await asyncio.wait([*self._ends])

    def wake(self) -> None:
        """Check the queue now, because it changed."""
        self._woken.set()

    async def lock_ended_run(self, folder: Path, why: str) -> JobLock:
        """Lock a run that has ended, or raise `ServeError` (409) at once; `why` says what its work prevents.

        Only the process of a run that has just ended here is waited for, and no thread waits meanwhile.
        """
        for _ in range(RELEASE_ATTEMPTS):
            if lock := JobLock.try_acquire(folder):
                return lock
            state = await asyncio.to_thread(read_job_state, folder)
            if folder not in self._jobs or state is None or state.status in ACTIVE:
                break
            await asyncio.sleep(RELEASE_SECONDS)
        raise ServeError("run_active", f"run {folder.name!r}: {why}")

    def cancel(self, folder: Path) -> None:
        """Cancel a run, whichever process works on it."""
        (folder / CANCEL_FILE).touch()
        self.wake()

    async def _poll_queue(self) -> None:
        while not self._service.stopping.is_set():
            # Before the queue is read, so that no change is missed meanwhile.
            self._woken.clear()
            try:
                await self._start_due_jobs()
            except Exception:
                log.exception("the queue of runs could not be read")
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._woken.wait()
        for job in self._jobs.values():
            job.close()

    async def _start_due_jobs(self) -> None:
        """Start the runs whose turn it is, and let a run give way if a tenant with none waits."""
        entries = {entry.folder: entry for entry in await asyncio.to_thread(self.queue.list_entries)}
        for entry in entries.values():
            if (entry.folder / CANCEL_FILE).exists():
                if job := self._jobs.get(entry.folder):
                    job.stop()
                else:
                    await self._start_job(entry)
        candidates = [folder for folder in entries if folder not in self._jobs]
        elsewhere = await asyncio.to_thread(lambda: {folder for folder in candidates if is_locked(folder / LOCK_FILE)})
        waiting = [folder for folder in candidates if folder not in elsewhere]
        while folder := choose_next_run(waiting, self._jobs, elsewhere, self._turns):
            if self._service.stopping.is_set():
                return
            waiting.remove(folder)
            await self._start_job(entries[folder])
        # Not at once: another process of the server may have room.
        earliest = time.time() - GRACE_SECONDS
        self._make_room([folder for folder in waiting if entries[folder].created <= earliest], elsewhere)

    def _make_room(self, waiting: Sequence[Path], elsewhere: Collection[Path]) -> None:
        """Stop a run if a tenant without any waits; it is queued at its place, and resumed at no cost."""
        now = asyncio.get_running_loop().time()
        run_seconds = {folder: now - job.started for folder, job in self._jobs.items()}
        stopping = [folder for folder, job in self._jobs.items() if job.stopping]
        if folder := choose_run_to_stop(waiting, run_seconds, stopping, elsewhere):
            log.info("run %s: gives way to a run of another tenant", folder.name)
            self._jobs[folder].stop()

    async def _start_job(self, entry: QueueEntry) -> None:
        """Start a job, unless another process runs it or has finished it."""
        head = await asyncio.to_thread(read_job_head, entry.folder)
        lock = await asyncio.to_thread(JobLock.try_acquire, entry.folder) if head else None
        if head is None or lock is None:
            return
        # Checked under the lock: another process may just have finished it.
        if not await asyncio.to_thread(_is_still_due, entry):
            lock.close()
            return
        try:
            job = await RunningJob.start(entry, head, lock, self._service)
        except Exception:
            log.exception("run %s: its process could not be started; it stays in the queue", entry.folder.name)
            return
        self._jobs[entry.folder] = job
        self._turns[entry.folder.parent] = job.started
        task = asyncio.create_task(self._serve_job(job, entry))
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)

    async def _serve_job(self, job: RunningJob, entry: QueueEntry) -> None:
        judged_before = await asyncio.to_thread(_count_judged, entry.folder)
        try:
            code = await job.serve_to_end()
            if code == EXIT_UNWRITTEN:
                await end_unwritten_run(entry, self._service.stopping)
            elif code and not job.stopping:
                await self._note_death(entry, judged_before, code)
        except Exception:
            log.exception("run %s: its process could not be served", entry.folder.name)
        finally:
            del self._jobs[entry.folder]
            self.wake()

    async def _note_death(self, entry: QueueEntry, judged_before: int, code: int) -> None:
        """Note that the process of a run died; after several deaths without progress the run has failed."""
        end = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        log.warning("run %s: its process died (%s)", entry.folder.name, end)
        if await asyncio.to_thread(_count_judged, entry.folder) > judged_before:
            self._deaths.pop(entry.folder, None)
        self._deaths[entry.folder] += 1
        if self._deaths[entry.folder] >= MAX_DEATHS:
            why = f"its process died {MAX_DEATHS} times without a further result, the last time with {end}"
            await asyncio.to_thread(_end_job, entry, "failed", why)
            del self._deaths[entry.folder]


async def end_unwritten_run(entry: QueueEntry, stopping: asyncio.Event) -> None:
    """Write that a run has stopped whose process could not write its end, as soon as that is possible.

    It keeps its place meanwhile: started again and again, it would pay for the same calls.
    """
    while not stopping.is_set():
        try:
            await asyncio.to_thread(_end_job, entry, "stopped", UNWRITTEN)
        except OSError:
            await asyncio.sleep(POLL_SECONDS)
        else:
            return


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


def _end_job(entry: QueueEntry, status: JobStatus, why: str) -> None:
    """Write that a job has ended, unless another process works on it."""
    if lock := JobLock.try_acquire(entry.folder):
        with lock:
            if _is_still_due(entry):
                state = read_job_state(entry.folder) or JobState(status="running")
                write_job_state(entry.folder, state.model_copy(update={"status": status, "why": why}))
                entry.path.unlink(missing_ok=True)


def _count_judged(folder: Path) -> int:
    """Return the number of judgements in the state of a run."""
    state = read_job_state(folder)
    return state.progress.done if state and state.progress else 0


def choose_next_run(
    waiting: Sequence[Path], local: Collection[Path], elsewhere: Collection[Path], turns: Mapping[Path, float]
) -> Path | None:
    """Return the folder of the run to start, or None if no run waits or no place is free.

    The tenant with the fewest runs at work comes first, then the one whose last turn was longest ago, then the run that
    was requested first. `local` are the runs of this process, `elsewhere` those of others, and `turns` says when a run
    of a tenant was last started here, by the tenant's folder.
    """
    if len(local) >= MAX_JOBS:
        return None
    local_counts = Counter(folder.parent for folder in local)
    counts = local_counts + Counter(folder.parent for folder in elsewhere)
    ready = [folder for folder in waiting if local_counts[folder.parent] < MAX_TENANT_JOBS]
    return min(ready, key=lambda folder: (counts[folder.parent], turns.get(folder.parent, 0.0)), default=None)


def choose_run_to_stop(
    waiting: Sequence[Path], local: Mapping[Path, float], stopping: Collection[Path], elsewhere: Collection[Path]
) -> Path | None:
    """Return the folder of the run that is to give way to a tenant without a run, or None if none has to.

    It is that of the tenant with the most runs at work, and of these the one that has run longest. A tenant's only run
    gives way after a turn of some time. `local` says for how many seconds the runs of this process have run.
    """
    counts = Counter(folder.parent for folder in (*local, *elsewhere) if folder not in stopping)
    without_run = {folder.parent for folder in waiting if not counts[folder.parent]}
    if len(local) < MAX_JOBS or len(stopping) >= len(without_run):
        return None
    ready = [
        folder
        for folder, seconds in local.items()
        if folder not in stopping and (counts[folder.parent] > 1 or seconds >= TURN_SECONDS)
    ]
    return max(ready, key=lambda folder: (counts[folder.parent], local[folder]), default=None)
