"""The process of one run, `python -m greval.serve.jobs.child`: it judges, probes or aligns into the run's folder.

A process of its own bounds the memory of a run, and no computation of a run delays a request. The server sends the
order and grants the slots of calls (`greval.serve.jobs.messages`). If the server ends, also by `kill -9`, the run stops
in order, and the next server resumes it.
"""

from __future__ import annotations

import asyncio
import logging.config
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from greval._util.concurrency import run_in_background
from greval._util.files import write_atomically
from greval.analysis.duel.judging import DuelOptions, duel_async
from greval.datasets.file_identity import CaseSource
from greval.datasets.row_faults import RowFault
from greval.errors import GrevalError, StoppedError, StoreError
from greval.judging.model.failures import redact_secrets
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import hash_json
from greval.records.result import Result
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.judges import JudgeModel, choose_judges
from greval.runs.options import CallOptions, EvaluateOptions, get_total_concurrency
from greval.runs.progress import Progress
from greval.runs.store import Store, is_begun
from greval.runs.store.disk import SAME_COMMAND
from greval.runs.store.pages import list_methods
from greval.serve.call_limit import RequestedSlot
from greval.serve.jobs.messages import EXIT_UNWRITTEN, JobMessage, JobOrder, ServerLink, ServerMessage
from greval.serve.jobs.queue import (
    ACTIVE,
    CANCEL_FILE,
    CANCELLED,
    RESULT_FILES,
    AlignRequest,
    DuelRequest,
    JobSpec,
    JobState,
    JobStatus,
    JudgingRequest,
    ProbeRequest,
    RunRequest,
    read_job_spec,
    read_job_state,
    write_job_state,
)
from greval.serve.jobs.requests import open_source
from greval.serve.jobs.run_progress import add_leg, read_earlier_progress, read_staged_progress
from greval.serve.logs import LOGGING
from greval.serve.prometheus import count_results
from greval.serve.service import Tenant, open_service
from greval.serve.settings import MEGABYTE
from greval.serve.state.datasets import find_dataset, select_rows
from greval.serve.state.run_paths import dump_without_paths
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.serve.workers.child import limit_memory
from greval.trust.alignment.api import AlignOptions, align_async
from greval.trust.probing.api import probe_async
from greval.trust.probing.stages import ProbeOptions

SYNC_SECONDS = 0.5
"""The interval in seconds at which progress is written and results are counted."""
NICENESS = 5
"""The priority of runs is lower than that of requests."""
OUT_OF_MEMORY = "it needed more than the {size:,} MB of memory that a run may use (--run-memory)"
log = logging.getLogger(__name__)


class RunJob:
    """The run of this process."""

    def __init__(self, order: JobOrder, spec: JobSpec, link: ServerLink) -> None:
        self._order = order
        self._spec = spec
        self._link = link
        self._folder = order.folder
        self._tenant = Tenant(spec.tenant, order.folder.parent)
        self._before = (read_job_state(order.folder) or JobState(status="queued")).progress
        self._leg: Progress | None = None
        self._started = time.monotonic()
        self._stopped = asyncio.Event()
        self._results: list[Result] = []

    def run_to_end(self) -> None:
        """Evaluate, and write how it ended."""
        write_job_state(self._folder, JobState(status="running", progress=self._progress))
        state = self._work_to_state()
        write_job_state(self._folder, state)
        if state.status not in ACTIVE:
            # Only now: until here the entry brings the run back if this process is killed.
            self._order.entry.unlink(missing_ok=True)

    def _work_to_state(self) -> JobState:
        """Do the work and return the end state; it is `queued` if the run is to be resumed."""
        try:
            why, fatal = asyncio.run(self._work())
        except GrevalError as error:
            return self._build_state("failed", str(error))
        except MemoryError:
            size = self._order.settings.limits.run_memory // MEGABYTE
            return self._build_state("failed", OUT_OF_MEMORY.format(size=size))
        except Exception:
            log.exception("run %s", self._spec.id)
            return self._build_state("failed", "an internal error of the server; see its log")
        if why is None:
            return self._build_state("finished")
        if self._stopped.is_set():
            # If nobody cancelled it, it gave way to another run or the server ends, and it stays in the queue.
            cancelled = (self._folder / CANCEL_FILE).exists()
            return self._build_state("stopped", CANCELLED) if cancelled else self._build_state("queued")
        return self._build_state("failed" if fatal else "stopped", why)

    def _build_state(self, status: JobStatus, why: str | None = None) -> JobState:
        # Clients have no command.
        reason = why and why.replace(f"{self._folder.parent}{os.sep}", "").replace(SAME_COMMAND, "resume the run")
        reason = reason and redact_secrets(reason)
        return JobState(status=status, why=reason, progress=self._progress, methods=self._read_methods())

    def _read_methods(self) -> tuple[str, ...] | None:
        if not is_begun(self._folder):
            return None
        try:
            with Store.open(self._folder) as store:
                return list_methods(store)
        except StoreError:
            # An unreadable log is why the run failed, and that is reported already.
            return None

    async def _work(self) -> tuple[str | None, bool]:
        """Do the work of the run; return why it stopped early, None if it did not, and whether it failed by that."""
        request, settings = self._spec.asked, self._order.settings
        service = open_service(settings)
        metrics = [service.library.restore(definition) for definition in self._spec.definitions]
        judges = service.choose_judges(metrics, self._spec.judge)
        distinct = [group.judge for group in choose_judges(metrics, None, judges).groups]
        width = get_total_concurrency(distinct, {"concurrency": request.concurrency})
        slot = RequestedSlot(width, self._request_slots)
        options: CallOptions = {
            "concurrency": request.concurrency,
            "gate": slot,
            "meter": get_tenant_quotas(service, self._tenant),
            "max_calls": request.max_calls,
            "max_cost": request.max_cost,
            "on_result": self._results.append,
        }
        if not isinstance(request, JudgingRequest):
            self._leg = self._read_stages()

        def receive(message: ServerMessage) -> None:
            for _ in range(message.granted):
                slot.grant()
            if message.stop:
                self._stopped.set()

        self._link.listen(receive)
        try:
            async with run_in_background(self._sync_progress()):
                match request:
                    case RunRequest() | DuelRequest():
                        return await self._judge(request, metrics, judges, options)
                    case ProbeRequest():
                        return await self._probe(request, metrics, judges, options), False
                    case AlignRequest():
                        writer = None if request.writer is None else service.find_judge(request.writer)
                        judge = judges[metrics[-1].name]
                        return await self._align(request, metrics[-1], judge, writer, options), False
        finally:
            self._send_counts()
            if not isinstance(request, JudgingRequest):
                self._leg = self._read_stages()

    async def _judge(
        self,
        request: RunRequest | DuelRequest,
        metrics: Sequence[Metric],
        judges: Mapping[str, JudgeModel],
        options: CallOptions,
    ) -> tuple[str | None, bool]:
        """Judge the cases of a run, or the pairs of a duel."""
        self._before = read_earlier_progress(self._folder, self._before)
        run_options: EvaluateOptions = {
            **request.build_config().list_options(),
            **options,
            "judges": judges,
            "asked": request.metrics,
            "on_progress": self._set_leg,
            # The run's folder stores them, and its report shows them.
            "on_unread": lambda _: None,
        }
        if isinstance(request, DuelRequest):
            run = await self._duel(request, metrics, run_options)
        else:
            run = await self._evaluate(request, metrics, run_options)
        self._leg = run.progress
        return run.why, run.fatal

    async def _evaluate(self, request: RunRequest, metrics: Sequence[Metric], options: EvaluateOptions) -> Run:
        def read_rows() -> Iterator[Case | RowFault]:
            return select_rows(self._open_source(), request.sample_ids, request.limit)

        cases = find_dataset(self._tenant, request.dataset).cases
        chosen = "" if request.sample_ids is None else hash_json([*sorted(request.sample_ids)])
        options = {
            **options,
            # Only reading the rows tells which of them belong to the chosen samples.
            "total": sum(1 for _ in read_rows()) if chosen else min(cases, request.limit or cases),
            "origin": CaseSource(label=request.dataset, digest=f"{request.dataset} {request.limit} {chosen}".rstrip()),
        }
        return await evaluate_async(read_rows(), metrics, out=self._folder, stop=self._stopped, **options)

    async def _duel(self, request: DuelRequest, metrics: Sequence[Metric], options: EvaluateOptions) -> Run:
        duel_options: DuelOptions = {
            **options,
            "methods": request.methods,
            "limit": request.limit,
            "out": self._folder,
        }
        return await duel_async(self._open_source(), metrics, stop=self._stopped, **duel_options)

    async def _probe(
        self, request: ProbeRequest, metrics: Sequence[Metric], judges: Mapping[str, JudgeModel], options: CallOptions
    ) -> str | None:
        *built_on, metric = metrics
        probe_options: ProbeOptions = {
            **request.list_options(),
            **options,
            "judges": judges,
            "out": self._folder,
            "built_on": built_on,
        }
        probe = await probe_async(metric, None, self._open_source(), stop=self._stopped, **probe_options)
        write_atomically(self._folder / RESULT_FILES["probe"], dump_without_paths(probe, self._folder))
        return probe.why

    async def _align(
        self,
        request: AlignRequest,
        metric: Metric,
        judge: JudgeModel,
        writer: JudgeModel | None,
        options: CallOptions,
    ) -> str | None:
        """Align a metric; a stopped alignment has no result."""
        run = self._folder.parent / request.run
        align_options: AlignOptions = {**request.list_options(), **options, "writer": writer, "work": self._folder}
        try:
            alignment = await align_async(run, metric, judge, stop=self._stopped, **align_options)
        except StoppedError as error:
            return str(error)
        write_atomically(self._folder / RESULT_FILES["alignment"], dump_without_paths(alignment, self._folder, run))
        return None

    def _open_source(self) -> Any:  # noqa: ANN401 - the kind of job knows whether it is a run, cases or None
        return open_source(self._tenant, self._spec, self._order.settings.limits)

    def _read_stages(self) -> Progress:
        """Return the progress of a probe or an alignment, over all legs."""
        earlier_seconds = self._before.seconds if self._before else 0.0
        return read_staged_progress(self._folder, earlier_seconds + time.monotonic() - self._started)

    def _request_slots(self, requested: int, returned: int) -> None:
        self._link.send(JobMessage(asked=requested, returned=returned))

    @property
    def _progress(self) -> Progress | None:
        """The progress over all legs; None if nothing has begun."""
        if self._leg is None or not isinstance(self._spec.asked, JudgingRequest):
            return self._leg or self._before
        return add_leg(self._before or Progress(), self._leg)

    def _set_leg(self, progress: Progress) -> None:
        self._leg = progress

    async def _sync_progress(self) -> None:
        """Write the progress for the server's processes, and send them counts of the new results."""
        written = None
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            if self._results and not isinstance(self._spec.asked, JudgingRequest):
                self._leg = await asyncio.to_thread(self._read_stages)
            self._send_counts()
            if self._leg is not written:
                written = self._leg
                state = JobState(status="running", progress=self._progress)
                try:
                    await asyncio.to_thread(write_job_state, self._folder, state)
                except OSError as error:
                    # The disk is full, or the folder is gone: further replies could be lost.
                    log.warning("run %s: stopped, as its progress cannot be written: %s", self._spec.id, error)
                    self._stopped.set()
                    return

    def _send_counts(self) -> None:
        if self._results:
            self._link.send(JobMessage(counts=count_results(self._results)))
            self._results.clear()


def main() -> int:
    """Work on the run of the order, and return the exit code."""
    link = ServerLink()
    order = link.read_order()
    spec = read_job_spec(order.folder) if order else None
    if order is None or spec is None:
        return 0
    logging.config.dictConfig(LOGGING)
    # A process that a metric starts must not keep the run locked.
    os.set_inheritable(order.lock, False)  # noqa: FBT003 - its only form
    os.nice(NICENESS)
    limit_memory(order.settings.limits.run_memory)
    try:
        RunJob(order, spec, link).run_to_end()
    except OSError:
        log.exception("run %s: its end could not be written", spec.id)
        return EXIT_UNWRITTEN
    finally:
        # The end of the process takes a while, and the run may be resumed at once.
        os.close(order.lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
