"""A run of the server at work: in a thread of its own, its progress in its folder, stopped by a word."""

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
"""Seconds between two looks at whether the run was cancelled; as often its progress is written down."""
CANCELLED = "it was cancelled"
log = logging.getLogger(__name__)


class Going:
    """A run that is worked on; to be made in the server's event loop.

    Args:
        entry: Its place in the queue, which it leaves when it comes to an end.
        order: What was asked for.
        claim: The right to work on it, which is given back at the end.
        service: What the server shares.
        tenant: Whose it is.
    """

    def __init__(self, entry: Entry, order: Order, claim: Claim, service: Service, tenant: Tenant) -> None:
        """Begin nothing yet."""
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
        """Let no further call be made; what is in flight is finished. Cancelled, it does not go on by itself."""
        self._wishes.stop(cancel=cancel)

    def start(self) -> asyncio.Future[None]:
        """Begin; what is given is done once everything is written down, or could not be (`written`)."""
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
        """Judge, and say how it ended; it is queued where it goes on when the server is there again."""
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
        except StoreError:  # a log that cannot be read is why the run failed; that is what is to be told
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
            "on_unread": lambda _: None,  # the run's folder holds them, and its report tells them
        }
        options["gate"] = FarLane(self._service.lane(self._tenant), self._home, width_of(judge, options))
        metrics = [restored(one) for one in self.order.definitions]
        rows = islice(uploads.reading(asked.dataset), asked.limit)
        async with beside(self._beat()):
            return await evaluate_async(rows, metrics, judge, out=self.folder, stop=self._wishes.attach(), **options)

    def _note(self, progress: Progress) -> None:
        self.progress = progress

    async def _beat(self) -> None:
        """Write the progress down for other processes, and see whether one of them cancelled the run."""
        told = None
        while True:
            await asyncio.sleep(BEAT)
            if (self.folder / CANCEL).exists():
                self.stop(cancel=True)
            if self.progress is not told:
                told = self.progress
                try:
                    await asyncio.to_thread(put_state, self.folder, State(status="running", progress=told))
                except OSError as error:  # the disk is full, or the folder gone: what is asked now may be lost
                    log.warning("run %s: stopped, as its progress cannot be written: %s", self.order.id, error)
                    self.stop(cancel=False)
                    return


def restored(definition: object) -> Metric:
    """Give a metric as an order holds it: its definition, or the name of one that is computed."""
    return define(definition) if isinstance(definition, dict) else load(str(definition))


class _Wishes:
    """What is wished of a run from outside its thread."""

    def __init__(self) -> None:
        self.stopped = False
        self.cancelled = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event = asyncio.Event()

    def attach(self) -> asyncio.Event:
        """Give the event that is set in the running loop when the run is to stop."""
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
                with suppress(RuntimeError):  # the run came to its end meanwhile
                    self._loop.call_soon_threadsafe(self._event.set)


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
