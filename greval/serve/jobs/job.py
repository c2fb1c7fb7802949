"""Executes one job in a thread of its own; progress goes to its folder, and it can be cancelled."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from greval._util.concurrency import run_in_background
from greval.datasets.file_identity import CaseSource
from greval.errors import GrevalError, StoreError
from greval.judging.model.failures import redact_secrets
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.judges import choose_judges
from greval.runs.options import EvaluateOptions, get_total_concurrency
from greval.runs.progress import Progress
from greval.runs.store import FILE
from greval.runs.store.pages import PageReader
from greval.serve.call_limit import ThreadSlot
from greval.serve.jobs.queue import (
    ACTIVE,
    CANCEL_FILE,
    JobLock,
    JobSpec,
    JobState,
    JobStatus,
    QueueEntry,
    read_job_state,
    write_job_state,
)
from greval.serve.state.uploads import Uploads

if TYPE_CHECKING:
    from greval.serve.service import Service, Tenant

SYNC_SECONDS = 0.5
"""The interval in seconds at which cancellation is checked and progress is written."""
CANCELLED = "it was cancelled"
log = logging.getLogger(__name__)


class RunJob:
    """A running job, created in the server's event loop; `claim` is the lock of the run, released at the end."""

    def __init__(self, entry: QueueEntry, spec: JobSpec, lock: JobLock, service: Service, tenant: Tenant) -> None:
        """Store the arguments; nothing starts yet."""
        self.folder = entry.folder
        self.spec = spec
        self.progress = (read_job_state(self.folder) or JobState(status="queued")).progress
        self.written = False
        self._entry = entry
        self._lock = lock
        self._service = service
        self._tenant = tenant
        self._server_loop = asyncio.get_running_loop()
        self._stop_request = _StopRequest()

    def stop(self, *, cancel: bool) -> None:
        """Stop making calls; calls in flight are finished. A cancelled job is not resumed by the next server start."""
        self._stop_request.stop(cancel=cancel)

    def start(self) -> asyncio.Future[None]:
        """Start the job; the future is done once everything is written, or could not be (`written`)."""
        done: asyncio.Future[None] = self._server_loop.create_future()

        def run_in_thread() -> None:
            try:
                self._run_to_end()
            except Exception:
                log.exception("run %s: its end could not be written down", self.spec.id)
            finally:
                self._server_loop.call_soon_threadsafe(_mark_done, done)

        threading.Thread(target=run_in_thread, name=f"run-{self.spec.id}", daemon=True).start()
        return done

    def _run_to_end(self) -> None:
        with self._lock:
            write_job_state(self.folder, JobState(status="running", progress=self.progress))
            state = self._evaluate_to_state()
            write_job_state(self.folder, state)
            if state.status not in ACTIVE:
                self._entry.path.unlink(missing_ok=True)
            self.written = True

    def _evaluate_to_state(self) -> JobState:
        """Run the evaluation and return the end state; it is `queued` if the next server start is to resume the job."""
        try:
            run = asyncio.run(self._evaluate())
        except GrevalError as error:
            return self._build_state("failed", str(error))
        except Exception:
            log.exception("run %s", self.spec.id)
            return self._build_state("failed", "an internal error of the server; see its log")
        if run.why is None:
            return self._build_state("finished")
        if self._stop_request.cancelled:
            return self._build_state("stopped", CANCELLED)
        if self._stop_request.stopped:
            return self._build_state("queued")
        return self._build_state("failed" if run.fatal else "stopped", run.why)

    def _build_state(self, status: JobStatus, why: str | None = None) -> JobState:
        reason = why and redact_secrets(why.replace(str(self.folder), self.spec.id))
        return JobState(status=status, why=reason, progress=self.progress, methods=self._read_methods())

    def _read_methods(self) -> tuple[str, ...] | None:
        if not (self.folder / FILE).is_file():
            return None
        try:
            with PageReader.open(self.folder) as pages:
                return pages.methods()
        except StoreError:  # an unreadable log is why the run failed, and that is reported already
            return None

    async def _evaluate(self) -> Run:
        request = self.spec.asked
        uploads = Uploads(self._tenant.datasets)
        cases = uploads.find(request.dataset).cases
        options: EvaluateOptions = {
            "concurrency": request.concurrency,
            "repeats": request.repeats,
            "max_calls": request.max_calls,
            "max_cost": request.max_cost,
            "total": min(cases, request.limit or cases),
            "origin": CaseSource(label=request.dataset, digest=f"{request.dataset} {request.limit}"),
            "on_progress": self._set_progress,
            "on_result": self._service.counters.count_result,
            "on_unread": lambda _: None,  # the run's folder stores them, and its report shows them
        }
        metrics = [self._service.library.restore(one) for one in self.spec.definitions]
        options["judges"] = self._service.choose_judges(metrics, self.spec.judge)
        distinct = [group.judge for group in choose_judges(metrics, None, options["judges"]).groups]
        width = get_total_concurrency(distinct, options)
        options["gate"] = ThreadSlot(self._service.get_call_slot(self._tenant), self._server_loop, width)
        rows = islice(uploads.open_cases(request.dataset), request.limit)
        async with run_in_background(self._sync_progress()):
            return await evaluate_async(rows, metrics, out=self.folder, stop=self._stop_request.attach(), **options)

    def _set_progress(self, progress: Progress) -> None:
        self.progress = progress

    async def _sync_progress(self) -> None:
        """Write the progress for other processes, and check whether one of them cancelled the run."""
        written = None
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            if (self.folder / CANCEL_FILE).exists():
                self.stop(cancel=True)
            if self.progress is not written:
                written = self.progress
                try:
                    await asyncio.to_thread(write_job_state, self.folder, JobState(status="running", progress=written))
                except OSError as error:  # the disk is full, or the folder is gone: further replies could be lost
                    log.warning("run %s: stopped, as its progress cannot be written: %s", self.spec.id, error)
                    self.stop(cancel=False)
                    return


class _StopRequest:
    """Stop and cancel requests from other threads."""

    def __init__(self) -> None:
        self.stopped = False
        self.cancelled = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event = asyncio.Event()

    def attach(self) -> asyncio.Event:
        """Return an event of the running loop that is set when the job is to stop."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
            if self.stopped:
                self._event.set()
        return self._event

    def stop(self, *, cancel: bool) -> None:
        with self._lock:
            self.stopped = True
            self.cancelled |= cancel
            if self._loop:
                with suppress(RuntimeError):  # the run ended meanwhile
                    self._loop.call_soon_threadsafe(self._event.set)


def _mark_done(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
