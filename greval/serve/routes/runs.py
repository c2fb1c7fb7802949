"""Routes of runs: start, follow, read, cancel, resume."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, cast

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import JsonValue

from greval.records.record import Record
from greval.serve.child_routes import in_child
from greval.serve.ids import build_not_found_error
from greval.serve.jobs.idempotency import hold_key
from greval.serve.jobs.info import RunFolder, list_run_folders, read_run_info, stream_events
from greval.serve.jobs.manager import JobManager
from greval.serve.jobs.queue import (
    ACTIVE,
    JobQueue,
    JobRequest,
    JobSpec,
    JudgingRequest,
    ResumeRequest,
    RunInfo,
    RunRequest,
    is_run_folder,
    read_job_head,
)
from greval.serve.jobs.requests import build_job_spec, check_job, enqueue_job, resume_job
from greval.serve.problems import ServeError, describe_errors, report_full_disk
from greval.serve.schemas.cursors import Cursor, Limit, decode_named_cursor, encode_cursor
from greval.serve.service import Service, Tenant, TheService, TheTasks, TheTenant, open_service
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_runner import TheTenantMetrics
from greval.serve.state.whole_folders import create_folder, remove_folder
from greval.serve.tenant_quotas import TenantQuotas, get_tenant_quotas
from greval.serve.workers.pool import TaskLimitError


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run jobs as long as the server runs."""
    service: Service = app.state.service
    runs = app.state.runs = JobManager(service)
    await runs.start()
    yield
    await runs.close()


router = APIRouter(prefix="/v1/runs", tags=["runs"], lifespan=_lifespan)

EXAMPLE_RUN = "example-ferries"
"""The id of the example run among the runs of each client."""


class RunList(Record):
    """Runs, newest first; `next` is the cursor of the next page, null on the last one."""

    runs: tuple[RunInfo, ...]
    next: str | None


def get_job_manager(request: Request) -> JobManager:
    """Return the job manager of this process."""
    return cast("JobManager", request.app.state.runs)


IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=255, description="a new random text for each run, the same for each attempt"),
]
TheJobManager = Annotated[JobManager, Depends(get_job_manager)]


@dataclass
class JobStarter:
    """Starts jobs of a client, each once for the same `Idempotency-Key`."""

    response: Response
    tasks: TheTasks
    tenant_metrics: TheTenantMetrics
    runs: TheJobManager
    idempotency_key: IdempotencyKey = None

    async def start(self, body: JobRequest) -> RunInfo:
        """Check a request, queue the job, and return it."""
        names = [*body.metrics] if isinstance(body, JudgingRequest) else [body.metric]
        metrics = await self.tenant_metrics.look_up(self.tenant_metrics.find_metrics, names, body.reason_depth)
        spec = await self.tasks.run_in_thread(build_job_spec, self.tasks.service, self.tasks.tenant, body, metrics)
        # The job may take longer to find out.
        with suppress(TaskLimitError):
            await self.tasks.run(check_job, self.tasks.service.child_settings, self.tasks.tenant, spec)
        with report_full_disk():
            folder = await self.tasks.run_in_thread(self._enqueue_once, spec)
        self.runs.wake()
        self.response.headers["Location"] = f"/v1/runs/{folder.name}"
        return await self.tasks.run_in_thread(read_run_info, self.tasks.tenant, folder)

    def _enqueue_once(self, spec: JobSpec) -> Path:
        runs, key = self.tasks.tenant.runs, self.idempotency_key
        with hold_key(runs, key, spec.asked, spec.id) if key else nullcontext(spec.id) as run_id:
            # The first request may have been killed before it created the run.
            if not is_run_folder(runs / run_id):
                quotas = get_tenant_quotas(self.tasks.service, self.tasks.tenant)
                enqueue_job(self.runs.queue, quotas, spec.model_copy(update={"id": run_id}))
        return runs / run_id


TheJobStarter = Annotated[JobStarter, Depends()]


@router.post("", status_code=202, responses=describe_errors(404, 409, 507))
async def start_run(body: RunRequest, starter: TheJobStarter) -> RunInfo:
    """Start a run of metrics over a data set; follow it at the URL in `Location`.

    It runs in the background, independent of the client's connection and of restarts of the server. Runs beyond the
    limit of concurrent runs wait in order. If a request is sent again with the same `Idempotency-Key` within a day, the
    response is the run that the first one started.
    """
    return await starter.start(body)


@router.get("")
@in_child
def list_runs(tenant: TheTenant, cursor: Cursor = None, limit: Limit = 100) -> RunList:
    """List the runs, newest first, including those that the command line created in the same folder."""
    folders = list_run_folders(tenant)
    if before := decode_named_cursor(cursor):
        folders = [(at, folder) for at, folder in folders if (at, folder.name) < before]
    page = folders[:limit]
    more: JsonValue = [page[-1][0], page[-1][1].name] if len(folders) > limit else None
    infos = []
    for _, folder in page:
        # It was deleted meanwhile.
        with suppress(ServeError):
            infos.append(read_run_info(tenant, folder))
    return RunList(runs=tuple(infos), next=encode_cursor(more))


@router.post("/example", responses=describe_errors(409, 507))
def create_example_run(response: Response, service: TheService, tenant: TheTenant) -> RunInfo:
    """Return the example run, the one of `greval demo`; it becomes one of the client's runs the first time.

    Its verdicts are those that the embedded model gave before it was shipped, so that no judge is needed.
    """
    folder = tenant.runs / EXAMPLE_RUN
    if not is_run_folder(folder):
        with report_full_disk():
            _copy_run(Path(str(files("greval"))) / "demo" / "run", folder, get_tenant_quotas(service, tenant))
    response.headers["Location"] = f"/v1/runs/{EXAMPLE_RUN}"
    return read_run_info(tenant, folder)


def _copy_run(shipped: Path, folder: Path, quotas: TenantQuotas) -> None:
    """Copy a run, whole or not at all, or raise `ServeError` (409) beyond the quota."""
    try:
        with create_folder(folder, quotas.reserve("runs")) as new:
            for file in shipped.iterdir():
                # Not with its times and permissions: an installed package may be old and read-only.
                shutil.copyfile(file, new / file.name)
    except OSError:
        # A concurrent request may have been first, and its copy is as good.
        if not is_run_folder(folder):
            raise


@router.get("/{id}", responses=describe_errors(404))
async def show_run(tasks: TheTasks, folder: RunFolder) -> RunInfo:
    """Show the current state of a run."""
    return await tasks.run_in_thread(read_run_info, tasks.tenant, folder)


@router.delete("/{id}", status_code=204, responses=describe_errors(404, 409))
async def delete_run(tasks: TheTasks, runs: TheJobManager, folder: RunFolder) -> None:
    """Delete a run with all its results. Cancel it first if it is queued or running."""
    with await runs.lock_ended_run(folder, "is worked on; cancel it first"):
        info = await tasks.run_in_thread(read_run_info, tasks.tenant, folder)
        if info.status in ACTIVE:
            raise ServeError("run_active", f"run {info.id!r}: is {info.status}; cancel it first")
        await tasks.run_in_thread(remove_folder, folder)


@router.post("/{id}/cancel", status_code=202, responses=describe_errors(404, 409))
async def cancel_run(tasks: TheTasks, runs: TheJobManager, folder: RunFolder) -> RunInfo:
    """Cancel a run: calls in flight are finished and stored, no further calls are made. It can be resumed."""
    info = await tasks.run_in_thread(read_run_info, tasks.tenant, folder)
    if info.status not in ACTIVE:
        raise ServeError("run_ended", f"run {info.id!r}: is {info.status}; there is nothing to cancel")
    if read_job_head(folder) is None:
        raise ServeError("run_of_command_line", f"run {info.id!r}: was started on the command line; stop it there")
    try:
        runs.cancel(folder)
    except FileNotFoundError as error:
        # It was deleted meanwhile.
        raise build_not_found_error("run", info.id) from error
    return info


@router.post("/{id}/resume", status_code=202, responses=describe_errors(404, 409, 507))
async def resume_run(
    tasks: TheTasks, runs: TheJobManager, folder: RunFolder, body: ResumeRequest | None = None
) -> RunInfo:
    """Resume a stopped or failed run: only missing and failed results are judged.

    A run that reached a cap goes on only if the body holds a higher one: caps include what was spent before.
    """
    with await runs.lock_ended_run(folder, "it is worked on already"):
        await tasks.run(queue_again, tasks.service.child_settings, tasks.tenant, folder, body)
    runs.wake()
    return await tasks.run_in_thread(read_run_info, tasks.tenant, folder)


def queue_again(settings: ServerSettings, tenant: Tenant, folder: Path, request: ResumeRequest | None) -> None:
    """Queue an ended run again; the server calls it in a child process, since the request of a run may be large."""
    with report_full_disk():
        resume_job(open_service(settings), JobQueue(settings.runs), tenant, folder, request)


async def follow_state(tenant: TheTenant, runs: TheJobManager, folder: RunFolder) -> Callable[[], Awaitable[RunInfo]]:
    """Return a function that reads a run; without such a run the response does not begin."""
    return partial(runs.watch.read, tenant, folder, time.monotonic())


@router.get(
    "/{id}/events",
    responses={
        200: {"description": "The events `progress` and `end`, with JSON as data."},
        **describe_errors(404),
    },
    response_class=EventSourceResponse,
)
async def follow_run(
    look: Annotated[Callable[[], Awaitable[RunInfo]], Depends(follow_state)],
) -> AsyncIterator[ServerSentEvent]:
    """Follow a run as server-sent events: `progress` as it changes, then `end` with the run.

    A line that begins with a colon only keeps the connection open. After a lost connection, request the stream again:
    it starts with the newest progress.
    """
    async for event in stream_events(look):
        yield event
