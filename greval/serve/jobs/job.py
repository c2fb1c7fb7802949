"""Executes one job in a thread of its own; progress goes to its folder, and it can be cancelled."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from greval._util.concurrency import beside
from greval.datasets.file_identity import Source
from greval.errors import GrevalError, StoreError
from greval.judging.model.failures import redacted
from greval.metrics.library import load
from greval.records.metric import Metric, define
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.options import Options, width_of
from greval.runs.progress import Progress
from greval.runs.store import FILE
from greval.runs.store.pages import Pages
from greval.serve.jobs.queue import CANCEL, Claim, Entry, put_state, state_of
from greval.serve.jobs.records import ACTIVE, Order, State, Status
from greval.serve.jobs.thread_slot import FarLane
from greval.serve.state.uploads import Uploads

if TYPE_CHECKING:
    from greval.serve.service import Service, Tenant

BEAT = 0.5
"""The interval in seconds at which cancellation is checked and progress is written."""
CANCELLED = "it was cancelled"
log = logging.getLogger(__name__)


class Going:
    """A running job; create it in the server's event loop.

    Args:
        entry: Its queue entry, which is removed when the job ends.
        order: The specification of the job.
        claim: The lock of the run, released at the end.
        service: The shared state of the server.
        tenant: The owner of the run.
    """

    def __init__(self, entry: Entry, order: Order, claim: Claim, service: Service, tenant: Tenant) -> None:
        """Store the arguments; nothing starts yet."""
        self.folder = entry.folder
        self.order = order
        self.progress = (state_of(self.folder) or State(status="queued")).progress
        self.written = False
        self._entry = entry
        self._claim = claim
        self._service = service
        self._tenant = tenant
        self._home = asyncio.get_running_loop()
        self._wishes = _Wishes()

    def stop(self, *, cancel: bool) -> None:
        """Stop making calls; calls in flight are finished. A cancelled job is not resumed by the next server start."""
        self._wishes.stop(cancel=cancel)

    def start(self) -> asyncio.Future[None]:
        """Start the job; the future is done once everything is written, or could not be (`written`)."""
        done: asyncio.Future[None] = self._home.create_future()

        def work() -> None:
            try:
                self._work()
            except Exception:
                log.exception("run %s: its end could not be written down", self.order.id)
            finally:
                self._home.call_soon_threadsafe(_settle, done)

        threading.Thread(target=work, name=f"run-{self.order.id}", daemon=True).start()
        return done

    def _work(self) -> None:
        with self._claim:
            put_state(self.folder, State(status="running", progress=self.progress))
            state = self._ended()
            put_state(self.folder, state)
            if state.status not in ACTIVE:
                self._entry.path.unlink(missing_ok=True)
            self.written = True

    def _ended(self) -> State:
        """Run the evaluation and return the end state; it is `queued` if the next server start is to resume the job."""
        try:
            run = asyncio.run(self._judge())
        except GrevalError as error:
            return self._state("failed", str(error))
        except Exception:
            log.exception("run %s", self.order.id)
            return self._state("failed", "the server had an error of its own; its log tells more")
        if run.why is None:
            return self._state("finished")
        if self._wishes.cancelled:
            return self._state("stopped", CANCELLED)
        if self._wishes.stopped:
            return self._state("queued")
        return self._state("failed" if run.fatal else "stopped", run.why)

    def _state(self, status: Status, why: str | None = None) -> State:
        told = why and redacted(why.replace(str(self.folder), self.order.id))
        return State(status=status, why=told, progress=self.progress, methods=self._methods())

    def _methods(self) -> tuple[str, ...] | None:
        if not (self.folder / FILE).is_file():
            return None
        try:
            with Pages.open(self.folder) as pages:
                return pages.methods()
        except StoreError:  # an unreadable log is why the run failed, and that is reported already
            return None

    async def _judge(self) -> Run:
        asked = self.order.asked
        uploads = Uploads(self._tenant.datasets)
        cases = uploads.find(asked.dataset).cases
        judge = None if self.order.judge is None else self._service.model(self.order.judge)
        options: Options = {
            "concurrency": asked.concurrency,
            "repeats": asked.repeats,
            "max_calls": asked.max_calls,
            "max_cost": asked.max_cost,
            "total": min(cases, asked.limit or cases),
            "origin": Source(label=asked.dataset, digest=f"{asked.dataset} {asked.limit}"),
            "on_progress": self._note,
            "on_result": self._service.meters.judged,
            "on_unread": lambda _: None,  # the run's folder stores them, and its report shows them
        }
        options["gate"] = FarLane(self._service.lane(self._tenant), self._home, width_of(judge, options))
        metrics = [restored(one) for one in self.order.definitions]
        rows = islice(uploads.reading(asked.dataset), asked.limit)
        async with beside(self._beat()):
            return await evaluate_async(rows, metrics, judge, out=self.folder, stop=self._wishes.attach(), **options)

    def _note(self, progress: Progress) -> None:
        self.progress = progress

    async def _beat(self) -> None:
        """Write the progress for other processes, and check whether one of them cancelled the run."""
        told = None
        while True:
            await asyncio.sleep(BEAT)
            if (self.folder / CANCEL).exists():
                self.stop(cancel=True)
            if self.progress is not told:
                told = self.progress
                try:
                    await asyncio.to_thread(put_state, self.folder, State(status="running", progress=told))
                except OSError as error:  # the disk is full, or the folder is gone: further replies could be lost
                    log.warning("run %s: stopped, as its progress cannot be written: %s", self.order.id, error)
                    self.stop(cancel=False)
                    return


def restored(definition: object) -> Metric:
    """Build a metric from a job specification: from its definition, or from the name of a computed metric."""
    return define(definition) if isinstance(definition, dict) else load(str(definition))


class _Wishes:
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


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
